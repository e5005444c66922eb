"""The admin shows staff what is their tenant's, and every change in it leaves an event."""

from __future__ import annotations

import html
import re
import time
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tenants.audit.chain import owner_chain
from tenants.audit.sentences import names_of_members
from tenants.end_users import provision_end_user, rename_end_user
from tenants.models import ApiToken, AuditEvent, Membership, Tenant, User
from tenants.principal import Right
from tenants.services import authenticate_key, authenticate_token, deactivate, issue_key, issue_token
from tenants.tokens import TOKEN_PATTERN
from tests.factories import PASSWORD, make_membership, make_tenant

MODELS = ["user", "tenant", "membership", "apitoken"]  # the trail: test_audit_pages.py


def page(model: str, what: str = "changelist", *args: object) -> str:
    return reverse(f"admin:tenants_{model}_{what}", args=args)


def rows_of(foreign: Membership) -> dict[str, Any]:
    """A row of each model in the tenant of `foreign`."""
    token, _ = issue_token(foreign, name="foreign token")
    return {"user": foreign.user, "tenant": foreign.tenant, "membership": foreign, "apitoken": token}


def new_member(tenant: Tenant, **fields: str) -> dict[str, str]:
    return {"tenant": str(tenant.id), "username": "new", "role": "member"} | fields


@pytest.mark.parametrize(
    ("model", "column"),
    [
        ("apitoken", "digest__startswith"),
        ("user", "memberships"),
        ("user", "password__startswith"),
        ("membership", "user__password__startswith"),
        ("membership", "search_credential__secret__startswith"),
        ("tenant", "memberships__user__username"),
    ],
)
def test_rows_are_found_by_offered_filters_alone(browser: Client, foreign: Membership, model: str, column: str) -> None:
    """A user of one's own tenant would be found by their membership in another, a token by the digits of its digest."""
    browser.raise_request_exception = False
    assert browser.get(page(model), {column: str(foreign.pk)}).status_code == 400


def test_an_admin_sees_their_own_tenant(browser: Client, staff: Membership, membership: Membership) -> None:
    assert set(browser.get(page("membership")).context["cl"].queryset) == {staff, membership}
    assert set(browser.get(page("user")).context["cl"].queryset) == {staff.user, membership.user}
    assert list(browser.get(page("tenant")).context["cl"].queryset) == [staff.tenant]


@pytest.mark.parametrize("words", ["x" * 60_000, "x " * 2_000])
def test_a_search_for_more_than_there_is_anywhere_is_said_to_be_too_long(browser: Client, words: str) -> None:
    """SQLite refuses to look for a text of 50,000 bytes."""
    answer = browser.get(page("membership"), {"q": words})
    assert answer.status_code == 200 and not answer.context["cl"].result_count
    assert "at most 200 characters" in str(list(get_messages(answer.wsgi_request)) or answer.content)
    assert browser.get(page("membership"), {"q": "a " * 100}).status_code == 200


@pytest.mark.parametrize("model", MODELS)
def test_nothing_is_deleted_in_the_admin(platform_browser: Client, foreign: Membership, model: str) -> None:
    row = rows_of(foreign)[model]
    assert platform_browser.post(page(model, "delete", row.pk), {"post": "yes"}).status_code == 403
    assert type(row)._default_manager.filter(pk=row.pk).exists()


@pytest.mark.parametrize("model", MODELS)
def test_no_page_shows_a_password_or_a_digest(platform_browser: Client, foreign: Membership, model: str) -> None:
    row = rows_of(foreign)[model]
    text = "".join(
        platform_browser.get(address).content.decode() for address in (page(model), page(model, "change", row.pk))
    )
    password = foreign.user.password.split("$")[-1]
    secrets = [ApiToken.objects.get().digest, password]
    assert not [secret for secret in secrets if secret[:6] in text]


def test_a_tenant_made_in_the_admin_leaves_an_event(platform_browser: Client, superuser: User) -> None:
    platform_browser.post(page("tenant", "add"), {"name": "Acme", "slug": "acme"})
    event = AuditEvent.objects.get(action="tenant.created")
    assert event.target_id == Tenant.objects.get(slug="acme").id
    assert (event.actor_kind, event.actor_id) == ("staff", superuser.id)


def test_an_admin_adds_an_end_user_who_does_not_sign_in(browser: Client, tenant: Tenant) -> None:
    browser.post(page("membership", "add"), new_member(tenant, password=PASSWORD, display_name="New"))
    member = Membership.objects.get(user__username=f"new@{tenant.slug}")
    assert member.tenant == tenant and not member.user.has_usable_password()
    assert AuditEvent.objects.filter(action="member.added", target_id=member.id).exists()


@pytest.mark.parametrize("model", ["membership", "user"])
def test_a_member_without_a_login_is_shown_by_the_tenants_name(browser: Client, tenant: Tenant, model: str) -> None:
    member, _new = provision_end_user(tenant.pk, "A-7")
    row = member if model == "membership" else member.user
    listed = browser.get(page(model)).content.decode()
    title = browser.get(page(model, "change", row.pk)).content.decode().partition("<body")[0]
    assert "A-7" in listed and "A-7" in title and member.user.username not in listed + title
    User.objects.filter(pk=member.user_id).update(display_name="")
    nameless, known = f"Member without a login ({str(member.user_id)[:8]})", str(member.user_id)
    assert nameless in browser.get(page(model)).content.decode()
    assert names_of_members(tenant.pk, [known]) == {known: nameless}
    rename_end_user(Membership.objects.get(pk=member.pk), name="")
    assert User.objects.get(pk=member.user_id).display_name == "A-7"


def test_an_admin_learns_of_no_user_of_another_tenant(browser: Client, tenant: Tenant, foreign: Membership) -> None:
    name = foreign.user.username
    answers = [browser.post(page("membership", "add"), new_member(tenant, username=name)) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [302, 200]
    assert "This name is taken." in answers[1].content.decode()
    assert tenant.memberships.filter(user__username=f"{name}@{tenant.slug}").exists()
    assert not tenant.memberships.filter(user=foreign.user).exists()


def test_the_platform_adds_a_user_to_more_tenants(
    platform_browser: Client, tenant: Tenant, foreign: Membership
) -> None:
    platform_browser.post(page("membership", "add"), new_member(tenant, username=foreign.user.username))
    assert tenant.memberships.filter(user=foreign.user).exists()


def test_what_a_service_refuses_is_said_on_the_page(platform_browser: Client, membership: Membership) -> None:
    data = new_member(membership.tenant, username=membership.user.username)
    answer = platform_browser.post(page("membership", "add"), data | {"external_id": "A-7"})
    form = answer.context["adminform"].form
    assert "already exists" in form.errors["username"][0] and form["external_id"].value() == "A-7"
    assert membership.tenant.memberships.count() == 1


def test_an_external_id_of_another_member_is_refused_in_a_sentence(browser: Client, tenant: Tenant) -> None:
    provision_end_user(tenant.pk, "A-7")
    form = browser.post(page("membership", "add"), new_member(tenant, external_id="A-7")).context["adminform"].form
    assert form.non_field_errors() == ["Another member has this external id."]


def test_members_are_listed_by_the_names_that_are_shown(browser: Client, staff: Membership, tenant: Tenant) -> None:
    User.objects.filter(pk=staff.user_id).update(display_name="mila")
    for external_id, name in (("A-1", "Zoe"), ("A-2", "Ada"), ("A-3", "Noor")):
        rename_end_user(provision_end_user(tenant.pk, external_id)[0], name=name)
    for asked in ({}, {"o": "1"}):
        answer = browser.get(page("membership"), asked)
        listed = answer.context["cl"].result_list
        assert [row.user.display_name for row in listed] == ["Ada", "mila", "Noor", "Zoe"]
        assert answer.content.decode().count('aria-sort="ascending"') == 1


def test_a_refused_form_keeps_all_that_was_typed(browser: Client, staff: Membership) -> None:
    answer = browser.post(page("apitoken", "add"), key_form(staff.tenant, networks="home\nlab"))
    form = answer.context["adminform"].form
    assert form.errors == {"networks": ["Write networks as 10.0.0.0/8 or 2001:db8::/32."]}
    assert (form["name"].value(), form["networks"].value()) == ("backend", "home\nlab")


def test_a_role_is_changed_by_the_service(browser: Client, membership: Membership) -> None:
    browser.post(page("membership", "change", membership.id), {"role": "auditor"})
    assert Membership.objects.get(id=membership.id).role == "auditor"
    assert AuditEvent.objects.filter(action="member.role_changed").count() == 1


def token_form(membership: Membership) -> dict[str, Any]:
    usual = {"expires_at_0": "", "expires_at_1": ""}
    return {"membership": str(membership.id), "name": "agent", "scopes": ["memory:read"], **usual}


def test_who_administers_one_tenant_has_a_button_for_its_key(browser: Client, tenant: Tenant, superuser: User) -> None:
    button = f"{page('apitoken', 'add')}?tenant={tenant.pk}"
    assert f'href="{button}">New backend key' in browser.get(page("apitoken")).content.decode()
    assert browser.get(button).context["adminform"].form["tenant"].value() == str(tenant.pk)
    browser.force_login(superuser)
    assert "New backend key" not in browser.get(page("apitoken")).content.decode()


def test_the_member_of_a_token_is_chosen_by_name(browser: Client, tenant: Tenant) -> None:
    made_up = make_membership(tenant, name="Carla Neri")
    Membership.objects.filter(pk=made_up.pk).update(external_id="A-3")
    offered = browser.get(page("apitoken", "add")).context["adminform"].form["membership"]
    assert f"Carla Neri ({made_up.user.username}) in {tenant.name}" in str(offered)


def test_a_token_is_shown_exactly_once(browser: Client, staff: Membership) -> None:
    response = browser.post(page("apitoken", "add"), token_form(staff), follow=True)
    (plaintext,) = TOKEN_PATTERN.findall(response.content.decode())
    assert response.redirect_chain and "no-store" in response.headers["Cache-Control"]
    assert authenticate_token(plaintext) is not None
    token = ApiToken.objects.get()
    for address in (page("apitoken"), page("apitoken", "change", token.id), page("apitoken", "history", token.id)):
        assert plaintext not in browser.get(address).content.decode()
    assert ApiToken.objects.count() == 1


def test_a_new_token_is_nowhere_in_plaintext(browser: Client, staff: Membership) -> None:
    response = browser.post(page("apitoken", "add"), token_form(staff))
    session = dict(browser.session)
    (plaintext,) = TOKEN_PATTERN.findall(browser.get(response["Location"]).content.decode())
    assert plaintext not in str(session) + str(response.cookies) + response["Location"]


def test_a_new_token_is_shown_to_nobody_else_and_not_later(
    browser: Client, staff: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = browser.post(page("apitoken", "add"), token_form(staff))["Location"]
    other = Client()
    other.force_login(User.objects.create_superuser("root"))
    assert not TOKEN_PATTERN.search(other.get(shown).content.decode())
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 90)
    answer = browser.get(shown)
    assert answer.status_code == 200 and not TOKEN_PATTERN.search(answer.content.decode())


def test_a_new_token_takes_what_each_scope_allows_and_one_button(browser: Client) -> None:
    form = browser.get(page("apitoken", "add")).content.decode()
    assert all(str(right.label) in html.unescape(form) for right in Right)
    assert "_addanother" not in form and "_continue" not in form


def test_an_admin_issues_no_token_for_another_login(browser: Client, staff: Membership, foreign: Membership) -> None:
    for membership in (make_membership(staff.tenant), foreign):
        browser.post(page("apitoken", "add"), token_form(membership))
    assert not ApiToken.objects.exists()


def test_a_token_is_revoked_by_an_action(browser: Client, staff: Membership) -> None:
    token, plaintext = issue_token(staff, name="agent")
    browser.post(page("apitoken"), {"action": "revoke", "_selected_action": [str(token.id)]})
    assert authenticate_token(plaintext) is None


def key_form(tenant: Tenant, **more: Any) -> dict[str, Any]:
    usual = {"expires_at_0": "", "expires_at_1": "", "networks": "10.0.0.0/8\n127.0.0.1"}
    return {"tenant": str(tenant.id), "membership": "", "name": "backend", "scopes": ["memory:read"], **usual, **more}


def test_an_admin_makes_a_backend_key_that_is_shown_once(browser: Client, staff: Membership) -> None:
    response = browser.post(page("apitoken", "add"), key_form(staff.tenant), follow=True)
    (plaintext,) = TOKEN_PATTERN.findall(response.content.decode())
    key = authenticate_key(plaintext, address="127.0.0.1")
    assert key is not None and key.tenant_id == staff.tenant_id and key.rights == {Right.READ}
    assert authenticate_key(plaintext, address="192.0.2.1") is None
    assert ApiToken.objects.get().networks == ["10.0.0.0/8", "127.0.0.1/32"]
    listed = browser.get(page("apitoken")).content.decode()
    assert f"any member of {staff.tenant}" in listed and plaintext not in listed


def test_an_admin_makes_no_backend_key_of_another_tenant(browser: Client, foreign: Membership) -> None:
    browser.post(page("apitoken", "add"), key_form(foreign.tenant))
    theirs, _ = issue_key(foreign.tenant, name="theirs")
    for action in ("revoke", "rotate"):
        browser.post(page("apitoken"), {"action": action, "_selected_action": [str(theirs.id)]})
    assert list(ApiToken.objects.values_list("name", "revoked_at", "previous_digest")) == [("theirs", None, None)]


def test_a_form_without_a_member_and_a_tenant_makes_nothing(browser: Client, staff: Membership) -> None:
    answer = browser.post(page("apitoken", "add"), key_form(staff.tenant) | {"tenant": ""})
    assert "Choose a member, or the tenant of a backend key." in answer.content.decode()
    browser.post(page("apitoken", "add"), key_form(staff.tenant, networks="home"))
    assert not ApiToken.objects.exists()


def test_a_rotation_shows_the_new_secret_and_the_old_one_works_on(browser: Client, staff: Membership) -> None:
    key, old = issue_key(staff.tenant, name="backend")
    response = browser.post(page("apitoken"), {"action": "rotate", "_selected_action": [str(key.id)]}, follow=True)
    (new,) = TOKEN_PATTERN.findall(response.content.decode())
    assert old != new and None not in (authenticate_key(old), authenticate_key(new))


def test_an_admin_rotates_no_token_of_another_login(browser: Client, staff: Membership) -> None:
    token, _ = issue_token(make_membership(staff.tenant), name="theirs")
    answer = browser.post(page("apitoken"), {"action": "rotate", "_selected_action": [str(token.id)]}, follow=True)
    assert "This token is not yours" in answer.content.decode()
    assert ApiToken.objects.get().previous_digest is None


def test_a_tenants_admin_cannot_change_users(browser: Client, membership: Membership) -> None:
    assert browser.post(page("user", "change", membership.user_id), {"username": "x"}).status_code == 403


def reset_link(of: User) -> str:
    return reverse("admin:tenants_user_reset_link", args=[of.pk])


LINK = re.compile(r"http://testserver(/account/password/reset/[^<]+)")


def test_an_admin_makes_a_link_with_which_a_member_sets_a_password(browser: Client, membership: Membership) -> None:
    (link,) = LINK.findall(browser.post(reset_link(membership.user)).content.decode())
    visitor = Client()
    form = visitor.get(link, follow=True).redirect_chain[-1][0]
    assert visitor.post(form, {"password1": "password12", "password2": "password12"}).status_code == 200
    visitor.post(form, {"password1": PASSWORD * 2, "password2": PASSWORD * 2})
    assert User.objects.get(pk=membership.user_id).check_password(PASSWORD * 2)
    assert "This link has ended" in Client().get(link, follow=True).content.decode()
    own = AuditEvent.objects.filter(chain=owner_chain(membership.tenant_id, membership.user_id)).order_by("sequence")
    assert [event.action for event in own] == ["user.reset_link_made", "user.password_changed"]


def test_an_admin_makes_no_link_for_an_account_that_opens_more(browser: Client, membership: Membership) -> None:
    Membership.objects.create(tenant=make_tenant(), user=membership.user)
    assert not LINK.search(browser.get(reset_link(membership.user)).content.decode())
    assert browser.post(reset_link(membership.user)).status_code == 403


def test_an_admin_makes_no_link_for_an_operator(browser: Client, membership: Membership) -> None:
    User.objects.filter(pk=membership.user_id).update(is_superuser=True)
    assert browser.post(reset_link(membership.user)).status_code == 403


def test_an_admin_of_another_tenant_makes_no_link(browser: Client, foreign: Membership) -> None:
    assert {browser.get(reset_link(foreign.user)).status_code, browser.post(reset_link(foreign.user)).status_code} == {
        404
    }


def test_an_operator_makes_a_link_for_everybody(platform_browser: Client, foreign: Membership) -> None:
    Membership.objects.create(tenant=make_tenant(), user=foreign.user)
    assert LINK.search(platform_browser.post(reset_link(foreign.user)).content.decode())


@pytest.mark.parametrize("model", ["user", "group", "authenticator", "usersession", "emailaddress"])
def test_nobody_makes_an_account_or_its_parts_by_a_form(platform_browser: Client, model: str) -> None:
    for app in ("tenants", "auth", "mfa", "usersessions", "account"):
        assert platform_browser.get(f"/admin/{app}/{model}/add/").status_code in {403, 404}


def test_a_superuser_changes_users(platform_browser: Client, membership: Membership) -> None:
    platform_browser.post(page("user", "change", membership.user_id), {"username": "new", "display_name": "New"})
    assert User.objects.get(id=membership.user_id).display_name == "New"
    assert list(AuditEvent.objects.values_list("action", flat=True)) == ["user.changed"]


@pytest.mark.parametrize("model", ["user", "tenant", "membership"])
def test_rows_are_switched_by_actions(platform_browser: Client, membership: Membership, model: str) -> None:
    row = {"user": membership.user, "tenant": membership.tenant, "membership": membership}[model]
    for action, active in (("deactivate", False), ("activate", True)):
        platform_browser.post(page(model), {"action": action, "_selected_action": [str(row.pk)]})
        assert type(row)._default_manager.filter(pk=row.pk, is_active=active).exists()
    assert AuditEvent.objects.exclude(action__startswith="search_key.").count() == 2


def test_a_row_is_switched_on_its_page(browser: Client, membership: Membership, foreign: Membership) -> None:
    change = page("membership", "change", membership.pk)
    for action, active in (("deactivate", False), ("activate", True)):
        assert f'value="{action}"' in browser.get(change).content.decode()
        browser.post(change, {"_switch": action, "role": "auditor"})
        assert Membership.objects.filter(pk=membership.pk, is_active=active, role="member").exists()
    browser.post(page("membership", "change", foreign.pk), {"_switch": "deactivate"})
    assert Membership.objects.filter(pk=foreign.pk, is_active=True).exists()


@pytest.mark.parametrize("role", ["support", "auditor", "member"])
def test_who_administers_nothing_switches_nobody(client: Client, membership: Membership, role: str) -> None:
    other = make_membership(membership.tenant, role=role)
    User.objects.filter(pk=other.user_id).update(is_staff=True)
    client.force_login(other.user)
    change = page("membership", "change", membership.pk)
    assert client.post(change, {"_switch": "deactivate"}).status_code == 403
    assert Membership.objects.get(pk=membership.pk).is_active


def test_a_switch_asks_for_the_password_and_goes_on(browser: Client, membership: Membership) -> None:
    session = browser.session
    session["password_given_at"] = 0
    session.save()
    change, asked = page("membership", "change", membership.pk), {"_switch": "deactivate"}
    answer = browser.post(change, asked)
    assert answer.status_code == 403 and 'name="_switch" value="deactivate"' in answer.content.decode()
    assert Membership.objects.get(pk=membership.pk).is_active
    browser.post(change, asked | {"password_again": PASSWORD})
    assert not Membership.objects.get(pk=membership.pk).is_active


def test_a_page_refuses_what_the_list_refuses(
    browser: Client, staff: Membership, membership: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = browser.post(page("membership", "change", staff.pk), {"_switch": "deactivate"}, follow=True)
    assert "Nobody deactivates themselves" in own.content.decode()
    deactivate(membership)
    monkeypatch.setattr("tenants.services._refusing", [lambda _row: "Their memory is being erased."])
    asked = {"action": "activate", "_selected_action": [str(membership.pk)]}
    for address, given in (
        (page("membership"), asked),
        (page("membership", "change", membership.pk), {"_switch": "activate"}),
    ):
        assert "Their memory is being erased." in browser.post(address, given, follow=True).content.decode()
    assert not Membership.objects.get(pk=membership.pk).is_active


def test_nobody_deactivates_themselves(browser: Client, staff: Membership) -> None:
    colleague = make_membership(staff.tenant)
    asked = {"action": "deactivate", "_selected_action": [str(staff.pk), str(colleague.pk)]}
    assert "Nobody deactivates themselves" in browser.post(page("membership"), asked, follow=True).content.decode()
    assert list(Membership.objects.filter(is_active=True, tenant=staff.tenant)) == [staff]


@pytest.mark.parametrize("model", ["membership", "user", "apitoken"])
def test_a_list_asks_no_more_for_more_rows(
    browser: Client, tenant: Tenant, django_assert_max_num_queries: Any, model: str
) -> None:
    with CaptureQueriesContext(connection) as few:
        browser.get(page(model))
    for _ in range(5):
        issue_token(make_membership(tenant), name="token")
    with django_assert_max_num_queries(len(few)):
        browser.get(page(model))


def test_the_form_of_a_token_marks_the_scopes_as_required(browser: Client) -> None:
    page = browser.get("/admin/tenants/apitoken/add/").content.decode()
    assert 'class="form-label required">Scopes<' in page

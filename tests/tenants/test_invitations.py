"""People get in by invitation: once, for a day, with a password of their own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from allauth.mfa.models import Authenticator
from django.core import mail, signing
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from tenants import invitations
from tenants.audit.chain import owner_chain
from tenants.errors import Forbidden, InvalidValue, InvitationOver, TenantsError
from tenants.invitation_mails import send
from tenants.invitation_models import Invitation
from tenants.models import AuditEvent, Membership, Tenant, User
from tenants.people import DirectoryEntry, add_person, change_person, remove_person
from tenants.principal import SYSTEM, Role
from tests.factories import PASSWORD, make_membership, make_tenant

pytestmark = pytest.mark.django_db

ACCOUNT = {"username": "ines", "display_name": "Ines", "password": PASSWORD, "again": PASSWORD}


@pytest.fixture
def admin(tenant: Tenant) -> Membership:
    return make_membership(tenant, role="admin")


@pytest.fixture
def invitation(admin: Membership) -> Invitation:
    return invitations.invite(
        tenant=admin.tenant, role=Role.AUDITOR, email="ines@acme.example", by=admin.user, actor=SYSTEM
    )


def browser_of(membership: Membership) -> Client:
    browser = Client()
    User.objects.filter(pk=membership.user_id).update(is_staff=membership.role != "member")
    browser.force_login(User.objects.get(pk=membership.user_id))
    return browser


def test_an_invited_person_chooses_a_password_and_is_in(client: Client, invitation: Invitation) -> None:
    link = invitations.invitation_path(invitation)
    assert b"ines@acme.example" in client.get(link).content
    assert client.post(link, ACCOUNT)["Location"] == "/"
    member = Membership.objects.get(user__username=f"ines@{invitation.tenant.slug}")
    assert (member.tenant, member.role) == (invitation.tenant, "auditor") and member.user.check_password(PASSWORD)
    assert member.user.email == "ines@acme.example" and member.user.is_staff
    assert client.session["_auth_user_id"] == str(member.user_id)


def test_who_joins_and_signs_in_finds_both_in_their_own_chain(client: Client, invitation: Invitation) -> None:
    client.post(invitations.invitation_path(invitation), ACCOUNT)
    member = Membership.objects.get(user__email="ines@acme.example")
    own = AuditEvent.objects.filter(chain=owner_chain(member.tenant_id, member.user_id)).order_by("sequence")
    assert [event.action for event in own] == ["invitation.accepted", "user.signed_in"]
    assert AuditEvent.objects.filter(action="invitation.made", tenant_id=member.tenant_id).count() == 1


def test_a_link_works_once(client: Client, invitation: Invitation) -> None:
    link = invitations.invitation_path(invitation)
    client.post(link, ACCOUNT)
    again = Client().post(link, ACCOUNT | {"username": "eve"})
    assert again.status_code == 410 and not User.objects.filter(username__startswith="eve").exists()


def test_a_link_ends_after_a_day(client: Client, invitation: Invitation) -> None:
    Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert client.get(invitations.invitation_path(invitation)).status_code == 410
    invitations.forget_ended()
    assert not Invitation.objects.exists()


def test_a_withdrawn_invitation_opens_nothing(client: Client, invitation: Invitation, admin: Membership) -> None:
    data = {"action": "withdraw", "_selected_action": [str(invitation.pk)]}
    browser_of(admin).post(reverse("admin:tenants_invitation_changelist"), data)
    assert client.get(invitations.invitation_path(invitation)).status_code == 410
    assert AuditEvent.objects.filter(action="invitation.withdrawn").count() == 1


def test_an_invitation_ends_with_the_role_of_who_made_it(client: Client, invitation: Invitation) -> None:
    Membership.objects.filter(user=invitation.invited_by).update(role="member")
    assert client.get(invitations.invitation_path(invitation)).status_code == 410


@pytest.mark.parametrize(
    "token", ["x", f"{uuid4().hex}:x", signing.Signer().sign(uuid4().hex)], ids=["no id", "no signature", "other salt"]
)
def test_a_link_that_nobody_made_is_over(client: Client, token: str) -> None:
    assert client.get(reverse("invitation", args=[token])).status_code == 410


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"password": "password12", "again": "password12"}, b"too common"),
        ({"again": "another"}, b"differ"),
        ({"username": "taken"}, b"already exists"),
    ],
)
def test_a_bad_answer_makes_nothing(client: Client, invitation: Invitation, given: dict[str, str], said: bytes) -> None:
    User.objects.create_user(f"taken@{invitation.tenant.slug}", password=PASSWORD)
    before = User.objects.count()
    page = client.post(invitations.invitation_path(invitation), ACCOUNT | given)
    assert page.status_code == 200 and said in page.content and PASSWORD.encode() not in page.content
    assert User.objects.count() == before and Invitation.objects.exists()


def test_the_rules_of_a_password_are_told_beforehand(client: Client, invitation: Invitation) -> None:
    assert "at least 10 characters" in client.get(invitations.invitation_path(invitation)).content.decode()


def test_who_has_an_account_joins_with_it(invitation: Invitation) -> None:
    member = make_membership()
    browser = browser_of(member)
    assert browser.post(invitations.invitation_path(invitation)).status_code == 302
    assert set(member.user.memberships.values_list("tenant", flat=True)) == {member.tenant_id, invitation.tenant_id}


def test_a_mail_is_in_the_language_of_the_account_else_of_whoever_invites(
    admin: Membership, settings: Settings, mailoutbox: list[mail.EmailMessage]
) -> None:
    settings.EMAIL_HOST = "mail.example"
    User.objects.filter(pk=admin.user_id).update(language="es")
    User.objects.create_user("ines", email="Ines@acme.example", language="de")
    for email in ("ines@acme.example", "olga@acme.example"):
        by = User.objects.get(pk=admin.user_id)
        invited = invitations.invite(tenant=admin.tenant, role=Role.MEMBER, email=email, by=by, actor=SYSTEM)
        send(invited, "https://hub.example/x")
    assert [each.subject.partition(" ")[0] for each in mailoutbox] == ["Einladung", "Invitación"]


def test_an_administrator_invites_by_mail(admin: Membership, settings: Settings, client: Client) -> None:
    settings.EMAIL_HOST = "mail.example"
    data = {"tenant": str(admin.tenant_id), "email": "ines@acme.example", "role": "member"}
    page = browser_of(admin).post(reverse("admin:tenants_invitation_add"), data, follow=True)
    (sent,) = mail.outbox
    link = invitations.invitation_path(Invitation.objects.get())
    assert link in sent.body and sent.to == ["ines@acme.example"] and link in page.content.decode()
    assert client.get(link).status_code == 200


def test_an_invitation_says_that_no_mail_goes_out(admin: Membership) -> None:
    data = {"tenant": str(admin.tenant_id), "email": "ines@acme.example", "role": "member"}
    page = browser_of(admin).post(reverse("admin:tenants_invitation_add"), data, follow=True)
    assert "This server sends no mail." in page.content.decode()


@pytest.mark.parametrize("role", ["member", "support", "auditor"])
def test_only_administrators_invite(tenant: Tenant, role: str) -> None:
    nobody = make_membership(tenant, role=role)
    with pytest.raises(Forbidden):
        invitations.invite(tenant=tenant, role=Role.ADMIN, by=nobody.user, actor=SYSTEM)
    browser_of(nobody).post(reverse("admin:tenants_invitation_add"), {"tenant": str(tenant.pk), "role": "admin"})
    assert not Invitation.objects.exists()


def test_an_administrator_of_another_tenant_invites_nobody_here(invitation: Invitation) -> None:
    stranger = make_membership(make_tenant(), role="admin")
    with pytest.raises(Forbidden):
        invitations.invite(tenant=invitation.tenant, role=Role.MEMBER, by=stranger.user, actor=SYSTEM)
    browser = browser_of(stranger)
    browser.post(
        reverse("admin:tenants_invitation_add"), {"tenant": str(invitation.tenant_id), "email": "", "role": "admin"}
    )
    data = {"action": "withdraw", "_selected_action": [str(invitation.pk)]}
    browser.post(reverse("admin:tenants_invitation_changelist"), data)
    page = browser.get(reverse("admin:tenants_invitation_change", args=[invitation.pk]), follow=True)
    assert invitations.invitation_path(invitation) not in page.content.decode()
    assert list(Invitation.objects.all()) == [invitation]


def test_a_new_tenant_goes_on_to_its_first_administrator(client: Client) -> None:
    client.force_login(User.objects.create_superuser("root", password=PASSWORD))
    answer = client.post(reverse("admin:tenants_tenant_add"), {"name": "Acme", "slug": "acme"})
    form = client.get(answer["Location"]).context["adminform"].form
    assert (str(form.initial["tenant"]), form.initial["role"]) == (str(Tenant.objects.get(slug="acme").pk), "admin")


@pytest.mark.django_db(transaction=True)
def test_a_link_used_twice_at_once_makes_one_account(tenant: Tenant) -> None:
    admin = make_membership(tenant, role="admin")
    made = invitations.invite(tenant=tenant, role=Role.MEMBER, by=admin.user, actor=SYSTEM)
    token = invitations.invitation_path(made).split("/")[2]

    def use(number: int) -> Any:
        try:
            return invitations.accept_as_new(token, username=f"u-{number}", display_name="", password=PASSWORD)
        except TenantsError as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(use, range(4)))
    assert sorted(type(result).__name__ for result in results) == [InvitationOver.__name__] * 3 + ["Membership"]
    assert User.objects.filter(username__startswith="u-").count() == 1


@pytest.mark.parametrize("by_operator", [False, True])
def test_a_reset_link_ends_when_the_account_opens_more(admin: Membership, client: Client, *, by_operator: bool) -> None:
    member = make_membership(admin.tenant)
    link = invitations.reset_path(member.user, by=admin.user, actor=SYSTEM)
    if by_operator:
        User.objects.filter(pk=member.user_id).update(is_superuser=True)
    else:
        Membership.objects.create(tenant=make_tenant(), user=member.user)
    client.post(
        client.get(link, follow=True).request["PATH_INFO"],
        {"password1": "a new long one", "password2": "a new long one"},
    )
    assert User.objects.get(pk=member.user_id).check_password(PASSWORD)


def test_an_account_that_another_tenant_manages_does_not_join(invitation: Invitation) -> None:
    named = add_person(make_tenant().pk, DirectoryEntry("ines@evil.example", email="ines@evil.example"))
    page = browser_of(named).post(invitations.invitation_path(invitation))
    assert b"managed by another organisation" in page.content
    assert named.user.memberships.get() == named and Invitation.objects.exists()


def test_an_account_stays_managed_after_its_directory_let_it_go(invitation: Invitation) -> None:
    member = make_membership()
    change_person(member, DirectoryEntry("ines", email="ines@evil.example"))
    remove_person(member)
    with pytest.raises(InvalidValue, match="managed"):
        invitations.accept_as(token_of(invitation), member.user)


def test_who_joins_keeps_one_session_and_no_passkey_or_foreign_address(invitation: Invitation) -> None:
    member = make_membership()
    User.objects.filter(pk=member.user_id).update(email="ines@evil.example")
    other, browser = Client(), browser_of(member)
    other.post(reverse("account_login"), {"username": member.user.username, "password": PASSWORD})
    Authenticator.objects.create(user=member.user, type=Authenticator.Type.WEBAUTHN, data={})
    browser.post(invitations.invitation_path(invitation))
    user = User.objects.get(pk=member.user_id)
    assert user.email == "" and not Authenticator.objects.filter(user=user).exists()
    chat = reverse("chat:new")
    assert [each.get(chat).status_code for each in (other, browser)] == [302, 200]


def test_who_joins_keeps_the_address_that_was_invited(invitation: Invitation) -> None:
    member = make_membership()
    User.objects.filter(pk=member.user_id).update(email="Ines@acme.example")
    invitations.accept_as(token_of(invitation), member.user)
    assert User.objects.get(pk=member.user_id).email == "Ines@acme.example"


def token_of(invitation: Invitation) -> str:
    return invitations.invitation_path(invitation).split("/")[2]


def test_nobody_chooses_the_address_of_somebody_else_as_a_name(client: Client, invitation: Invitation) -> None:
    page = client.post(invitations.invitation_path(invitation), ACCOUNT | {"username": "boss@acme.example"})
    assert page.status_code == 200 and b"other than the one that was invited" in page.content
    assert not User.objects.filter(username="boss@acme.example").exists()
    client.post(invitations.invitation_path(invitation), ACCOUNT | {"username": "ines@acme.example"})
    assert User.objects.filter(username="ines@acme.example").exists()


def test_two_organisations_have_an_ines_each_and_neither_learns_of_the_other(invitation: Invitation) -> None:
    other = make_membership(make_tenant(), role="admin")
    second = invitations.invite(tenant=other.tenant, role=Role.MEMBER, by=other.user, actor=SYSTEM)
    for each, password in ((invitation, PASSWORD), (second, PASSWORD[::-1])):
        browser, account = Client(), ACCOUNT | {"password": password, "again": password}
        name = f"ines@{each.tenant.slug}"
        answer = browser.post(invitations.invitation_path(each), account)
        assert answer.status_code == 302 and f"You sign in as {name}." in browser.get("/").content.decode()
        assert Client().post("/login/", {"username": name, "password": password}).status_code == 302
    assert Client().post("/login/", {"username": "ines", "password": PASSWORD}).status_code == 200

"""Members sign in at their organisation's own provider, a real one on this machine."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import ip_network
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from cryptography.fernet import Fernet
from django.core.cache import caches
from django.http import HttpResponse
from django.test import Client
from pytest_django import Settings

from memoryhub import limits
from tenants.errors import Forbidden, InvalidValue
from tenants.invitations import accept_as_new, invitation_path, invite
from tenants.models import AuditEvent, AuditPayload, Membership, Tenant, User
from tenants.oidc.people import member_of
from tenants.oidc.providers import ProviderSettings, encrypt_secrets_again, provider_for, save_provider, secret_of
from tenants.people import DirectoryEntry, add_person, change_person
from tenants.principal import SYSTEM, Role
from tenants.provider_models import IdentityProvider, ProvidedIdentity
from tests.factories import PASSWORD, make_membership, make_tenant
from tests.ports import free_port

pytestmark = pytest.mark.django_db
SECRET = "the client's own secret"


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    """A provider that asks for a nonce and knows nobody until somebody is put there."""
    address = f"http://127.0.0.1:{(port := free_port())}"
    command = [sys.executable, "-m", "oidc_provider_mock", "--port", str(port), "--require-nonce", "true"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:  # noqa: S603 - our own words
        try:
            for _ in range(100):
                try:
                    httpx.get(f"{address}/.well-known/openid-configuration").raise_for_status()
                    break
                except httpx.TransportError:
                    time.sleep(0.1)
            yield address
        finally:
            process.terminate()


@pytest.fixture
def provider(issuer: str, tenant: Tenant, settings: Settings) -> IdentityProvider:
    caches["local"].clear()
    settings.MEMORYHUB_WEBHOOK_NETWORKS = (ip_network("127.0.0.0/8"),)
    wanted = ProviderSettings(issuer, "memoryhub", SECRET, ["acme.example"], makes_members=True)
    return save_provider(tenant, wanted, actor=SYSTEM)


def knows(issuer: str, sub: str, **claims: Any) -> None:
    """Put somebody at the provider, with a verified address unless `email_verified` says otherwise; None: not said."""
    said = {name: value for name, value in ({"email_verified": True} | claims).items() if value is not None}
    httpx.put(f"{issuer}/users/{sub}", json=said).raise_for_status()


def begun(browser: Client, provider: IdentityProvider) -> str:
    answer = browser.get(f"/login/organisation/{provider.tenant.slug}/")
    assert answer.status_code == 302, answer.content
    return answer.headers["Location"]


def signed_in(browser: Client, provider: IdentityProvider, sub: str) -> HttpResponse:
    """The answer to somebody who signs in at the provider, in the browser."""
    back = httpx.post(begun(browser, provider), data={"sub": sub}).headers["Location"]
    parts = urlsplit(back)
    return browser.get(f"{parts.path}?{parts.query}")  # type: ignore[return-value]  # the client's response is one


def user_of(browser: Client) -> str | None:
    return browser.session.get("_auth_user_id")


def save(provider: IdentityProvider, **changes: Any) -> IdentityProvider:
    known = (
        "issuer",
        "client_id",
        "role_claim",
        "roles",
        "makes_members",
        "trusts_names",
        "passwords_off",
        "is_active",
    )
    wanted = ProviderSettings(**{name: getattr(provider, name) for name in known})
    return save_provider(provider.tenant, replace(wanted, **changes), actor=SYSTEM)


def test_somebody_new_becomes_a_member_and_comes_back(provider: IdentityProvider, client: Client) -> None:
    knows(provider.issuer, "s-1", email="ada@acme.example", name="Ada")
    assert signed_in(client, provider, "s-1").headers["Location"] == "/"
    member = provider.tenant.memberships.get()
    assert (user_of(client), member.user_name, member.user.speaker) == (str(member.user_id), "ada@acme.example", "Ada")
    assert client.get("/").status_code == 200
    client.post("/logout/")
    knows(provider.issuer, "s-1", email="lovelace@acme.example", name="Ada")
    signed_in(client, provider, "s-1")
    assert user_of(client) == str(member.user_id)
    assert provider.tenant.memberships.count() == 1


def test_a_person_of_the_directory_is_recognised(provider: IdentityProvider, client: Client) -> None:
    save(provider, makes_members=False)
    member = add_person(provider.tenant_id, DirectoryEntry("bob@acme.example", external_id="7"))
    knows(provider.issuer, "s-2", email="Bob@acme.example")
    signed_in(client, provider, "s-2")
    assert user_of(client) == str(member.user_id)
    knows(provider.issuer, "s-3", email="nobody@acme.example")
    assert signed_in(Client(), provider, "s-3").status_code == 403
    assert provider.tenant.memberships.count() == 1


def test_the_name_of_another_tenants_member_makes_a_member_of_this_one(
    provider: IdentityProvider, client: Client
) -> None:
    theirs = add_person(make_tenant().id, DirectoryEntry("eve@acme.example", email="eve@acme.example"))
    knows(provider.issuer, "s-4", email="eve@acme.example", preferred_username=theirs.user.username)
    signed_in(client, provider, "s-4")
    assert user_of(client) not in (None, str(theirs.user_id))


def test_an_account_that_opens_more_never_signs_in_here(provider: IdentityProvider, client: Client) -> None:
    guest = make_membership(provider.tenant)
    Membership.objects.create(tenant=make_tenant(), user=guest.user)
    operator = make_membership(provider.tenant)
    User.objects.filter(pk=operator.user_id).update(is_superuser=True)
    for number, member in enumerate((guest, operator)):
        name = f"guest{number}@acme.example"
        Membership.objects.filter(pk=member.pk).update(user_name=name)
        knows(provider.issuer, f"s-5{number}", email=name)
        assert signed_in(client, provider, f"s-5{number}").status_code == 403
        assert user_of(client) is None
    assert not ProvidedIdentity.objects.exists()


def test_somebody_who_is_deactivated_is_out_and_does_not_come_in(provider: IdentityProvider, client: Client) -> None:
    member = add_person(provider.tenant_id, DirectoryEntry("gone@acme.example"))
    knows(provider.issuer, "s-6", email="gone@acme.example")
    signed_in(client, provider, "s-6")
    assert client.get("/").status_code == 200
    change_person(member, DirectoryEntry("gone@acme.example", active=False))
    assert client.get("/").status_code == 403
    again = Client()
    assert signed_in(again, provider, "s-6").status_code == 403 and user_of(again) is None


def test_a_claim_gives_the_role_at_each_sign_in(provider: IdentityProvider, client: Client) -> None:
    save(provider, role_claim="groups", roles={"it": "admin", "help": "support"})
    for groups, role in ((["help", "it"], "admin"), (["help"], "support"), ([], "member")):
        knows(provider.issuer, "s-7", email="ada@acme.example", groups=groups)
        signed_in(client, provider, "s-7")
        assert provider.tenant.memberships.get().role == role


def test_an_address_leads_to_the_page_that_names_the_provider(provider: IdentityProvider, client: Client) -> None:
    page = client.post("/login/organisation/", {"named": "Ada@Acme.example"})
    assert provider.tenant.slug in page.content.decode()
    unknown = client.post("/login/organisation/", {"named": "ada@elsewhere.example"})
    assert "No organisation" in unknown.content.decode()
    save(provider, is_active=False)
    assert provider_for("ada@acme.example") is None
    assert client.get(f"/login/organisation/{provider.tenant.slug}/").status_code == 404


def test_passwords_end_where_the_organisation_says_so(provider: IdentityProvider, client: Client) -> None:
    member, elsewhere = make_membership(provider.tenant), make_membership(provider.tenant)
    Membership.objects.create(tenant=make_tenant(), user=elsewhere.user)
    save(provider, passwords_off=True)
    page = client.post("/login/", {"username": member.user.username, "password": PASSWORD})
    assert "Sign in with your organisation: it" in page.content.decode()
    assert user_of(client) is None
    client.post("/login/", {"username": elsewhere.user.username, "password": PASSWORD})
    assert user_of(client) == str(elsewhere.user_id)


def test_where_passwords_are_off_nothing_but_the_provider_signs_in(provider: IdentityProvider, client: Client) -> None:
    admin = make_membership(provider.tenant, role="admin").user
    save(provider, passwords_off=True)
    made = invite(tenant=provider.tenant, role=Role.MEMBER, by=admin, email="ines@acme.example", actor=SYSTEM)
    account = {"username": "ines", "display_name": "Ines", "password": PASSWORD, "again": PASSWORD}
    assert client.post(invitation_path(made), account).headers["Location"] == "/login/organisation/"
    assert user_of(client) is None
    knows(provider.issuer, "s-15", email="ines@acme.example")
    signed_in(client, provider, "s-15")
    assert user_of(client) == str(User.objects.get(email="ines@acme.example").pk)


def test_an_answer_to_another_browser_signs_nobody_in(provider: IdentityProvider, client: Client) -> None:
    knows(provider.issuer, "s-8", email="ada@acme.example")
    stolen = httpx.post(begun(Client(), provider), data={"sub": "s-8"}).headers["Location"]
    begun(client, provider)
    parts = urlsplit(stolen)
    assert client.get(f"{parts.path}?{parts.query}").status_code == 403
    assert client.get(f"/login/organisation/{provider.tenant.slug}/callback/").status_code == 403
    assert user_of(client) is None


def test_an_answer_counts_once_and_for_its_organisation(provider: IdentityProvider, client: Client) -> None:
    other = save_provider(make_tenant(), ProviderSettings(provider.issuer, "other", makes_members=True), actor=SYSTEM)
    knows(provider.issuer, "s-9", email="ada@acme.example")
    back = urlsplit(httpx.post(begun(client, provider), data={"sub": "s-9"}).headers["Location"])
    assert client.get(f"/login/organisation/{other.tenant.slug}/callback/?{back.query}").status_code == 403
    assert client.get(f"{back.path}?{back.query}").status_code == 403  # the attempt is over
    assert not other.tenant.memberships.exists()


def test_a_provider_that_is_away_is_told_without_its_secret(provider: IdentityProvider, client: Client) -> None:
    row = save(provider, issuer="http://127.0.0.1:1024")
    page = client.get(f"/login/organisation/{row.tenant.slug}/")
    assert page.status_code == 403
    assert "does not answer" in page.content.decode()
    assert not row.identities.exists()


def test_the_secret_is_encrypted_and_in_no_event(provider: IdentityProvider) -> None:
    assert SECRET not in provider.secret
    assert not AuditPayload.objects.filter(document__contains=SECRET).exists()
    assert AuditPayload.objects.filter(event__action="identity_provider.changed").count() == 1


def test_another_issuer_is_never_sent_the_secret(provider: IdentityProvider) -> None:
    assert secret_of(save(provider, client_id="new")) == SECRET
    assert secret_of(save(provider, issuer="https://evil.example")) == ""


def test_the_secret_outlives_the_key_that_encrypted_it(provider: IdentityProvider, settings: Settings) -> None:
    old, new = (Fernet.generate_key().decode() for _ in range(2))
    settings.MEMORYHUB_CREDENTIAL_KEYS = (old,)
    save(provider, secret=SECRET)
    settings.MEMORYHUB_CREDENTIAL_KEYS = (new, old)
    encrypt_secrets_again()
    settings.MEMORYHUB_CREDENTIAL_KEYS = (new,)
    provider.refresh_from_db()
    assert secret_of(provider) == SECRET


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("issuer", "ftp://acme.example"),
        ("issuer", "https://10.0.0.1"),
        ("client_id", ""),
        ("domains", ["no domain"]),
        ("domains", ["acme.example"]),
        ("roles", {"it": "boss"}),
    ],
)
def test_what_cannot_be_is_refused(provider: IdentityProvider, field: str, value: Any) -> None:
    wanted = replace(ProviderSettings("https://login.acme.example", "memoryhub"), **{field: value})
    with pytest.raises(InvalidValue, match=field):
        save_provider(make_tenant(), wanted, actor=SYSTEM)
    assert IdentityProvider.objects.count() == 1


ADD = "/admin/tenants/identityprovider/add/"


def test_an_administrator_sets_the_provider_but_not_the_domains(tenant: Tenant, browser: Client) -> None:
    posted = {
        "tenant": str(tenant.pk),
        "kind": "oidc",
        "issuer": "https://login.acme.example",
        "client_id": "memoryhub",
        "new_secret": SECRET,
        "domain_lines": "acme.example",
        "role_lines": "it-admins = admin",
        "role_claim": "groups",
        "is_active": "on",
    }
    assert browser.post(ADD, posted).status_code == 302
    row = IdentityProvider.objects.get(tenant=tenant)
    assert (row.domains, row.roles, secret_of(row)) == ([], {"it-admins": "admin"}, SECRET)
    page = browser.get(f"/admin/tenants/identityprovider/{row.pk}/change/").content.decode()
    assert SECRET not in page
    assert row.secret not in page
    assert f"/login/organisation/{tenant.slug}/callback/" in page
    browser.post(f"/admin/tenants/identityprovider/{row.pk}/change/", posted | {"new_secret": "", "client_id": "new"})
    row.refresh_from_db()
    assert (row.client_id, secret_of(row)) == ("new", SECRET)


def test_the_callback_is_shown_before_the_provider_is_saved(tenant: Tenant, browser: Client) -> None:
    assert f"http://testserver/login/organisation/{tenant.slug}/callback/" in browser.get(ADD).content.decode()


def test_saving_says_whether_the_issuer_answers(provider: IdentityProvider, tenant: Tenant, browser: Client) -> None:
    change = f"/admin/tenants/identityprovider/{provider.pk}/change/"
    posted = {"kind": "oidc", "client_id": "memoryhub", "role_lines": "", "is_active": "on"}
    good = browser.post(change, posted | {"issuer": provider.issuer}, follow=True).content.decode()
    bad = browser.post(change, posted | {"issuer": f"{provider.issuer}/made-up"}, follow=True).content.decode()
    assert "The provider answers." in good and "Nobody can sign in at this provider yet" in bad


def test_a_provider_is_checked_by_a_button(provider: IdentityProvider, tenant: Tenant, browser: Client) -> None:
    change = f"/admin/tenants/identityprovider/{provider.pk}/change/"
    assert "The provider answers." in browser.post(change, {"_check": "1"}, follow=True).content.decode()


def test_a_refused_role_is_shown_at_its_lines(provider: IdentityProvider, staff: Membership, browser: Client) -> None:
    posted = {"kind": "oidc", "issuer": "https://new.example", "client_id": "new", "role_lines": "it = boss"}
    change, again = f"/admin/tenants/identityprovider/{provider.pk}/change/", "type it again"
    answer = browser.post(change, posted)
    form = answer.context["adminform"].form
    assert form.errors == {"role_lines": ["There is no role boss."]} and again not in answer.content.decode()
    shown = browser.post(change, posted | {"new_secret": "s3cret-of-new"}).content.decode()
    assert again in shown and "s3cret-of-new" not in shown
    assert (form["client_id"].value(), form["role_lines"].value()) == ("new", "it = boss")


def test_an_administrator_of_another_tenant_sees_and_changes_nothing(
    provider: IdentityProvider, foreign: Membership, client: Client
) -> None:
    client.force_login(foreign.user)
    address = f"/admin/tenants/identityprovider/{provider.pk}/change/"
    assert client.get(address).status_code in (302, 404)
    client.post(address, {"issuer": "https://evil.example", "client_id": "x"})
    client.post(ADD, {"tenant": str(provider.tenant_id), "issuer": "https://evil.example", "client_id": "x"})
    provider.refresh_from_db()
    assert provider.client_id == "memoryhub"
    assert provider.issuer not in client.get("/admin/tenants/identityprovider/").content.decode()


@pytest.mark.parametrize("verified", [False, None])
def test_an_address_that_is_not_verified_leads_to_nobody(
    provider: IdentityProvider, client: Client, *, verified: bool | None
) -> None:
    add_person(provider.tenant_id, DirectoryEntry("boss@acme.example"))
    claims = {"email": "boss@acme.example", "preferred_username": "boss@acme.example", "email_verified": verified}
    knows(provider.issuer, f"s-10{verified}", **claims)
    assert signed_in(client, provider, f"s-10{verified}").status_code == 403
    assert user_of(client) is None and not ProvidedIdentity.objects.exists()


@pytest.mark.parametrize(("role", "status"), [(Role.MEMBER, 302), (Role.ADMIN, 403)])
def test_a_trusted_name_leads_to_ordinary_members_alone(
    provider: IdentityProvider, client: Client, role: Role, status: int
) -> None:
    save(provider, trusts_names=True)
    add_person(provider.tenant_id, DirectoryEntry("ada@acme.example", role=role))
    knows(provider.issuer, f"s-11{role}", preferred_username="ada@acme.example", email_verified=None)
    assert signed_in(client, provider, f"s-11{role}").status_code == status


def test_a_username_that_somebody_chose_gives_them_nobodys_identity(provider: IdentityProvider, client: Client) -> None:
    chosen = make_membership(provider.tenant, username="boss@acme.example")
    knows(provider.issuer, "s-12", email="boss@acme.example")
    signed_in(client, provider, "s-12")
    assert user_of(client) not in (None, str(chosen.user_id)) and not chosen.identities.exists()


def test_who_has_an_address_of_an_administrator_is_recognised(provider: IdentityProvider, client: Client) -> None:
    known = make_membership(provider.tenant)
    User.objects.filter(pk=known.user_id).update(email="boss@acme.example")
    knows(provider.issuer, "s-16", email="Boss@acme.example")
    signed_in(client, provider, "s-16")
    assert user_of(client) == str(known.user_id)


def test_who_was_invited_by_address_is_recognised(provider: IdentityProvider, client: Client) -> None:
    admin = make_membership(provider.tenant, role="admin").user
    made = invite(tenant=provider.tenant, role=Role.MEMBER, by=admin, email="ines@acme.example", actor=SYSTEM)
    token = invitation_path(made).split("/")[2]
    invited = accept_as_new(token, username="ines", display_name="", password=PASSWORD)
    knows(provider.issuer, "s-13", email="Ines@acme.example")
    signed_in(client, provider, "s-13")
    assert user_of(client) == str(invited.user_id)


def test_nobody_of_another_domain_becomes_a_member(provider: IdentityProvider, client: Client) -> None:
    knows(provider.issuer, "s-14", email="guest@elsewhere.example")
    assert signed_in(client, provider, "s-14").status_code == 403
    assert not provider.tenant.memberships.exists()


def test_a_linked_identity_is_on_record_once_and_without_its_id(provider: IdentityProvider, client: Client) -> None:
    knows(provider.issuer, "s-17", email="ada@acme.example")
    for _ in range(2):
        signed_in(client, provider, "s-17")
    event = AuditEvent.objects.select_related("payload").get(action="member.identity_linked")
    assert (event.tenant_id, event.target_id) == (provider.tenant_id, provider.tenant.memberships.get().pk)
    assert event.payload.data["after"] == {"issuer": provider.issuer}


@pytest.mark.parametrize("sub", ["x" * 256, "x\0", ""])
def test_an_id_that_cannot_be_kept_whole_is_refused(provider: IdentityProvider, sub: str) -> None:
    with pytest.raises(Forbidden, match="ID that cannot be used"):
        member_of(provider, {"sub": sub, "email": "ada@acme.example", "email_verified": True})
    assert not provider.tenant.memberships.exists()


def test_a_wrong_code_turns_nobody_else_away(provider: IdentityProvider, client: Client) -> None:
    begun(client, provider)
    state = client.session["oidc_attempt"]["state"]
    address = f"/login/organisation/{provider.tenant.slug}/callback/?state={state}&code=guessed"
    assert client.get(address).status_code == 403
    begun(Client(), provider)


def test_sign_ins_are_limited_for_an_address_and_a_provider(
    provider: IdentityProvider, client: Client, settings: Settings
) -> None:
    settings.ACCOUNT_RATE_LIMITS = {"organisation": "3/m/ip", "organisation_answer": "1/m/key"}
    callback = f"/login/organisation/{provider.tenant.slug}/callback/"
    for status, address in ((403, "127.0.0.2"), (429, "127.0.0.3")):  # the provider's own limit
        browser = Client(REMOTE_ADDR=address)
        begun(browser, provider)
        state = browser.session["oidc_attempt"]["state"]
        assert browser.get(f"{callback}?state={state}&code=guessed").status_code == status
    for status in (302, 302, 302, 429):
        assert client.get(f"/login/organisation/{provider.tenant.slug}/").status_code == status
    assert client.post("/login/organisation/", {"named": "ada@acme.example"}).status_code == 429


def test_a_tenant_whose_share_of_threads_is_used_waits(
    provider: IdentityProvider, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "fair_share", share := limits.FairShare(places=2))
    assert share.enter(provider.tenant_id)
    page = client.get(f"/login/organisation/{provider.tenant.slug}/")
    assert page.status_code == 403 and "too many people" in page.content.decode()
    share.leave(provider.tenant_id)
    begun(client, provider)
    assert share.enter(provider.tenant_id), "given back"

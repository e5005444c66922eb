"""Members sign in at their organisation's SAML provider, a conforming one, and nobody else does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core.cache import cache
from django.http import HttpResponse
from django.test import Client

from tenants.errors import InvalidValue
from tenants.models import AuditEvent, Membership, Tenant, User
from tenants.oidc.providers import ProviderSettings, provider_for, save_provider
from tenants.people import DirectoryEntry, add_person
from tenants.principal import SYSTEM, Role
from tenants.provider_models import IdentityProvider, ProvidedIdentity
from tenants.services import deactivate
from tests.factories import PASSWORD, make_membership
from tests.saml_provider import SamlProvider

pytestmark = pytest.mark.django_db
ADA = {"mail": ["ada@acme.example"], "displayName": ["Ada"], "groups": ["it-admins"]}


@pytest.fixture(scope="module")
def idp(tmp_path_factory: pytest.TempPathFactory) -> SamlProvider:
    return SamlProvider(tmp_path_factory.mktemp("saml"))


@pytest.fixture
def provider(idp: SamlProvider, tenant: Tenant, client: Client) -> IdentityProvider:
    """The tenant's provider, which knows this site by its metadata."""
    row = save(tenant, idp)
    idp.learn(client.get(f"{path_of(row)}metadata/").content.decode())
    return row


def save(tenant: Tenant, idp: SamlProvider, **changes: Any) -> IdentityProvider:
    usual = ProviderSettings(
        idp.name,
        kind="saml",
        sign_in_url=idp.sign_in_url,
        certificates=idp.certificate,
        domains=["acme.example"] if tenant.slug.startswith("tenant") else None,
        makes_members=True,
        trusts_names=True,
    )
    return save_provider(tenant, replace(usual, **changes), actor=SYSTEM)


def path_of(provider: IdentityProvider) -> str:
    return f"/login/organisation/{provider.tenant.slug}/saml/"


def begun(browser: Client, provider: IdentityProvider) -> str:
    """The address of the provider to which the organisation's page leads."""
    answer = browser.get(f"/login/organisation/{provider.tenant.slug}/", follow=False)
    assert answer.headers["Location"] == path_of(provider)
    return str(browser.get(path_of(provider)).headers["Location"])


def posted(provider: IdentityProvider, answer: str, **more: str) -> HttpResponse:
    """As the provider's page posts it: without this site's cookies."""
    return Client(enforce_csrf_checks=True).post(  # type: ignore[return-value]  # the client's response is one
        f"{path_of(provider)}answer/", {"SAMLResponse": answer, **more}
    )


def signed_in(browser: Client, provider: IdentityProvider, idp: SamlProvider, **said: Any) -> HttpResponse:
    name = said.pop("name", "ada@acme.example")
    there = posted(provider, idp.answer(begun(browser, provider), ADA | said, name=name))
    assert there.status_code == 303, there.content
    return browser.get(there.headers["Location"])  # type: ignore[return-value]


def user_of(browser: Client) -> str | None:
    return browser.session.get("_auth_user_id")


def test_somebody_new_becomes_a_member_and_comes_back(
    provider: IdentityProvider, idp: SamlProvider, client: Client
) -> None:
    assert signed_in(client, provider, idp).headers["Location"] == "/"
    member = provider.tenant.memberships.get()
    assert (user_of(client), member.user_name, member.user.speaker) == (str(member.user_id), "ada@acme.example", "Ada")
    assert client.get("/").status_code == 200
    client.post("/logout/")
    signed_in(client, provider, idp, mail=["lovelace@acme.example"])
    assert (user_of(client), provider.tenant.memberships.count()) == (str(member.user_id), 1)


def test_an_answer_works_once_and_for_the_browser_that_asked(
    provider: IdentityProvider, idp: SamlProvider, client: Client
) -> None:
    answer = idp.answer(begun(client, provider), ADA)
    there = posted(provider, answer).headers["Location"]
    assert posted(provider, answer).status_code == 403  # again
    stranger = Client()
    begun(stranger, provider)
    for browser in (Client(), stranger):
        assert b"begun elsewhere" in browser.get(there).content and user_of(browser) is None
    assert client.get(there).status_code == 403  # the stranger used it up, and nobody is signed in
    assert user_of(client) is None


def test_what_waits_is_unreadable_without_the_browser(
    provider: IdentityProvider, idp: SamlProvider, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[object] = []
    monkeypatch.setattr(cache, "set", lambda *args: kept.extend(args))
    posted(provider, idp.answer(begun(client, provider), ADA))
    assert kept and "acme.example" not in str(kept) and "it-admins" not in str(kept)


def test_an_answer_opens_no_other_tenant(provider: IdentityProvider, idp: SamlProvider, client: Client) -> None:
    other = save(Tenant.objects.create(name="Other", slug="other"), idp)
    answer = idp.answer(begun(client, provider), ADA)
    refused = posted(other, answer)
    assert refused.status_code == 403 and b"another audience" in refused.content
    begun(client, other)
    there = posted(provider, idp.answer(begun(Client(), provider), ADA)).headers["Location"]
    assert client.get(there.replace(provider.tenant.slug, "other")).status_code == 403
    assert user_of(client) is None and not Membership.objects.filter(tenant=other.tenant).exists()


def test_relay_state_leads_nowhere(provider: IdentityProvider, idp: SamlProvider, client: Client) -> None:
    answer = idp.answer(begun(client, provider), ADA)
    there = posted(provider, answer, RelayState="https://evil.example/").headers["Location"]
    assert urlsplit(there).path == f"{path_of(provider)}done/"
    assert client.get(f"{there}&RelayState=https://evil.example/&next=//evil.example").headers["Location"] == "/"


def test_an_answer_that_nobody_asked_for_begins_a_sign_in(
    provider: IdentityProvider, idp: SamlProvider, client: Client
) -> None:
    answer = idp.answer(begun(client, provider), ADA, in_response_to=None)
    assert posted(provider, answer).headers["Location"] == path_of(provider)
    assert user_of(client) is None


def test_an_unsigned_answer_signs_nobody_in(provider: IdentityProvider, idp: SamlProvider, client: Client) -> None:
    answer = idp.answer(begun(client, provider), ADA, sign_assertion=False)
    assert b"not signed by it" in posted(provider, answer).content
    for odd, status in (("", 403), ("%%%", 403), ("x" * 500_000, 413)):
        assert posted(provider, odd).status_code == status


@pytest.mark.parametrize(
    ("trusts", "role", "gets_in"), [(True, "member", True), (True, "admin", False), (False, "member", False)]
)
def test_a_name_leads_to_members_as_the_administrators_say(
    provider: IdentityProvider, idp: SamlProvider, client: Client, trusts: bool, role: str, gets_in: bool
) -> None:
    save(provider.tenant, idp, makes_members=False, trusts_names=trusts)
    member = add_person(provider.tenant_id, DirectoryEntry("ada@acme.example", role=Role(role)))
    answer = signed_in(client, provider, idp)
    assert (user_of(client) == str(member.user_id), answer.status_code) == (gets_in, 302 if gets_in else 403)
    assert ProvidedIdentity.objects.exists() is gets_in


def test_an_attribute_sets_the_role(provider: IdentityProvider, idp: SamlProvider, client: Client) -> None:
    save(provider.tenant, idp, role_claim="groups", roles={"it-admins": "admin"})
    signed_in(client, provider, idp)
    assert provider.tenant.memberships.get().role == "admin"
    signed_in(Client(), provider, idp, groups=["others"])
    assert provider.tenant.memberships.get().role == "member"


def test_who_was_deactivated_or_is_of_other_domains_stays_out(
    provider: IdentityProvider, idp: SamlProvider, client: Client
) -> None:
    assert signed_in(client, provider, idp, mail=["eve@evil.example"], name="eve@evil.example").status_code == 403
    signed_in(client, provider, idp)
    deactivate(provider.tenant.memberships.get())
    assert signed_in(Client(), provider, idp).status_code == 403


def test_passwords_are_off_for_saml_too(provider: IdentityProvider, idp: SamlProvider, client: Client) -> None:
    signed_in(client, provider, idp)
    user = provider.tenant.memberships.get().user
    user.set_password(PASSWORD)
    user.save()
    save(provider.tenant, idp, passwords_off=True)
    page = Client().post("/login/", {"username": user.username, "password": PASSWORD})
    assert b"it does not use passwords here" in page.content


def test_another_protocol_forgets_who_people_were(
    provider: IdentityProvider, idp: SamlProvider, client: Client
) -> None:
    signed_in(client, provider, idp)
    save_provider(provider.tenant, ProviderSettings("https://id.acme.example/saml", "us"), actor=SYSTEM)
    assert not ProvidedIdentity.objects.exists()
    for page in ("", "metadata/", "done/"):
        assert client.get(f"{path_of(provider)}{page}").status_code == 404
    row = provider_for(provider.tenant.slug)
    assert row and (row.kind, row.certificates) == ("oidc", "")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"sign_in_url": "http://plain.example/"}, "sign_in_url"),
        ({"certificates": ""}, "certificates"),
        ({"certificates": "x"}, "certificates"),
    ],
)
def test_a_provider_needs_a_page_and_certificates(
    tenant: Tenant, idp: SamlProvider, changes: dict[str, str], field: str
) -> None:
    with pytest.raises(InvalidValue) as refused:
        save(tenant, idp, **changes)
    assert refused.value.field == field
    assert not AuditEvent.objects.filter(action="identity_provider.changed").exists()


def test_an_administrator_pastes_the_metadata(provider: IdentityProvider, idp: SamlProvider) -> None:
    boss, browser = make_membership(role="admin"), Client()
    User.objects.filter(pk=boss.user_id).update(is_staff=True)
    browser.post("/login/", {"username": boss.user.username, "password": PASSWORD})
    form = {"tenant": str(boss.tenant_id), "kind": "saml", "metadata": idp.metadata(), "is_active": "on"}
    page = browser.post("/admin/tenants/identityprovider/add/", form)
    row = IdentityProvider.objects.get(tenant=boss.tenant)
    assert page.status_code == 302
    assert (row.issuer, row.sign_in_url, row.certificates) == (idp.name, idp.sign_in_url, idp.certificate)
    shown = browser.get(f"/admin/tenants/identityprovider/{row.pk}/change/").content.decode()
    assert f"/login/organisation/{boss.tenant.slug}/saml/metadata/" in shown and "Valid until" in shown
    refused = browser.post("/admin/tenants/identityprovider/add/", form | {"metadata": "<x/>"}).content.decode()
    assert "This cannot be used" in refused and provider.tenant.name not in refused

"""The providers of tenants: who may set what, the client's secret at rest, and which one an address leads to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from cryptography.fernet import InvalidToken
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.utils.translation import gettext as _

from memoryhub.outgoing import address_fault
from tenants.audit.chain import EventDraft, record_tenant_event
from tenants.errors import InvalidValue, store
from tenants.locks import wait_for_tenant
from tenants.models import Tenant, User
from tenants.oidc.faults import provider_fault_words
from tenants.oidc.protocol import ProviderError
from tenants.principal import Actor, Role
from tenants.provider_models import IdentityProvider, ProviderKind
from tenants.saml.protocol import checked_certificates
from tenants.search_keys.claims import box, seal, unseal, with_first_key

_DOMAIN = re.compile(r"(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}")
_RECORDED = (
    "kind",
    "issuer",
    "client_id",
    "sign_in_url",
    "certificates",
    "domains",
    "role_claim",
    "roles",
    "makes_members",
    "trusts_names",
    "passwords_off",
    "is_active",
)


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """What a provider is to be. `secret` None keeps the one that is stored for this issuer, as `domains` None does."""

    issuer: str
    client_id: str = ""
    secret: str | None = None
    domains: Sequence[str] | None = None
    role_claim: str = ""
    roles: Mapping[str, str] = field(default_factory=dict)
    makes_members: bool = False
    trusts_names: bool = False
    passwords_off: bool = False
    is_active: bool = True
    kind: str = ProviderKind.OIDC.value
    sign_in_url: str = ""
    certificates: str = ""


def save_provider(tenant: Tenant, wanted: ProviderSettings, *, actor: Actor) -> IdentityProvider:
    """Set a tenant's provider. Raises InvalidValue.

    Another issuer or protocol forgets who its people were for the one before, and the secret, which an administrator
    could otherwise have sent to an address of their own.
    """
    wanted = _checked(wanted)
    if unknown := set(wanted.roles.values()) - set(Role.values):
        raise InvalidValue("roles", _("There is no role %s.") % min(unknown))
    with transaction.atomic():
        wait_for_tenant(tenant.pk)
        row = IdentityProvider.objects.filter(tenant=tenant).first() or IdentityProvider(tenant=tenant)
        before = {name: getattr(row, name) for name in _RECORDED}
        secret_before = row.secret
        if (row.kind, row.issuer) != (wanted.kind, wanted.issuer) and not row._state.adding:
            row.identities.all().delete()
            row.secret = ""
        for name in _RECORDED:
            if name != "domains":
                setattr(row, name, getattr(wanted, name))
        if wanted.domains is not None:
            row.domains = _free(wanted.domains, row)
        if wanted.secret is not None:
            row.secret = _sealed(row, wanted.secret)
        store(row)
        after: dict[str, object] = {name: getattr(row, name) for name in _RECORDED}
        after["secret_changed"] = row.secret != secret_before
        draft = EventDraft("identity_provider.changed", "tenant", tenant.pk, before=before, after=after)
        record_tenant_event(actor, tenant.pk, draft)
    return row


def _checked(wanted: ProviderSettings) -> ProviderSettings:
    """The settings that the protocol needs, without those of the other one. Raises InvalidValue."""
    is_saml = wanted.kind == ProviderKind.SAML
    field_name, address = ("sign_in_url", wanted.sign_in_url) if is_saml else ("issuer", wanted.issuer)
    if fault := address_fault(address):
        raise InvalidValue(field_name, fault)
    if not is_saml:
        if not wanted.client_id:
            raise InvalidValue("client_id", _("is needed for OpenID Connect."))
        return replace(wanted, sign_in_url="", certificates="")
    try:
        certificates = checked_certificates(wanted.certificates)
    except ProviderError as error:
        raise InvalidValue("certificates", _("must be in PEM: %s.") % provider_fault_words(str(error))) from None
    if not certificates:
        raise InvalidValue("certificates", _("are needed: signatures are verified with them."))
    return replace(wanted, client_id="", secret=None, certificates=certificates)


def secret_of(provider: IdentityProvider) -> str:
    """The client's secret. Raises Undecipherable."""
    return unseal(provider.pk, provider.secret) if provider.secret else ""


def encrypt_secrets_again() -> None:
    """Encrypt the secrets with the first of MEMORYHUB_CREDENTIAL_KEYS; one that none reads is refused on use."""
    for row in IdentityProvider.objects.exclude(secret=""):
        with suppress(InvalidToken):
            anew = with_first_key(row.secret)
            IdentityProvider.objects.filter(pk=row.pk, secret=row.secret).update(secret=anew)


def provider_for(named: str) -> IdentityProvider | None:
    """The provider in use that an e-mail address or the short name of an organisation leads to."""
    rows = IdentityProvider.objects.filter(is_active=True, tenant__is_active=True).select_related("tenant")
    domain = named.rpartition("@")[2].strip().lower()
    if "@" not in named:
        return rows.filter(tenant__slug=domain).first()
    found = [row for row in rows if domain in row.domains]
    return found[0] if len(found) == 1 else None


def refuses_password(user: User) -> bool:
    """Whether all that an account opens wants its people to sign in at their provider."""
    if user.is_superuser:
        return False
    opened = set(user.memberships.filter(is_active=True).values_list("tenant_id", flat=True))
    rows = IdentityProvider.objects.filter(tenant_id__in=opened, is_active=True, passwords_off=True)
    return bool(opened) and set(rows.values_list("tenant_id", flat=True)) == opened


def _free(domains: Sequence[str], row: IdentityProvider) -> list[str]:
    wanted = sorted({domain.strip().lower() for domain in domains if domain.strip()})
    for domain in wanted:
        if not _DOMAIN.fullmatch(domain):
            raise InvalidValue("domains", _("%s is not the domain of an e-mail address.") % domain)
    for other in IdentityProvider.objects.exclude(pk=row.pk):
        if taken := set(wanted) & set(other.domains):
            raise InvalidValue("domains", _("%s leads to another organisation.") % min(taken))
    return wanted


def _sealed(row: IdentityProvider, secret: str) -> str:
    try:
        return seal(row.pk, secret, using=box()) if secret else ""
    except (ImproperlyConfigured, OSError):
        raise InvalidValue("secret", _("This server has no key to encrypt it: MEMORYHUB_CREDENTIAL_KEYS.")) from None

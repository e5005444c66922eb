"""Which member somebody is who signed in at their tenant's provider.

A provider speaks for its own tenant alone. An account that also opens another tenant, or the platform, never signs in
by one, or else the administrator of one tenant could become anybody there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from tenants.audit.chain import EventDraft, record_tenant_event
from tenants.errors import Forbidden, InvalidValue, is_storable, store
from tenants.locks import wait_for_tenant
from tenants.models import Membership
from tenants.people import DirectoryEntry, add_person, people_of
from tenants.principal import Actor, ActorKind, Role
from tenants.provider_models import IdentityProvider, ProvidedIdentity
from tenants.services import change_role, mark_managed

_MAX_SUBJECT = 255  # by OpenID Connect Core, section 2
# The role of somebody with several is the one with most rights.
_ORDER = (Role.ADMIN, Role.AUDITOR, Role.SUPPORT, Role.MEMBER)


def member_of(provider: IdentityProvider, claims: Mapping[str, Any], *, request_id: str = "") -> Membership:
    """The member of the provider's tenant that the verified claims name. Raises Forbidden with what to do.

    Somebody who comes for the first time is the person that the directory or an invitation named so, or becomes a
    member if the provider makes some and the address is of one of its domains.
    """
    actor = Actor(ActorKind.SYSTEM, request_id=request_id)
    if not 0 < len(subject := str(claims["sub"])) <= _MAX_SUBJECT or not is_storable(subject):
        raise Forbidden(_("Your organisation's provider gives you an ID that cannot be used. Ask an administrator."))
    with transaction.atomic():
        wait_for_tenant(provider.tenant_id)  # two sign-ins at once make one member
        known = ProvidedIdentity.objects.select_related("membership__user", "membership__tenant")
        identity = known.filter(provider=provider, subject=subject).first()
        membership = identity.membership if identity else _first_time(provider, subject, claims, actor)
        if membership.user.is_superuser or membership.user.memberships.exclude(pk=membership.pk).exists():
            raise Forbidden(_("This account also opens other organisations. Sign in with its password."))
        if not membership.is_usable:
            raise Forbidden(_("This account is deactivated. Ask an administrator of your organisation."))
        if provider.role_claim:
            change_role(membership, role=_role(provider, claims), actor=actor)
        if identity is None:
            mark_managed(membership.user_id)  # locks the user, so after the member
    return membership


def _first_time(provider: IdentityProvider, subject: str, claims: Mapping[str, Any], actor: Actor) -> Membership:
    email, names = _names(provider, claims)
    membership = _known_by(provider, email, names)
    if membership is None:
        if not provider.makes_members or not names or names[0].rpartition("@")[2].lower() not in provider.domains:
            raise Forbidden(_("Your organisation has not added you here. Ask an administrator."))
        person = DirectoryEntry(names[0], name=str(claims.get("name") or "")[:100], email=email)
        try:
            membership = add_person(provider.tenant_id, person, actor=actor)
        except InvalidValue:
            raise Forbidden(_("Your name or address cannot be used here. Ask an administrator.")) from None
    store(ProvidedIdentity(provider=provider, membership=membership, subject=subject))
    draft = EventDraft("member.identity_linked", "membership", membership.pk, after={"issuer": provider.issuer})
    record_tenant_event(actor, provider.tenant_id, draft)
    return membership


def _names(provider: IdentityProvider, claims: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The verified e-mail address, and the names that the provider may give somebody."""
    said = str(claims.get("email") or "")
    email = said if claims.get("email_verified") in (True, "true") else ""
    trusted = [str(claims.get("preferred_username") or "")] if provider.trusts_names else []
    if provider.trusts_names and "email_verified" not in claims:
        trusted.insert(0, said)
    return email, [name for name in (email, *trusted) if name and is_storable(name)]


def _known_by(provider: IdentityProvider, email: str, names: Sequence[str]) -> Membership | None:
    """The member that the tenant itself knows by one of the names.

    A name that is not a verified address never leads to staff. Raises Forbidden.
    """
    rows = people_of(provider.tenant_id).exclude(identities__provider=provider)
    for name in names:
        if found := rows.filter(known_as__iexact=name).first():
            if name != email and found.role != Role.MEMBER:
                raise Forbidden(_("Your organisation's provider did not verify your address. Ask an administrator."))
            return found
    return None


def _role(provider: IdentityProvider, claims: Mapping[str, Any]) -> Role:
    said = claims.get(provider.role_claim)
    values = said if isinstance(said, list) else [said]
    held = {provider.roles.get(str(value)) for value in values}
    return next((role for role in _ORDER if role.value in held), Role.MEMBER)

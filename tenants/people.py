"""People that a tenant's own directory brings: by SCIM (`memories/api/scim/`) or from a file.

A person has a name that is unique in the tenant alone. Nothing here ever takes an account that exists: an account that
also opens another tenant, or the platform, keeps the name and e-mail address that it has. Somebody who is removed is
deactivated and leaves their names; their memory stays until it is erased.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Case, CharField, F, Q, QuerySet, When
from django.utils.translation import gettext as _
from django_stubs_ext import WithAnnotations

from tenants.end_users import checked_id
from tenants.errors import Forbidden, InvalidValue, is_storable
from tenants.locks import wait_for_tenant
from tenants.models import Membership, Tenant, User
from tenants.principal import SYSTEM, Actor, Role
from tenants.provider_models import ProvidedIdentity
from tenants.services import (
    activate,
    add_member,
    change_role,
    create_user,
    deactivate,
    mark_managed,
    name_member,
    update_user,
)
from tenants.usernames import made_up_username

MAX_USER_NAME, MAX_NAME = 150, 100


class _Known(TypedDict):
    known_as: str


if TYPE_CHECKING:
    KnownMember = WithAnnotations[Membership, _Known]
else:  # at run time the type takes one argument
    KnownMember = Membership


class Taken(InvalidValue):
    """Another member of the tenant has this name or id."""


@dataclass(frozen=True, slots=True)
class DirectoryEntry:
    """What a directory says of somebody; without a `name` people see the `user_name`.

    `role` None leaves the role as it is, and makes an ordinary member.
    """

    user_name: str
    external_id: str = ""
    name: str = ""
    email: str = ""
    active: bool = True
    role: Role | None = None


def username_in(tenant: Tenant, name: str) -> str:
    """The username of an account that was named in a tenant: two tenants may each have an `ada`."""
    ending = f"@{tenant.slug}"
    return User.normalize_username(name).removesuffix(ending) + ending


def people_of(tenant_id: UUID) -> QuerySet[KnownMember, KnownMember]:
    """The tenant's members, oldest first, with the name by which its directory knows them as `known_as`.

    Somebody without a name of the directory is known by the id of the tenant's system, or else by the e-mail address
    that an administrator gave or invited; by none (empty) without any. A username, which people choose, names nobody.
    Whoever was deactivated and has neither name nor id was removed.
    """
    known_as = Case(
        When(~Q(user_name=""), then=F("user_name")),
        When(~Q(external_id=""), then=F("external_id")),
        default=F("user__email"),
        output_field=CharField(),
    )
    rows = Membership.objects.filter(tenant_id=tenant_id).exclude(is_active=False, user_name="", external_id="")
    return rows.annotate(known_as=known_as).select_related("tenant", "user").order_by("created_at", "id")


def add_person(tenant_id: UUID, person: DirectoryEntry, *, actor: Actor = SYSTEM) -> Membership:
    """Add a member with an account of their own. Raises InvalidValue, Taken; Forbidden for an inactive tenant."""
    with transaction.atomic():
        wait_for_tenant(tenant_id)  # two requests for one person make one member
        tenant = Tenant.objects.get(pk=tenant_id)
        if not tenant.is_active:
            raise Forbidden(_("This tenant is not active."))
        person = _checked(tenant_id, person)
        user = create_user(
            username=made_up_username(),
            display_name=person.name or person.user_name[:MAX_NAME],
            email=person.email,
            actor=actor,
        )
        mark_managed(user.pk)
        membership = add_member(
            tenant=tenant,
            user=user,
            role=person.role or Role.MEMBER,
            external_id=person.external_id,
            user_name=person.user_name,
            actor=actor,
        )
        if not person.active:
            deactivate(membership, actor=actor)
    return membership


def change_person(membership: Membership, person: DirectoryEntry, *, actor: Actor = SYSTEM) -> None:
    """Change a member to what the directory says. Raises InvalidValue, Taken; Forbidden for an account of others."""
    with transaction.atomic():
        person = _checked(membership.tenant_id, person, of=membership)
        try:
            name_member(membership, user_name=person.user_name, external_id=person.external_id, actor=actor)
        except IntegrityError:  # somebody took it meanwhile
            raise _taken("user_name") from None
        if not membership.user.is_superuser and not _is_member_elsewhere(membership):
            mark_managed(membership.user_id)  # locks the user, so after the member
        _change_user(membership, person, actor)
        if person.role is not None:
            change_role(membership, role=person.role, actor=actor)
        if person.active != membership.is_active:
            (activate if person.active else deactivate)(membership, actor=actor)


def remove_person(membership: Membership, *, actor: Actor = SYSTEM) -> None:
    """Deactivate a member and free their names in the tenant, so that a later person of that name is somebody else."""
    with transaction.atomic():
        deactivate(membership, actor=actor)
        name_member(membership, user_name="", external_id="", actor=actor)
        ProvidedIdentity.objects.filter(membership=membership).delete()


def _is_member_elsewhere(membership: Membership) -> bool:
    return Membership.objects.filter(user_id=membership.user_id).exclude(pk=membership.pk).exists()


def _change_user(membership: Membership, person: DirectoryEntry, actor: Actor) -> None:
    user = User.objects.get(pk=membership.user_id)
    said = {
        "email": User.objects.normalize_email(person.email),
        "display_name": person.name or person.user_name[:MAX_NAME],
    }
    if all(getattr(user, name) == value for name, value in said.items()):
        return
    if user.is_superuser or _is_member_elsewhere(membership):
        raise Forbidden(_("The name and e-mail address of somebody who is also a member elsewhere stay as they are."))
    for name, value in said.items():
        setattr(user, name, value)
    update_user(user, actor=actor)
    membership.user = user


def _checked(tenant_id: UUID, person: DirectoryEntry, *, of: Membership | None = None) -> DirectoryEntry:
    """The person, if everything can be stored and the names are free. Raises InvalidValue, Taken."""
    name = person.user_name
    if not 0 < len(name) <= MAX_USER_NAME or name != name.strip() or not name.isprintable() or not is_storable(name):
        reason = _("must have 1 to %d characters, and no space at its ends.") % MAX_USER_NAME
        raise InvalidValue("user_name", reason)
    if person.external_id:
        try:
            checked_id(person.external_id)
        except InvalidValue as error:
            raise InvalidValue("external_id", error.reason) from None
    others = people_of(tenant_id) if of is None else people_of(tenant_id).exclude(pk=of.pk)
    if others.filter(known_as__iexact=name).exists():
        raise _taken("user_name")
    if person.external_id and others.filter(external_id=person.external_id).exists():
        raise _taken("external_id")
    return person


def _taken(field: str) -> Taken:
    return Taken(field, _("is that of another member."))

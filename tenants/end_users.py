"""End users: members that the tenant's own system names by an id (`external_id`), for its backend keys.

Keys reach ordinary members alone. Staff are as unknown to them as people of other tenants.
"""

from __future__ import annotations

from contextlib import suppress
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from tenants.errors import Forbidden, InvalidValue
from tenants.locks import wait_for_tenant
from tenants.models import Membership, Tenant
from tenants.principal import SYSTEM, Actor, Role
from tenants.services import add_member, create_user, mark_managed, update_user
from tenants.tokens import signs_in
from tenants.usernames import made_up_username

MAX_ID_CHARACTERS = 200
_MAX_NAME_CHARACTERS = 100
_IN_PATHS = frozenset({".", ".."})


def checked_id(given: object) -> str:
    """The id of a user as the tenant's system writes it. Ids are equal only if every character is.

    Raises InvalidValue. Characters that are not seen, and those that clients and proxies rewrite in a path or a header,
    are refused: two readers of one request must not see two users.
    """
    if not isinstance(given, str):
        raise InvalidValue("user_id", _("must be text."))
    if not given or given != given.strip() or len(given) > MAX_ID_CHARACTERS:
        raise InvalidValue(
            "user_id",
            _("must have 1 to %(max_id_characters)s characters, and no space at its ends.")
            % {"max_id_characters": MAX_ID_CHARACTERS},
        )
    if not given.isprintable() or "/" in given or "\\" in given or given in _IN_PATHS:
        raise InvalidValue("user_id", _("must not contain a slash or a character that is not seen."))
    return given


def end_users(tenant_id: UUID) -> QuerySet[Membership]:
    """The members that keys of the tenant reach, also deactivated ones, oldest first."""
    rows = Membership.objects.filter(tenant_id=tenant_id, role=Role.MEMBER.value).exclude(external_id="")
    return rows.select_related("tenant", "user").order_by("created_at", "id")


def find_end_user(tenant_id: UUID, user_id: str) -> Membership | None:
    """The member with this id of the tenant's own, active or not."""
    return end_users(tenant_id).filter(external_id=user_id).first()


def member_named(tenant_id: UUID, named: str) -> Membership | None:
    """The member, staff among them, with this id of the tenant's own, or else with this id of user or membership."""
    members = Membership.objects.filter(tenant_id=tenant_id).select_related("user", "tenant")
    found = members.filter(external_id=named).first() if named else None
    with suppress(ValueError):
        found = found or members.filter(Q(pk=UUID(named)) | Q(user_id=UUID(named))).first()
    return found


def provision_end_user(
    tenant_id: UUID, user_id: str, *, name: str = "", actor: Actor = SYSTEM
) -> tuple[Membership, bool]:
    """The member with this id, and whether this call made them.

    Callers at the same time get one member. Raises InvalidValue; Forbidden if the id is that of staff.
    """
    user_id = checked_id(user_id)
    with transaction.atomic():
        wait_for_tenant(tenant_id)
        tenant = Tenant.objects.get(pk=tenant_id)
        if not tenant.is_active:
            raise Forbidden(_("This tenant is not active."))
        if found := find_end_user(tenant_id, user_id):
            return found, False
        if Membership.objects.filter(tenant_id=tenant_id, external_id=user_id).exists():
            raise Forbidden(_("This id belongs to staff; no backend key acts for them."))
        shown = name or user_id[:_MAX_NAME_CHARACTERS]
        user = create_user(username=made_up_username(), display_name=shown, actor=actor)
        mark_managed(user.pk)
        return add_member(tenant=tenant, user=user, external_id=user_id, actor=actor), True


def rename_end_user(membership: Membership, *, name: str, actor: Actor = SYSTEM) -> None:
    """Change the name that is shown; without one it is the tenant's id. Raises InvalidValue.

    Raises Forbidden for a user who signs in or is a member of another tenant: their name is not this tenant's.
    """
    user = membership.user
    if signs_in(membership) or user.memberships.exclude(pk=membership.pk).exists():
        raise Forbidden(_("The name of somebody who signs in, or is a member elsewhere, is not changed here."))
    user.display_name = name or membership.external_id[:_MAX_NAME_CHARACTERS]
    update_user(user, actor=actor)

"""Builds principals from memberships, and re-checks during long work that staff may continue."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from django.utils.translation import gettext as _

from memoryhub.db.scope import WideRole, acting_as
from tenants.errors import Forbidden, NoMembership
from tenants.models import ApiToken, Membership, User
from tenants.principal import ALL_RIGHTS, READS_HISTORY, ActorKind, KeyHolder, Principal, Right, Role
from tenants.selectors import active_memberships, administers, has_role

# Roles that may read the memory of the tenant's members.
STAFF_ROLES = READS_HISTORY
# While an answer streams, the member is looked up this often: a deactivated one reads no more.
ACTIVE_SECONDS = 2.0


def principal_of(
    membership: Membership,
    *,
    actor_kind: ActorKind,
    actor_id: UUID | None = None,
    rights: frozenset[Right] = ALL_RIGHTS,
    request_id: str = "",
) -> Principal:
    """A principal for this member's memory; `actor_id` defaults to the member if they act themselves.

    Raises NoMembership if the membership, its tenant or its user is inactive.
    """
    if not membership.is_usable:
        raise NoMembership(_("This membership is not active."))
    if actor_id is None and actor_kind is ActorKind.MEMBER:
        actor_id = membership.user_id
    return _principal(membership, actor_kind, actor_id, rights, request_id)


def principal_of_key(key: KeyHolder, membership: Membership) -> Principal:
    """A backend key acting for a member of its tenant, with its rights over their memory.

    Raises NoMembership for an inactive member, for one of another tenant, and for staff: their rights would be the
    key's.
    """
    if membership.tenant_id != key.tenant_id or Role(membership.role) is not Role.MEMBER:
        raise NoMembership(_("No such member."))
    return principal_of(
        membership,
        actor_kind=ActorKind.KEY,
        actor_id=key.key_id,
        rights=key.rights & ALL_RIGHTS,
        request_id=key.request_id,
    )


def _principal(
    membership: Membership,
    actor_kind: ActorKind,
    actor_id: UUID | None = None,
    rights: frozenset[Right] = ALL_RIGHTS,
    request_id: str = "",
) -> Principal:
    return Principal(
        tenant_id=membership.tenant_id,
        user_id=membership.user_id,
        membership_id=membership.id,
        role=Role(membership.role),
        actor_kind=actor_kind,
        actor_id=actor_id,
        rights=rights,
        speaker=membership.user.speaker,
        request_id=request_id,
    )


def require_active(principal: Principal) -> None:
    """Raise Forbidden if member, user or tenant was deactivated since the principal was made."""
    if not active_memberships().filter(pk=principal.membership_id).exists():
        raise Forbidden(_("This membership is not active."))


def _require_unrevoked(principal: Principal) -> None:
    """Raise Forbidden if the token or key that began this is revoked; one that only expired may end what it began."""
    if (actor_id := principal.actor_id) is None or actor_id == principal.user_id:  # the system, or the member in person
        return
    with acting_as(WideRole.SIGN_IN):  # the scope of a member does not show the tenant's keys
        if ApiToken.objects.filter(pk=actor_id).exclude(revoked_at=None).exists():
            raise Forbidden("This token is revoked.")


@dataclass(slots=True)
class ActiveCheck:
    """Checks member and token again for an answer that lasts, at most every `after` seconds."""

    principal: Principal
    _checked_at: float = field(default_factory=time.monotonic)

    def __call__(self, *, after: float = ACTIVE_SECONDS) -> None:
        """Raise Forbidden once the member is no longer active, or the token or key of the call is revoked."""
        if time.monotonic() - self._checked_at >= after:
            require_active(self.principal)
            _require_unrevoked(self.principal)
            self._checked_at = time.monotonic()


def system_principal(membership: Membership) -> Principal:
    """The system acting for a member, in commands and tasks."""
    return principal_of(membership, actor_kind=ActorKind.SYSTEM)


def platform_principal(membership: Membership, *, staff: User, request_id: str = "") -> Principal:
    """A superuser acting in this member's place, to write what all tenants share.

    Raises NoMembership as `principal_of` does, Forbidden unless `staff` is an active superuser. No code path of a
    member's token, agent or session calls this.
    """
    if not (staff.is_active and staff.is_superuser):
        raise Forbidden(_("Only platform staff may do this."))
    principal = principal_of(membership, actor_kind=ActorKind.STAFF, actor_id=staff.id, request_id=request_id)
    return replace(principal, platform=True)


def staff_principal(membership: Membership, *, staff: User, request_id: str = "") -> Principal:
    """An admin acting on a member's memory, for instance to decide a review, with rights to read and write.

    Raises NoMembership as `principal_of` does, Forbidden unless `staff` administers the member's tenant or is an active
    superuser.
    """
    if not (staff.is_active and (staff.is_superuser or administers(staff, membership.tenant_id))):
        raise Forbidden(_("Only an administrator may do this."))
    return principal_of(
        membership,
        actor_kind=ActorKind.STAFF,
        actor_id=staff.id,
        rights=frozenset({Right.READ, Right.WRITE}),
        request_id=request_id,
    )


def reading_principal(
    membership: Membership,
    *,
    staff: User,
    roles: Sequence[Role] = STAFF_ROLES,
    request_id: str = "",
    purpose: str = "",
) -> Principal:
    """Tenant staff reading a member's memory, active or not, with the right to read only; `purpose` is why.

    Raises Forbidden unless `staff` has one of `roles` in the member's tenant or is an active superuser.
    """
    if not (staff.is_active and (staff.is_superuser or has_role(staff, membership.tenant_id, roles))):
        raise Forbidden(_("Only staff of the tenant may look at this."))
    principal = _principal(membership, ActorKind.STAFF, staff.id, frozenset({Right.READ}), request_id)
    return replace(principal, purpose=purpose) if purpose else principal


def keeping_principal(membership: Membership) -> Principal:
    """The system deleting a member's data, also if the member is inactive.

    For erasure and background jobs; they lock with `wait_for_owner`, since `lock_owner` refuses inactive members.
    """
    return _principal(membership, ActorKind.SYSTEM)


def still(staff: User) -> User:
    """The user read again, so that their current roles are checked. Raises Forbidden if they were deactivated."""
    now = User.objects.filter(pk=staff.pk).first()
    if now is None or not now.is_active or (staff.is_staff and not now.is_staff):
        raise Forbidden(_("Whoever asked for this may not have it any more."))
    return now

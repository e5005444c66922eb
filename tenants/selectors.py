"""Reads of tenants, users and memberships; unless named otherwise, only active members of active tenants."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from memoryhub.installation import PROGRAM
from tenants.errors import NoMembership, is_storable
from tenants.models import Membership, Tenant, User
from tenants.principal import Role


def active_memberships() -> QuerySet[Membership]:
    """Memberships of active users in active tenants, with tenant and user."""
    return Membership.objects.filter(is_active=True, tenant__is_active=True, user__is_active=True).select_related(
        "tenant", "user"
    )


def has_active_member() -> Exists:
    """A condition on rows with a tenant and a user: that member is active."""
    return Exists(active_memberships().filter(tenant=OuterRef("tenant"), user=OuterRef("user")))


def memberships_of(user: User) -> QuerySet[Membership]:
    """The user's active memberships, sorted by the tenant's name."""
    return active_memberships().filter(user_id=user.id).order_by("tenant__name", "id")


def membership_in(tenant_id: UUID, user: User) -> Membership:
    """The user's membership in the tenant. Raises NoMembership, also for unknown tenants."""
    membership = memberships_of(user).filter(tenant_id=tenant_id).first()
    if membership is None:
        raise NoMembership("No such tenant.")
    return membership


def tenant_ids_of(user: User, roles: Iterable[Role]) -> QuerySet[Membership, UUID]:
    """The ids of the tenants where the user has one of these roles."""
    return (
        active_memberships()
        .filter(user_id=user.id, role__in=[role.value for role in roles])
        .order_by()
        .values_list("tenant_id", flat=True)
    )


def role_in(user: User, tenant_id: UUID) -> Role | None:
    """The role of `user` in the tenant; None if they are no active member."""
    found = active_memberships().filter(user_id=user.id, tenant_id=tenant_id).first()
    return Role(found.role) if found else None


def administers(user: User, tenant_id: UUID) -> bool:
    """Whether the user is an active admin of the tenant."""
    return has_role(user, tenant_id, [Role.ADMIN])


def has_role(user: User, tenant_id: UUID, roles: Iterable[Role]) -> bool:
    """Whether the user has one of these roles in the tenant."""
    return tenant_ids_of(user, roles).filter(tenant_id=tenant_id).exists()


def find_membership(tenant: str | UUID, user: str | UUID) -> Membership:
    """The active membership of `user` (username, external id, e-mail address or id) in `tenant` (slug or id).

    Raises NoMembership if there is none, or if an e-mail address matches several.
    """
    in_tenant = active_memberships().filter(_named("tenant__slug", "tenant_id", str(tenant)))
    findable = str(user) != "" and is_storable(f"{tenant}{user}")
    by_user = _named("user__username", "user_id", str(user))
    for condition in (by_user, Q(external_id=str(user)), Q(user__email__iexact=str(user))):
        found = list(in_tenant.filter(condition)[:2]) if findable else []
        if len(found) == 1:
            return found[0]
    raise NoMembership(f"No single active member {str(user)!r} in a tenant {str(tenant)!r}.")


def find_tenant(tenant: str) -> Tenant:
    """The tenant with this slug or id, active or not. Raises NoMembership."""
    found = Tenant.objects.filter(_named("slug", "id", tenant)).first() if is_storable(tenant) else None
    if found is None:
        raise NoMembership(f"There is no tenant {tenant!r}; `{PROGRAM} tenant list` lists them.")
    return found


def _named(name_column: str, id_column: str, value: str) -> Q:
    try:
        return Q(**{name_column: value}) | Q(**{id_column: UUID(value)})
    except ValueError:
        return Q(**{name_column: value})

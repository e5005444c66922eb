"""Which tenants a page of staff is about: those that the reader may see, or the one of them that they chose.

Invariant: a tenant of others is as one that does not exist.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.http import Http404, HttpRequest

from tenants.admin.scoping import signed_in
from tenants.models import Tenant
from tenants.principal import Role
from tenants.selectors import memberships_of

SHARED_NAME = "Shared by all tenants"


@dataclass(frozen=True, slots=True)
class Scope:
    """The tenants that may be shown, by name; `everything`: also what belongs to none. `chosen`: one of them.

    `roles` are the reader's own, by tenant; a superuser needs none.
    """

    tenants: tuple[Tenant, ...]
    everything: bool = False
    chosen: Tenant | None = None
    roles: Mapping[UUID, Role] = field(default_factory=dict)

    @property
    def shown(self) -> tuple[Tenant, ...]:
        """The chosen one, or all."""
        return self.tenants if self.chosen is None else (self.chosen,)

    @property
    def names(self) -> dict[UUID | None, str]:
        """Of what is shown."""
        names: dict[UUID | None, str] = {tenant.id: tenant.name for tenant in self.shown}
        return names | {None: SHARED_NAME} if self.everything and self.chosen is None else names

    @property
    def count(self) -> int:
        """How many tenants are shown or could be."""
        return len(self.shown)

    def within(self, roles: Sequence[Role]) -> Collection[UUID] | None:
        """The shown tenants where the reader has one of `roles`; None: every tenant there is, for a superuser."""
        if self.everything:
            return None if self.chosen is None else (self.chosen.id,)
        return tuple(tenant.id for tenant in self.shown if self.roles.get(tenant.id) in roles)


def scope_of(request: HttpRequest, roles: Sequence[Role]) -> Scope:
    """The tenants where the reader has one of `roles`, or the one that `?tenant=` names by its slug. Raises Http404."""
    user = signed_in(request)
    own: dict[UUID, Role] = {}
    if user.is_superuser:
        tenants = tuple(Tenant.objects.filter(is_active=True))
    else:
        memberships = list(memberships_of(user).filter(role__in=[role.value for role in roles]))
        own = {each.tenant_id: Role(each.role) for each in memberships}
        tenants = tuple(each.tenant for each in memberships)
    slug = request.GET.get("tenant", "")
    chosen = next((tenant for tenant in tenants if tenant.slug == slug), None)
    if slug and chosen is None:
        raise Http404
    if chosen is None and len(tenants) == 1 and not user.is_superuser:
        (chosen,) = tenants
    return Scope(tenants, everything=user.is_superuser, chosen=chosen, roles=own)

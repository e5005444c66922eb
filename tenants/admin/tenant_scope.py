"""Which tenants a page of staff is about: those that the reader may see together, or one of them that an address names.

An address names a tenant by `?tenant=` and its slug, or its id, as older links do; `platform` is what belongs to no
tenant, for whoever runs the platform. Pages of sums show all tenants unless one is named (`scope_of`), trails and
histories one at a time (`one_of`).

Invariant: a tenant of others is as one that does not exist.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.http import Http404, HttpRequest

from tenants.admin.scoping import signed_in, tenants_within
from tenants.models import Tenant
from tenants.principal import Role
from tenants.selectors import memberships_of

PARAMETER = "tenant"
PLATFORM = "platform"
SHARED_NAME = "Shared by all tenants"
PLATFORM_NAME = "The platform itself"


@dataclass(frozen=True, slots=True)
class Scope:
    """The tenants that may be shown, by name; `everything`: also what belongs to none. `chosen`: one of them.

    `roles` are the reader's own, by tenant; a superuser needs none. `together`: all are shown where none is chosen.
    """

    tenants: tuple[Tenant, ...]
    everything: bool = False
    chosen: Tenant | None = None
    roles: Mapping[UUID, Role] = field(default_factory=dict)
    together: bool = True

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

    @property
    def may_choose(self) -> bool:
        """Whether there is anything else to show."""
        return self.everything or len(self.tenants) > 1

    @property
    def choices(self) -> list[tuple[str, Tenant]]:
        """The tenants, as an address names each."""
        return [(address_of(tenant), tenant) for tenant in self.tenants]

    @property
    def address(self) -> str:
        """How an address names what is shown; empty: all together."""
        return "" if self.chosen is None and self.together else address_of(self.chosen)

    def within(self, roles: Sequence[Role]) -> Collection[UUID] | None:
        """The shown tenants where the reader has one of `roles`; None: every tenant there is, for a superuser."""
        if self.everything:
            return None if self.chosen is None else (self.chosen.id,)
        return tuple(tenant.id for tenant in self.shown if self.roles.get(tenant.id) in roles)


def scope_of(request: HttpRequest, roles: Sequence[Role]) -> Scope:
    """The active tenants where the reader has one of `roles`, all together or the one that is named. Raises Http404."""
    user = signed_in(request)
    own: dict[UUID, Role] = {}
    if user.is_superuser:
        tenants = tuple(Tenant.objects.filter(is_active=True))
    else:
        memberships = list(memberships_of(user).filter(role__in=[role.value for role in roles]))
        own = {each.tenant_id: Role(each.role) for each in memberships}
        tenants = tuple(each.tenant for each in memberships)
    chosen = None
    if named := request.GET.get(PARAMETER, ""):
        chosen = _named(tenants, named)
    elif len(tenants) == 1 and not user.is_superuser:
        (chosen,) = tenants
    return Scope(tenants, everything=user.is_superuser, chosen=chosen, roles=own)


def one_of(request: HttpRequest, roles: Sequence[Role], asked: Mapping[str, str] | None = None) -> Scope:
    """One tenant at a time: the one named in `asked` (by default the address), else the first. Raises Http404.

    A superuser may choose deactivated ones as well; with none `chosen`, it is what belongs to no tenant.
    """
    user = signed_in(request)
    tenants = tuple(tenants_within(user, roles))
    named = (request.GET if asked is None else asked).get(PARAMETER, "").strip()
    if not named and tenants:
        chosen: Tenant | None = tenants[0]
    elif user.is_superuser and named in ("", PLATFORM):
        chosen = None
    else:
        chosen = _named(tenants, named)
    return Scope(tenants, everything=user.is_superuser, chosen=chosen, together=False)


def address_of(tenant: Tenant | None) -> str:
    """How an address names a tenant, or what belongs to none."""
    if tenant is None:
        return PLATFORM
    return tenant.slug if tenant.slug != PLATFORM else str(tenant.pk)


def _named(tenants: Sequence[Tenant], named: str) -> Tenant:
    """Raises Http404."""
    for tenant in tenants:
        if named in (tenant.slug, str(tenant.pk)):
            return tenant
    raise Http404

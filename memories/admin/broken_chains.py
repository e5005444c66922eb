"""The page of chains that do not verify: whose each is, which proof failed and why, and the pages that show it.

Invariant: a reader sees chains of tenants where they audit, all of them together or one; no word of any memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from memories.admin.history_list import SHARED, chain_address
from memories.selectors.history.chains import BrokenChain, Named, broken_chains, named_by
from tenants.admin.audit_event import Badge
from tenants.admin.scoping import PARAMETER, PLATFORM_NAME, address_of, roles_held, scope_of, signed_in
from tenants.models import AuditEvent, Checked, Membership, Tenant
from tenants.principal import AUDITS


@dataclass(frozen=True, slots=True)
class Broken:
    """A chain: whose, where, its failed proofs, and where it can be looked at in words and addresses."""

    whose: str
    tenant: str
    badges: tuple[Badge, ...]
    links: tuple[tuple[str, str], ...]


def broken_page(request: HttpRequest) -> dict[str, Any]:
    """What the page shows. Raises Http404 for a tenant of others, PermissionDenied for who audits nowhere."""
    if not signed_in(request).is_superuser and roles_held(request).isdisjoint(AUDITS):
        raise PermissionDenied
    scope = scope_of(request, AUDITS)
    found = broken_chains(scope.within(AUDITS))
    return {"title": "Chains that do not verify", "scope": scope, "chains": _lines(found)}


def _lines(found: Sequence[BrokenChain]) -> list[Broken]:
    tenants = Tenant.objects.in_bulk({each.tenant_id for each in found if each.tenant_id})
    people = _people(found)
    checks = [check for each in found for check in each.checks]
    named = named_by(checks)
    bad = {check.event_id for check in checks if check.event_id}
    there = set(AuditEvent.objects.filter(pk__in=bad).order_by().values_list("pk", "chain")) if bad else set()
    return [_line(each, tenants, people, named, there) for each in found]


def _people(found: Sequence[BrokenChain]) -> dict[tuple[UUID | None, UUID], str]:
    """Members as they are called, by tenant and user."""
    users = {each.user_id for each in found if each.user_id}
    within = {each.tenant_id for each in found if each.user_id}
    if not users:
        return {}
    members = Membership.objects.filter(tenant_id__in=within, user_id__in=users).select_related("user")
    return {(member.tenant_id, member.user_id): member.user.speaker for member in members}


def _line(
    each: BrokenChain,
    tenants: Mapping[UUID, Tenant],
    people: Mapping[tuple[UUID | None, UUID], str],
    named: Mapping[int, Named],
    there: set[tuple[UUID, str]],
) -> Broken:
    tenant = tenants.get(each.tenant_id) if each.tenant_id else None
    if each.user_id:
        whose = people.get((each.tenant_id, each.user_id)) or f"Member {str(each.user_id)[:8]}"
    else:
        whose = "What the tenant shares, and its own affairs" if each.tenant_id else PLATFORM_NAME
    badges = tuple(
        Badge(
            Checked(check.what),
            check,
            bad_event_url=reverse("admin:tenants_auditevent_change", args=[check.event_id])
            if (check.event_id, check.chain) in there
            else "",
        )
        for check in each.checks
    )
    return Broken(whose, tenant.name if tenant else "", badges, tuple(_links(each, tenant, named)))


def _links(each: BrokenChain, tenant: Tenant | None, named: Mapping[int, Named]) -> Iterator[tuple[str, str]]:
    if each.tenant_id and tenant is None:
        return  # of a tenant that is gone
    asked = {PARAMETER: address_of(tenant)}
    for check in each.checks:
        if check.what == Checked.AUDIT:
            member = {"member": str(each.user_id)} if each.user_id else {}
            yield "Its trail", f"{reverse('admin:tenants_auditevent_changelist')}?{urlencode(asked | member)}"
            continue
        if memory := named.get(check.pk):
            yield "The history that it names", chain_address(memory.kind, memory.id)
        whose = {"member": str(each.user_id or SHARED), "all": "1"}
        yield "All histories", f"{reverse('admin:memories_history_changelist')}?{urlencode(asked | whose)}"

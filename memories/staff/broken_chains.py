"""The chains that do not verify: whose each is, which verification failed and why, and the pages that show it.

A reader sees chains of the tenants where they audit, all together or one; no word of any memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.http import urlencode

from memories.selectors.history.chains import BrokenChain, NamedMemory, broken_chains, named_by
from memories.staff.base import StaffView
from memories.staff.history import history_url
from memories.staff.history_list import SHARED
from tenants.admin.audit_event import Badge
from tenants.admin.scoping import PARAMETER, PLATFORM_NAME, address_of, scope_of
from tenants.models import AuditEvent, Checked, Membership, Tenant
from tenants.principal import AUDITS


class BrokenChains(StaffView):
    """The list; `?tenant=` narrows it to one. Raises Http404 for a tenant of others."""

    roles = AUDITS
    title = "Chains that do not verify"
    template_name = "admin/memories/history/broken.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        scope = scope_of(request, AUDITS)
        return self.render(scope=scope, chains=_lines(broken_chains(scope.within(AUDITS))))


def _lines(found: Sequence[BrokenChain]) -> list[dict[str, Any]]:
    """Whose each chain is, its failed verifications as badges, and links."""
    tenants = Tenant.objects.in_bulk({each.tenant_id for each in found if each.tenant_id})
    people = _people(found)
    checks = [check for each in found for check in each.checks]
    named = named_by(checks)
    bad = {check.event_id for check in checks if check.event_id}
    there = set(AuditEvent.objects.filter(pk__in=bad).order_by().values_list("pk", "chain")) if bad else set()
    lines = []
    for each in found:
        tenant = tenants.get(each.tenant_id) if each.tenant_id else None
        if each.user_id:
            whose = people.get((each.tenant_id, each.user_id)) or f"Member {str(each.user_id)[:8]}"
        else:
            whose = "What the tenant shares, and its own affairs" if each.tenant_id else PLATFORM_NAME
        badges = []
        for check in each.checks:
            exists = (check.event_id, check.chain) in there
            url = reverse("admin:tenants_auditevent_change", args=[check.event_id]) if exists else ""
            badges.append(Badge(Checked(check.what), check, bad_event_url=url))
        links = list(_links(each, tenant, named))
        lines.append({"whose": whose, "tenant": tenant.name if tenant else "", "badges": badges, "links": links})
    return lines


def _people(found: Sequence[BrokenChain]) -> dict[tuple[UUID | None, UUID], str]:
    """Members as they are called, by tenant and user."""
    users = {each.user_id for each in found if each.user_id}
    within = {each.tenant_id for each in found if each.user_id}
    if not users:
        return {}
    members = Membership.objects.filter(tenant_id__in=within, user_id__in=users).select_related("user")
    return {(member.tenant_id, member.user_id): member.user.speaker for member in members}


def _links(each: BrokenChain, tenant: Tenant | None, named: Mapping[int, NamedMemory]) -> Iterator[tuple[str, str]]:
    if each.tenant_id and tenant is None:
        return  # of a tenant that is gone
    asked = {PARAMETER: address_of(tenant)}
    for check in each.checks:
        if check.what == Checked.AUDIT:
            member = {"member": str(each.user_id)} if each.user_id else {}
            yield "Its audit log", f"{reverse('admin:tenants_auditevent_changelist')}?{urlencode(asked | member)}"
            continue
        if memory := named.get(check.pk):
            yield "The history that it names", history_url(memory.kind, memory.id)
        whose = {"member": str(each.user_id or SHARED), "all": "1"}
        yield "All histories", f"{reverse('staff:histories')}?{urlencode(asked | whose)}"

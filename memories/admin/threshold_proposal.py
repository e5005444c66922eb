"""Recall thresholds that recorded use speaks for: to look at, to apply, to dismiss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from memories.errors import MemoriesError
from memories.models import ThresholdProposal
from memories.services.tuning import apply_proposal, dismiss_proposal
from tenants.admin.scoping import TenantScopedAdmin, acting
from tenants.errors import TenantsError
from tenants.principal import Actor

_SHOWN = ("tenant", "value", "previous", "reason", "state", "considered", "created_at", "applied_at", "dismissed_at")
_Decide = Callable[[Actor, UUID, int], ThresholdProposal]


@admin.register(ThresholdProposal)
class ThresholdProposalAdmin(TenantScopedAdmin[ThresholdProposal]):
    """Proposals are made by `manage.py tune_recall`; here they are decided."""

    empty_words = "Once recorded recalls speak for another threshold, it is proposed here."
    list_display = ["tenant", "value", "previous", "reason", "state", "created_at"]
    list_select_related = ["tenant"]
    fields = _SHOWN
    readonly_fields = _SHOWN
    actions = ["apply", "dismiss"]

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002 - data propose, not people
        return False

    @admin.display(description="state")
    def state(self, proposal: ThresholdProposal) -> str:
        """Where the decision stands."""
        if proposal.applied_at:
            return "applied"
        if proposal.dismissed_at:
            return "dismissed"
        return "nothing to decide" if proposal.value is None else "to be decided"

    @admin.display(description="values considered")
    def considered(self, proposal: ThresholdProposal) -> SafeString:
        """Why: what each value had kept and left out."""
        evidence: dict[str, Any] = proposal.evidence
        rows = [(f"{each['value']:g}", each["kept"], each["cut"]) for each in evidence.get("values", ())]
        body = format_html_join("", "<tr><td>{}</td><td>{}</td><td>{}</td></tr>", rows)
        head = f"used kept, of {evidence.get('used', 0)}", f"ignored left out, of {evidence.get('ignored', 0)}"
        return format_html("<table><tr><th>threshold</th><th>{}</th><th>{}</th></tr>{}</table>", *head, body)

    @admin.action(description="Apply the selected proposal")
    def apply(self, request: HttpRequest, queryset: QuerySet[ThresholdProposal]) -> None:
        self._decide(request, queryset, _apply, "is the threshold of")

    @admin.action(description="Dismiss the selected proposals")
    def dismiss(self, request: HttpRequest, queryset: QuerySet[ThresholdProposal]) -> None:
        self._decide(request, queryset, _dismiss, "is dismissed for")

    def _decide(self, request: HttpRequest, chosen: QuerySet[ThresholdProposal], decide: _Decide, outcome: str) -> None:
        """`chosen` are among the rows in scope; what a service refuses is said."""
        for proposal in chosen.select_related("tenant"):
            try:
                decide(acting(request), proposal.tenant_id, proposal.pk)
            except (MemoriesError, TenantsError) as error:
                self.message_user(request, str(error), messages.ERROR)
            else:
                value = "No value" if proposal.value is None else f"{proposal.value:g}"
                self.message_user(request, f"{value} {outcome} {proposal.tenant}.", messages.SUCCESS)


def _apply(actor: Actor, tenant_id: UUID, proposal_id: int) -> ThresholdProposal:
    return apply_proposal(actor, tenant_id=tenant_id, proposal_id=proposal_id)


def _dismiss(actor: Actor, tenant_id: UUID, proposal_id: int) -> ThresholdProposal:
    return dismiss_proposal(actor, tenant_id=tenant_id, proposal_id=proposal_id)

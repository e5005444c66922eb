"""The admin's list of proposed recall thresholds, where they are applied or dismissed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from memories.models import ThresholdProposal
from memories.presenting.reasons import reason_words
from memories.services.policies import apply_proposal, dismiss_proposal
from memories.staff.base import REFUSALS
from memoryhub.languages import gettext_lazy, number
from tenants.admin.scoping import TenantScopedAdmin, acting

_SHOWN = ("tenant", "value", "previous", "why", "state", "considered", "created_at", "applied_at", "dismissed_at")
_Decide = Callable[..., ThresholdProposal]


@admin.register(ThresholdProposal)
class ThresholdProposalAdmin(TenantScopedAdmin[ThresholdProposal]):
    """Recall thresholds proposed by the job or by `manage.py tune_recall`.

    Open ones are applied or dismissed here.
    """

    empty_words = gettext_lazy("A proposal appears here once recorded recalls favour another threshold.")
    list_display = ["tenant", "value", "previous", "why", "state", "created_at"]
    list_select_related = ["tenant"]
    fields = _SHOWN
    readonly_fields = _SHOWN
    actions = ["apply", "dismiss"]

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002 - proposals come from data, not people
        return False

    def save_model(self, request: HttpRequest, obj: ThresholdProposal, form: Any, change: bool) -> None:  # noqa: ARG002, FBT001
        """Apply or dismiss, as the pressed button says; nothing else of a proposal changes."""
        chosen = self.model.objects.filter(pk=obj.pk)
        match request.POST.get("_decide"):
            case "apply":
                self.apply(request, chosen)
            case "dismiss":
                self.dismiss(request, chosen)

    def response_change(self, request: HttpRequest, obj: ThresholdProposal) -> HttpResponse:  # noqa: ARG002
        return redirect("admin:memories_thresholdproposal_changelist")

    @admin.display(description=gettext_lazy("reason"))
    def why(self, proposal: ThresholdProposal) -> str:
        """The reason in the language of the page."""
        return reason_words(proposal.reason)

    @admin.display(description=gettext_lazy("state"))
    def state(self, proposal: ThresholdProposal) -> str:
        """The state of the proposal in a word or two."""
        if proposal.applied_at:
            return _("applied")
        if proposal.dismissed_at:
            return _("dismissed")
        return _("nothing to decide") if proposal.value is None else _("to be decided")

    @admin.display(description=gettext_lazy("values considered"))
    def considered(self, proposal: ThresholdProposal) -> SafeString:
        """The evidence as a table: how many used memories each value keeps, and how many ignored ones it leaves out."""
        evidence: dict[str, Any] = proposal.evidence
        rows = [[number(each[name]) for name in ("value", "kept", "cut")] for each in evidence.get("values", ())]
        body = format_html_join("", "<tr><td>{}</td><td>{}</td><td>{}</td></tr>", rows)
        head = (
            _("threshold"),
            _("used kept, of %(count)s") % {"count": number(evidence.get("used", 0))},
            _("ignored left out, of %(count)s") % {"count": number(evidence.get("ignored", 0))},
        )
        return format_html("<table><tr><th>{}</th><th>{}</th><th>{}</th></tr>{}</table>", *head, body)

    @admin.action(description=gettext_lazy("Apply the selected proposal"))
    def apply(self, request: HttpRequest, queryset: QuerySet[ThresholdProposal]) -> None:
        self._decide(request, queryset, apply_proposal, _("{value} is the threshold of {tenant}."))

    @admin.action(description=gettext_lazy("Dismiss the selected proposals"))
    def dismiss(self, request: HttpRequest, queryset: QuerySet[ThresholdProposal]) -> None:
        self._decide(request, queryset, dismiss_proposal, _("The proposal for {tenant} was dismissed."))

    def _decide(self, request: HttpRequest, chosen: QuerySet[ThresholdProposal], decide: _Decide, outcome: str) -> None:
        """Call `decide` on each chosen proposal, and show results and refusals as messages."""
        for proposal in chosen.select_related("tenant"):
            try:
                decide(acting(request), tenant_id=proposal.tenant_id, proposal_id=proposal.pk)
            except REFUSALS as error:
                self.message_user(request, str(error), messages.ERROR)
            else:
                value = "" if proposal.value is None else number(proposal.value)
                told = outcome.format(value=value, tenant=proposal.tenant)
                self.message_user(request, told, messages.SUCCESS)

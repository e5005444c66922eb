"""Pages of auditors about a period: what was superseded by the audit log and by the rows, and reports.

A report is the event that records it: the page and the PDF read the audit log again, as far as it was at that time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from memories.errors import InvalidInput
from memories.models import Fact
from memories.presenting.lines import in_utc, state_word
from memories.presenting.pdf import report_pdf
from memories.selectors.audit_report import report_of
from memories.selectors.history.superseded import (
    ENDED_ACTIONS,
    Difference,
    EndedState,
    compare_superseded,
    counted_by_difference,
)
from memories.services.audit_reports import make_report, period_of
from memories.staff.base import StaffView, TenantObjectView
from memories.staff.history import history_url
from memories.types import Kind
from memoryhub.languages import in_english
from tenants.admin.audit_event import alarms, one_tenant
from tenants.admin.scoping import PARAMETER, TenantScope, address_of, one_of
from tenants.audit.actions import action_words
from tenants.audit.listing import REPORTED, AuditFilter, end_of_last_report, read_filter
from tenants.audit.sentences import actor_names, names_of_members
from tenants.errors import InvalidValue
from tenants.models import AuditEvent, Tenant
from tenants.principal import AUDITS

_REPORTS_LISTED = 50
# Each with the time of the end, of the event or of the erasure.
_WHY = {
    Difference.ENDED_BEFORE: gettext_lazy("Recorded in this period, but it ended before it: %(at)s."),
    Difference.ENDED_AFTER: gettext_lazy("Recorded in this period, but it ends after it: %(at)s."),
    Difference.RECORDED_BEFORE: gettext_lazy("Ended in this period, but recorded before it: %(at)s."),
    Difference.RECORDED_AFTER: gettext_lazy("Ended in this period, but recorded after it: %(at)s."),
    Difference.ENDED_AGAIN: gettext_lazy("Ended again later: %(at)s."),
    Difference.ERASED: gettext_lazy("Erased since: %(at)s."),
    Difference.IMPORTED: gettext_lazy("Imported as already ended; the import was recorded: %(at)s."),
    Difference.NOT_ENDED: gettext_lazy("Recorded as ended, but the memory says that it has not."),
    Difference.ROW_MISSING: gettext_lazy("The memory is not there, and no event records its erasure."),
    Difference.EVENT_MISSING: gettext_lazy("No event records that it was written or ended."),
}
_COUNTED = {
    Difference.ENDED_BEFORE: gettext_lazy("ended before the period"),
    Difference.ENDED_AFTER: gettext_lazy("end after the period"),
    Difference.RECORDED_BEFORE: gettext_lazy("recorded before the period"),
    Difference.RECORDED_AFTER: gettext_lazy("recorded after the period"),
    Difference.ENDED_AGAIN: gettext_lazy("ended again since"),
    Difference.ERASED: gettext_lazy("erased since"),
    Difference.IMPORTED: gettext_lazy("imported as ended"),
    Difference.NOT_ENDED: gettext_lazy("recorded as ended, but not ended"),
    Difference.ROW_MISSING: gettext_lazy("missing without an erasure"),
    Difference.EVENT_MISSING: gettext_lazy("without an event"),
}


class AuditPage(StaffView):
    """Base of the pages of one tenant that its auditors open."""

    roles = AUDITS

    def scope(self, asked: Mapping[str, str] | None = None) -> TenantScope:
        """The chosen tenant. Raises Http404."""
        return one_of(self.request, AUDITS, asked)

    def period(self, tenant: Tenant, asked: Mapping[str, str]) -> AuditFilter:
        """The period and member of a form. Raises InvalidValue."""
        wanted = read_filter(tenant.pk, {name: asked.get(name, "") for name in ("member", "since", "until")})
        if wanted.since is None:
            raise InvalidValue("since", _("Give the first day of the period."))
        if wanted.until is None:
            raise InvalidValue("until", _("Give the last day of the period."))
        return wanted

    def fault(self, error: InvalidValue | InvalidInput) -> dict[str, Any]:
        """Context of a field that is wrong."""
        labels = {"member": _("Member"), "since": _("From"), "until": _("To"), "tenant": _("Organisation")}
        return {"fault": f"{labels.get(error.field, error.field)}: {error.reason}", "fault_field": error.field}


class Superseded(AuditPage):
    """The states that ended in a period, by the audit log and by the rows, with the reason for each difference."""

    title = gettext_lazy("Superseded")
    template_name = "admin/memories/audit/superseded.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        scope = self.scope()
        last = (timezone.localtime().replace(day=1) - timedelta(days=1)).strftime("%Y-%m")
        asked = {name: request.GET.get(name, "").strip() for name in ("member", "since", "until")}
        if not (asked["since"] or asked["until"]):
            asked |= {"since": last, "until": last}
        context: dict[str, Any] = {"scope": scope, "asked": asked}
        if scope.chosen is None:
            return self.render(**context)
        try:
            wanted = self.period(scope.chosen, asked)
        except InvalidValue as error:
            return self.render(**context, **self.fault(error))
        return self.render(**context, **self._compared(scope.chosen, wanted))

    def _compared(self, tenant: Tenant, wanted: AuditFilter) -> dict[str, Any]:
        since, until = wanted.since or timezone.now(), wanted.until or timezone.now()
        found = compare_superseded(tenant.pk, since=since, until=until, user_id=wanted.member)
        names = names_of_members(tenant.pk, sorted({str(each.owner_id) for each in found.states if each.owner_id}))
        exact = {PARAMETER: address_of(tenant), "since": since.isoformat()}
        exact |= {"member": str(wanted.member)} if wanted.member else {}
        lists = {
            _("Facts"): {**exact, "until": until.isoformat()},
            _("How-tos"): {**exact, "until": until.isoformat(), "kind": Kind.PROCEDURAL.value},
        }
        alarming = sum(each.alarming for each in found.states)
        shouted = [
            _("Do not rely on this page: something was changed outside memoryhub."),
            ngettext(
                "%(count)s of these states is not accounted for.",
                "%(count)s of these states are not accounted for.",
                alarming,
            )
            % {"count": alarming},
        ]
        return {
            "found": found,
            "since": since,
            "until": until,
            "alarms": shouted if alarming else alarms([]),
            "counts": [(_COUNTED[why], count) for why, count in counted_by_difference(found.states).items()],
            "lines": list(_lines(found.states, names)),
            "log_urls": list(_log_urls({**exact, "until": until.isoformat()})),
            "history_urls": [(words, f"{reverse('staff:histories')}?{urlencode(to)}") for words, to in lists.items()],
        }


def _log_urls(exact: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    base = reverse("admin:tenants_auditevent_changelist")
    yield _("All"), f"{base}?{urlencode({**exact, 'action': ','.join(ENDED_ACTIONS)})}"


def _lines(states: tuple[EndedState, ...], names: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for each in states:
        why = ""
        if each.difference:
            why = _WHY[each.difference] % {"at": in_utc(each.explained_at) if each.explained_at else ""}
        key = each.row.key.replace("_", " ") if isinstance(each.row, Fact) else ""
        yield {
            "state": each,
            "what": key or (_("a fact") if each.kind is Kind.SEMANTIC else _("a how-to")),
            "whose": names.get(str(each.owner_id)) if each.owner_id else _("shared"),
            "how": _outcome(each),
            "url": history_url(each.kind, each.memory_id) if each.row else "",
            "event_url": reverse("admin:tenants_auditevent_change", args=[each.event.pk]) if each.event else "",
            "why": why,
        }


def _outcome(state: EndedState) -> str:
    """How a state ended, in the words of its history; of one that is gone, in those of its event."""
    if state.row and state.row.superseded_at:
        return state_word(state.row)
    return action_words(state.event.action).partition(" ")[2] if state.event else ""


class AuditReports(AuditPage):
    """The form for a report, and the reports that were made; a POST makes one."""

    title = gettext_lazy("Reports")
    template_name = "admin/memories/audit/reports.html"

    def get(self, request: HttpRequest) -> HttpResponse:  # noqa: ARG002
        return self._shown(self.scope())

    def post(self, request: HttpRequest) -> HttpResponse:
        scope = self.scope(request.POST)
        try:
            tenant = one_tenant(scope)
            wanted = self.period(tenant, request.POST)
            since, last = wanted.since or timezone.now(), end_of_last_report(tenant.pk)
            if last and since == last.replace(microsecond=0):  # as the form shows it
                since = last
            event = make_report(
                self.staff, self.actor, tenant.pk, since=since, until=wanted.until or timezone.now()
            )  # fmt: skip
        except (InvalidValue, InvalidInput) as error:
            return self._shown(scope, **self.fault(error))
        return HttpResponseRedirect(reverse("staff:audit_report", args=[event.pk]))

    def _shown(self, scope: TenantScope, **fault: Any) -> HttpResponse:
        last = end_of_last_report(scope.chosen.pk) if scope.chosen else None
        today = timezone.localtime()
        default = in_utc(last) if last else today.replace(day=1).strftime("%Y-%m-%d")
        given = self.request.POST
        asked = {"since": given.get("since", default), "until": given.get("until", today.strftime("%Y-%m-%d"))}
        found = AuditEvent.objects.filter(action=REPORTED, tenant_id=scope.chosen.pk if scope.chosen else None)
        events = list(found.select_related("payload").order_by("-created_at", "-sequence")[:_REPORTS_LISTED])
        names = actor_names(scope.chosen.pk if scope.chosen else None, events)
        reports = [(event, names.who(event), period_of(event)) for event in events]
        return self.render(scope=scope, asked=asked, reports=reports, last=last, **fault)


class AuditReportPage(TenantObjectView[AuditEvent]):
    """A report as a page; `as_pdf` serves the file."""

    roles = AUDITS
    title = gettext_lazy("Audit report")
    template_name = "admin/memories/audit/report.html"
    http_method_names = ["get", "head"]
    as_pdf = False

    def rows(self) -> QuerySet[AuditEvent]:
        return AuditEvent.objects.filter(action=REPORTED).exclude(tenant_id=None).select_related("payload")

    def get(self, request: HttpRequest, **__: object) -> HttpResponse:  # noqa: ARG002
        report, period = self.object, period_of(self.object)
        if period is None or report.tenant_id is None:
            raise Http404
        since, until = period
        tenant = Tenant.objects.get(pk=report.tenant_id)
        with in_english() if self.as_pdf else nullcontext():
            sections = report_of(tenant.pk, since=since, until=until, made_at=report.created_at)
            who = capfirst(actor_names(tenant.pk, [report]).who(report))
        if self.as_pdf:
            content = report_pdf(
                sections, whose=tenant.name, since=since, until=until, made_by=who, made_at=report.created_at
            )
            return pdf_answer(content, f"memoryhub-report-{tenant.slug}-{since:%Y-%m-%d}.pdf")
        return self.render(
            scope=one_of(self.request, AUDITS, {PARAMETER: str(tenant.pk)}),
            report=report,
            tenant=tenant,
            since=since,
            until=until,
            who=who,
            sections=[(section, [_line(line) for line in section.lines]) for section in sections],
            alarms=alarms([]),
        )


def _line(line: Any) -> dict[str, Any]:
    url = reverse("admin:tenants_auditevent_change", args=[line.event_id]) if line.event_id else ""
    return {"line": line, "url": url}


def pdf_answer(content: bytes, name: str) -> HttpResponse:
    """A PDF as a download that no proxy stores."""
    return HttpResponse(
        content,
        "application/pdf",
        headers={"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"},
    )

"""The metrics page: the alerts that fire, and a chart of each metric for the tenants in scope. It reads no memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from memories.metrics import definitions as named
from memories.metrics.alert_definitions import ALERTS
from memories.metrics.alerts import LONGEST_GAP, AlertState, MetricReading
from memories.metrics.charting import FRAME, SPANS, USUAL_SPAN, Chart, Span, chart, condition, placed, shown, stepped
from memories.metrics.definitions import STAGES, TOTAL, Alert, Metric
from memories.metrics.sampling import Sampling, course, last_look, looks
from memories.staff.base import StaffView
from memories.staff.candidates import STAGE_TITLES
from memoryhub.languages import gettext_lazy
from tenants.admin.scoping import TenantScope, scope_of
from tenants.models import Tenant

# A reader can distinguish this many lines in a chart. The style after them is that of what no tenant has.
MOST_LINES = 5
MOST_LISTED = 50

GROUPS: Mapping[str, tuple[Metric, ...]] = {
    gettext_noop("Recall"): (
        *(named.HIT_RATIO, named.RECALLS, named.RECALL_P95, named.RECALL_P50, named.MEMORY_TOKENS, named.TURNS),
        *(named.RECALL_MODEL_TOKENS, named.STOOD_IN),
    ),
    gettext_noop("Writing"): (
        *(named.WRITES, named.REMEMBERED, named.DEDUP_RATIO, named.CONTRADICTIONS, named.BLOCKED, named.MASKED),
        *(named.EXPORTS, named.EXPORTS_REFUSED),
    ),
    gettext_noop("What is kept"): (named.STALENESS_P50, named.STALENESS_P95, named.SCORED_FACTS, named.OPEN_SCOPES),
    gettext_noop("Behind the answers"): (
        *(named.INDEX_LAG, named.INDEX_WAITING, named.CONSOLIDATION_LAG, named.WAITING_EPISODES),
        *(named.CONSOLIDATION_OVERDUE, named.CONSOLIDATION_FAILURES, named.CONSOLIDATION_COST, named.GIVEN_UP),
        *(named.RECORD_FINDINGS, named.ERASURES_FAILING, named.REFUSED_REQUESTS, named.UNLIMITED_REQUESTS),
        named.FAILED_SIGN_INS,
        *(named.WEBHOOK_LAG, named.WEBHOOKS_DISABLED),
    ),
}
_ALERT_OF = {alert.metric.name: alert for alert in ALERTS}


class Metrics(StaffView):
    """The metrics page; `?tenant=` takes a slug and `?span=` a key of SPANS.

    Tenant staff see their own tenants, superusers all.
    """

    title = gettext_lazy("Metrics")
    template_name = "admin/memories/metrics.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        scope = scope_of(request, self.roles)
        span = SPANS.get(request.GET.get("span", ""), USUAL_SPAN)
        context: dict[str, Any] = {"scope": scope, "span": span, "spans": list(SPANS.values()), "frame": FRAME}
        return self.render(**context, page=metrics_page(scope, span, timezone.localtime()))


def metrics_page(scope: TenantScope, span: Span, now: datetime) -> dict[str, Any]:
    """The context of the page as of `now`, in the reader's zone.

    `late` is true if the last sample is older than LONGEST_GAP, so that the state of the alerts is unknown.
    """
    names = scope.names
    look = last_look(None if scope.everything and scope.chosen is None else names)
    drawn = drawn_of(look, names)
    known = {standing.alert.name for standing in look.standings}
    return {
        "at": look.at,
        "late": look.at is not None and now - look.at > LONGEST_GAP,
        "alarms": [_alarm(each, names, scope) for each in look.standings[:MOST_LISTED]],
        "firing": sum(each.fires for each in look.standings),
        "pending": sum(not each.fires for each in look.standings),
        "more": max(0, len(look.standings) - MOST_LISTED),
        "quiet": [(alert, condition(alert), _lasting(alert)) for alert in ALERTS if alert.name not in known],
        "groups": [(_(title), charts) for title, charts in charts_of(GROUPS, scope, drawn, span, now, stages=True)]
        if look.at
        else (),
        "shown": list(drawn.values()),
        "hidden": scope.count - sum(1 for tenant_id in drawn if tenant_id),
    }


def drawn_of(look: Sampling, names: Mapping[UUID | None, str]) -> dict[UUID | None, str]:
    """At most MOST_LINES tenants to draw: those with alerts first, then the busiest."""
    busy: dict[UUID | None, float] = {}
    for metric in (named.WRITES, named.RECALLS, named.REMEMBERED, named.TURNS, named.INDEX_WAITING):
        for tenant_id in names:
            busy[tenant_id] = busy.get(tenant_id, 0.0) + look.readings.get(MetricReading(metric.name, tenant_id), 0.0)
    trouble = {each.tenant_id: (2 if each.fires else 1) for each in reversed(look.standings)}
    wanted = [each for each in names if each is not None or trouble.get(each) or busy[each]]
    order = sorted(wanted, key=lambda each: (-trouble.get(each, 0), -busy[each], each is None, names[each], str(each)))
    return {each: names[each] for each in order[:MOST_LINES]}


def styles_of(tenants: Iterable[Tenant], drawn: Collection[UUID | None]) -> dict[UUID | None, int]:
    """The style of each drawn tenant's lines, by its age among `tenants`, so that it is the same at every visit.

    Where two of more than MOST_LINES tenants have one style, the younger takes a free one.
    """
    free = list(range(1, MOST_LINES + 1))
    styles: dict[UUID | None, int] = {None: MOST_LINES + 1}
    for age, tenant in enumerate(sorted(tenants, key=lambda each: (each.created_at, each.pk))):
        if tenant.pk in drawn:
            own = age % MOST_LINES + 1
            styles[tenant.pk] = own if own in free else free[0]
            free.remove(styles[tenant.pk])
    return styles


def charts_of(
    groups: Mapping[str, tuple[Metric, ...]],
    scope: TenantScope,
    drawn: Mapping[UUID | None, str],
    span: Span,
    now: datetime,
    *,
    stages: bool,
) -> tuple[tuple[str, tuple[Chart, ...]], ...]:
    """Charts for groups of metrics, with one line for each tenant of `scope` in `drawn`; reads no other tenant.

    If `stages` is true and `drawn` has one tenant, a recall metric gets one line for each stage instead.
    """
    until = span.until(now)
    since = until - span.length
    taken = looks(since - timedelta(seconds=1), until)
    places = placed(taken, span, until)
    stages = stages and len(drawn) == 1
    labels = None if stages else ("", TOTAL)
    wanted = {metric.name for metrics in groups.values() for metric in metrics}
    styles = styles_of(scope.tenants, drawn)
    values = course(drawn, since - timedelta(seconds=1), until, labels, wanted)

    def charted(metric: Metric) -> Chart:
        alert = _ALERT_OF.get(metric.name)
        chosen = dict(_lines(metric, drawn, stages=stages))
        lines = {
            name: stepped(values.get(reading, {}), places, span, metric, alert) for name, reading in chosen.items()
        }
        latest = {
            name: values.get(reading, {}).get(taken[-1], metric.idle) if taken else None
            for name, reading in chosen.items()
        }
        own = (
            {}
            if stages and metric.label == "stage"
            else {name: styles[each.tenant_id] for name, each in chosen.items()}
        )
        return chart(metric, alert, lines, latest, span, timezone.localtime(until), own)

    return tuple((title, tuple(map(charted, metrics))) for title, metrics in groups.items())


def _lines(metric: Metric, drawn: Mapping[UUID | None, str], *, stages: bool) -> Iterable[tuple[str, MetricReading]]:
    """The name and the reading of each line of a chart: one for each stage, or one for each tenant."""
    if metric.label == "stage" and stages:
        (tenant_id,) = drawn
        titles = {**STAGE_TITLES, TOTAL: _("Total")}
        return [(str(titles[stage]), MetricReading(metric.name, tenant_id, stage)) for stage in reversed(STAGES)]
    label = TOTAL if metric.label else ""
    names = _told_apart(drawn)
    return [(names[tenant_id], MetricReading(metric.name, tenant_id, label)) for tenant_id in drawn]


def _told_apart(drawn: Mapping[UUID | None, str]) -> dict[UUID | None, str]:
    """The tenant names, with a number appended where a name repeats."""
    labels: dict[UUID | None, str] = {}
    for tenant_id, name in drawn.items():
        same = sum(1 for each in labels.values() if each.split(" (")[0] == name)
        labels[tenant_id] = f"{name} ({same + 1})" if same else name
    return labels


def _alarm(standing: AlertState, names: Mapping[UUID | None, str], scope: TenantScope) -> dict[str, Any]:
    """The context of an alert that fires or is pending."""
    alert = standing.alert
    slugs = {tenant.id: tenant.slug for tenant in scope.tenants}
    return {
        "alert": alert,
        "tenant": names.get(standing.tenant_id, ""),
        "slug": slugs.get(standing.tenant_id, "") if standing.tenant_id else "",
        "fires": standing.fires,
        "value": shown(standing.value, alert.metric.unit),
        "beyond": condition(alert),
        "since": standing.since,
        "do": _with_code(str(alert.do)),
    }


def _with_code(text: str) -> SafeString:
    """Render text between backticks as code."""
    parts = (("<code>{}</code>" if place % 2 else "{}", part) for place, part in enumerate(text.split("`")))
    return format_html_join("", "{}", ((format_html(shape, part),) for shape, part in parts))


def _lasting(alert: Alert) -> str:
    parts = []
    if alert.lasting:
        parts.append(_("for %(time)s") % {"time": shown(alert.lasting.total_seconds(), named.Unit.SECONDS)})
    if alert.at_least is not None:
        metric, minimum = alert.at_least
        least = {"metric": metric.title, "least": shown(minimum, metric.unit)}
        parts.append(_("with at least %(least)s of “%(metric)s”") % least)
    return ", ".join(parts)

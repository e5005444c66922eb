"""The first page of the admin: tasks that need attention, figures of the last week, and charts.

Each task counts only the tenants in which the reader's role is responsible for it, and links to a page that the reader
may open. The page shows totals and no text of a memory, so it writes no read event.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memories.metrics import definitions as named
from memories.metrics.alerts import LONGEST_GAP
from memories.metrics.charting import FRAME, USUAL_SPAN, Chart, Span, Value, chart, shown
from memories.metrics.definitions import ALERTS, INDEX_LAG, INDEX_WAITING, Metric, Severity, Unit
from memories.metrics.measuring import REPLACED
from memories.metrics.sampling import Sampling, last_look
from memories.selectors.staff import attention
from memories.selectors.staff.attention import Tenants, events_by_day
from memories.selectors.staff.conversations import kept_by_day
from memories.services.admin_requests import READINGS
from memories.staff.checklist import checklist_of
from memories.staff.metrics import charts_of, drawn_of
from memories.types import Kind
from memoryhub.elasticsearch import in_use
from tenants.admin.scoping import PARAMETER, PLATFORM_NAME, TenantScope, address_of, scope_of
from tenants.models import Membership, Tenant
from tenants.principal import AUDITS, READS_HISTORY, READS_MEMORY, Role

EXPORTS = ("memory.exported", "chain.exported", "audit.exported")
WEEK = timedelta(days=7)
MOST_ALERTS = 5
_NAMED = 3
# Seconds; a shorter index lag is normal.
_LATE = 60.0
_LAG_ALERTS = frozenset(alert.name for alert in ALERTS if alert.metric is INDEX_LAG)


@dataclass(frozen=True, slots=True)
class AttentionItem:
    """A task. `urgent` means now rather than today; `details` are (label, URL) of single cases."""

    words: str
    url: str
    action: str
    urgent: bool = False
    details: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    """A number and the URL of the page that lists what it counts.

    Where that page shows one tenant at a time, `parts` holds name, number and URL for each tenant instead.
    """

    title: str
    number: str
    url: str = ""
    parts: tuple[tuple[str, str, str], ...] = ()


def needs_of(scope: TenantScope, look: Sampling, now: datetime) -> list[AttentionItem]:
    """The tasks of the reader, urgent ones first."""
    found = [
        need
        for roles, source in _SOURCES
        if not _none(tenants := scope.within(roles))
        for need in source(scope, tenants, look, now)
    ]
    return sorted(found, key=lambda need: not need.urgent)


def figures_of(scope: TenantScope, now: datetime) -> list[Figure]:
    """The figures of the last week; empty for a reader who audits no tenant."""
    tenants = scope.within(AUDITS)
    if _none(tenants):
        return []
    # The URL of the list has minute precision, and the list must match the count.
    since = now.replace(second=0, microsecond=0) - WEEK
    return [
        _from_audit_log("Memories opened by staff", scope, READINGS, since),
        _from_audit_log("Exports made", scope, EXPORTS, since),
        Figure("Members erased", _number(attention.erasures_done(tenants, since)), _list("memories_erasurerequest")),
        Figure("Legal holds in force", _number(attention.holds_in_force(tenants)), _list("memories_legalhold")),
    ]


def _from_audit_log(title: str, scope: TenantScope, actions: Sequence[str], since: datetime) -> Figure:
    """A count of audit events. The log lists one tenant at a time, so each tenant with events gets its own link.

    Events of deleted tenants are not counted, because no page lists them.
    """
    counts = attention.events_by_tenant(scope.within(AUDITS), actions, since)
    asked = {"action": ",".join(actions), "since": timezone.localtime(since).isoformat(timespec="minutes")}
    listing = reverse("admin:tenants_auditevent_changelist")

    def listed(tenant: Tenant | None) -> str:
        return f"{listing}?{urlencode({PARAMETER: address_of(tenant)} | asked)}"

    if scope.chosen is not None:
        return Figure(title, f"{sum(counts.values()):,}", listed(scope.chosen))
    known: dict[UUID | None, Tenant | None] = {**Tenant.objects.in_bulk([each for each in counts if each]), None: None}
    found = [(known[each], count) for each, count in counts.items() if each in known]
    parts = ((each.name if each else PLATFORM_NAME, f"{count:,}", listed(each)) for each, count in found)
    return Figure(title, f"{sum(count for _, count in found):,}", parts=tuple(sorted(parts)))


def _reviews(scope: TenantScope, tenants: Tenants, _look: Sampling, now: datetime) -> Iterator[AttentionItem]:
    count = attention.open_reviews(tenants, now, shared=not scope.everything)
    if count:
        words = _many(count, "review needs a decision", "reviews need a decision")
        yield AttentionItem(words, _list("memories_reviewitem"), "Decide")


def _cases(_scope: TenantScope, tenants: Tenants, _look: Sampling, _now: datetime) -> Iterator[AttentionItem]:
    if count := attention.open_cases(tenants):
        words = ngettext("%(count)s case is open", "%(count)s cases are open", count) % {"count": _number(count)}
        yield AttentionItem(words, reverse("staff:cases") + "?state=open", _("Cases"))


def _turns(_scope: TenantScope, tenants: Tenants, _look: Sampling, _now: datetime) -> Iterator[AttentionItem]:
    today = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    count, turns = attention.troubled_turns(tenants, today, named=_NAMED)
    if not count:
        return
    owners = Membership.objects.select_related("user").filter(user__in={turn.user_id for turn in turns})
    known = {(each.tenant_id, each.user_id): each for each in owners}
    details = tuple(
        (
            f"{member.user.speaker}, turn {turn.number}",
            reverse("staff:turn", args=[member.pk, turn.session_id, turn.number]),
        )
        for turn in turns
        if (member := known.get((turn.tenant_id, turn.user_id)))
    )
    words = _many(count, "answer", "answers") + " failed or " + ("was" if count == 1 else "were")
    yield AttentionItem(
        f"{words} given without search today", _list("memories_membermemory"), "Members", details=details
    )


def _runs(_scope: TenantScope, tenants: Tenants, _look: Sampling, now: datetime) -> Iterator[AttentionItem]:
    given_up, count = attention.failed_runs(tenants, now - WEEK)
    if given_up:
        words = _many(given_up, "consolidation was", "consolidations were") + " given up this week, and nobody read "
        words += ("its" if given_up == 1 else "their") + " events again"
        url = f"{_list('memories_consolidationrun')}?outcome=given_up"
        yield AttentionItem(words, url, "Given up", urgent=True)
    if count:
        words = _many(count, "consolidation", "consolidations") + " failed this week and "
        words += ("was" if count == 1 else "were") + " not repeated"
        yield AttentionItem(words, f"{_list('memories_consolidationrun')}?outcome=failed", "Failed runs")


def _lag(_scope: TenantScope, tenants: Tenants, look: Sampling, _now: datetime) -> Iterator[AttentionItem]:
    """The index lag of the last sample, if above _LATE."""
    lags, waiting = (
        {each.tenant_id: value for each, value in look.readings.items() if each.metric == metric.name}
        for metric in (INDEX_LAG, INDEX_WAITING)
    )
    behind = {each: lag for each, lag in lags.items() if lag > _LATE and (tenants is None or each in tenants)}
    if behind:
        count, worst = sum(waiting.get(each, 0) for each in behind), max(behind.values())
        words = f"{_many(int(count), 'change waits', 'changes wait')} for the index, the oldest for "
        yield AttentionItem(
            words + shown(worst, Unit.SECONDS), _list("memories_outboxentry"), "Index and queue", worst > _LATE * 5
        )


def _set_aside(_scope: TenantScope, tenants: Tenants, _look: Sampling, _now: datetime) -> Iterator[AttentionItem]:
    if count := attention.set_aside(tenants):
        words = _many(count, "change was", "changes were") + " set aside, because the index does not take "
        url = f"{_list('memories_outboxentry')}?tried=set_aside"
        yield AttentionItem(words + ("it" if count == 1 else "them"), url, "Set aside", urgent=True)


def _chains(scope: TenantScope, tenants: Tenants, _look: Sampling, now: datetime) -> Iterator[AttentionItem]:
    found = attention.chains(tenants, now)
    if found.broken:
        words = _many(found.broken, "chain failed verification", "chains failed verification")
        chosen = f"?{urlencode({PARAMETER: scope.address})}" if scope.chosen else ""
        yield AttentionItem(words, reverse("staff:broken_chains") + chosen, "See which", urgent=True)
    if found.unchecked:
        words = f"{_number(found.unchecked)} of {_number(found.all)} chains have not been verified today"
        yield AttentionItem(words, _list("tenants_auditevent"), "Audit log")


def _erasures(_scope: TenantScope, tenants: Tenants, _look: Sampling, now: datetime) -> Iterator[AttentionItem]:
    asked, stopped, soon = attention.erasures(tenants, now)
    exports = attention.exports_asked(tenants)
    begun = [each for each in stopped if each.started_at is not None]
    waiting = [each for each in stopped if each.started_at is None]
    for found, one, several, action in (
        (asked, "erasure needs a second approval", "erasures need a second approval", "Decide"),
        (begun, "erasure is stuck", "erasures are stuck", "See why"),
        (waiting, "erasure was approved and cannot begin", "erasures were approved and cannot begin", "See why"),
        (soon, "erasure begins soon and can be withdrawn", "erasures begin soon and can be withdrawn", "Look at it"),
    ):
        links = [(each.membership.user.speaker, reverse("staff:erasure_request", args=[each.pk])) for each in found]
        if links:
            yield _requested(links, _many(len(links), one, several), action, urgent=found is begun)
    links = [(each.membership.user.speaker, reverse("staff:exporting", args=[each.membership_id])) for each in exports]
    if links:
        words = _many(len(links), "export of a whole memory needs", "exports of whole memories need")
        yield _requested(links, f"{words} a second approval", "Decide")


def _requested(links: list[tuple[str, str]], words: str, action: str, *, urgent: bool = False) -> AttentionItem:
    """A task about requests: one leads to its page, several are named."""
    target = (links[0][1], action) if len(links) == 1 else (_list("memories_erasurerequest"), "See them")
    return AttentionItem(words, *target, urgent=urgent, details=tuple(links[:_NAMED]) if len(links) > 1 else ())


def _keys(_scope: TenantScope, tenants: Tenants, _look: Sampling, now: datetime) -> Iterator[AttentionItem]:
    """Search keys that failed or expire soon; nothing without a search cluster."""
    if not in_use():
        return
    troubled, soon = attention.troubled_keys(tenants, now)
    members = _list("tenants_membership")
    if troubled:
        words = _many(troubled, "search key could not be made or replaced", "search keys could not be made or replaced")
        yield AttentionItem(words, members, "Members", urgent=True)
    if soon:
        words = _many(soon, "search key ends within a week", "search keys end within a week")
        yield AttentionItem(words, members, "Members")


def _alerts(scope: TenantScope, tenants: Tenants, look: Sampling, _now: datetime) -> Iterator[AttentionItem]:
    """Alerts that fire, the critical ones first, at most MOST_ALERTS; for a superuser `_lag` covers the lag alerts."""
    slugs = {tenant.id: tenant.slug for tenant in scope.tenants}
    firing = [
        each
        for each in look.standings
        if each.fires
        and (tenants is None or each.tenant_id in tenants)
        and not (scope.everything and each.alert.name in _LAG_ALERTS)
    ]
    firing.sort(key=lambda each: each.alert.severity is not Severity.CRITICAL)
    page = reverse("staff:metrics")
    for each in firing[:MOST_ALERTS]:
        slug = slugs.get(each.tenant_id) if each.tenant_id else None
        where = f" in {scope.names[each.tenant_id]}" if scope.count > 1 and each.tenant_id in scope.names else ""
        urgent = each.alert.severity is Severity.CRITICAL
        address = f"{page}?tenant={slug}" if slug else page
        yield AttentionItem(f"{each.alert.title}{where}", address, "Metrics", urgent=urgent)
    if len(firing) > MOST_ALERTS:
        yield AttentionItem(_many(len(firing) - MOST_ALERTS, "more alert fires", "more alerts fire"), page, "Metrics")


# Each source with the roles that are responsible for its tasks.
_Source = Callable[[TenantScope, Tenants, Sampling, datetime], Iterator[AttentionItem]]
_SOURCES: tuple[tuple[Sequence[Role], _Source], ...] = (
    ((Role.SUPPORT,), _cases),
    ((Role.ADMIN,), _reviews),
    ((Role.ADMIN,), _erasures),
    ((Role.SUPPORT,), _turns),
    (READS_MEMORY, _runs),
    ((Role.SUPPORT,), _lag),
    ((Role.SUPPORT,), _set_aside),
    ((Role.AUDITOR,), _chains),
    ((Role.ADMIN,), _keys),
    ((Role.ADMIN,), _alerts),
)


def _none(tenants: Collection[UUID] | None) -> bool:
    return tenants is not None and not tenants


def _many(count: int, one: str, several: str) -> str:
    return f"{_number(count)} {one if count == 1 else several}"


def _number(count: int) -> str:
    return f"{count:,}" if count < attention.MOST else f"{attention.MOST:,} or more"


def _list(model: str) -> str:
    return reverse(f"admin:{model}_changelist")


DAYS = Span("days", "30 days", timedelta(days=1), 30, timedelta(days=7), "%-d %b", 1)
GROWTH = Metric("growth", "Memories kept", "By kind.", Unit.COUNT)
HYGIENE = Metric(
    "hygiene",
    "Contradictions a day",
    "Replaced memories, and reviews opened and decided.",
    Unit.COUNT,
)
KINDS = {Kind.EPISODIC: "events", Kind.SEMANTIC: "facts", Kind.PROCEDURAL: "how-tos", Kind.CATALOG: "shared"}
# The chart line to which each audit action adds.
_HYGIENE = {**dict.fromkeys(REPLACED, "replaced"), "review.opened": "asked", "review.decided": "decided"}
_SAMPLED: Mapping[str, tuple[Metric, ...]] = {
    "Recall": (named.HIT_RATIO, named.RECALL_P95),
    "Hygiene": (named.STALENESS_P50,),
}


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Build the context of the first page, from what the admin site gives every page.

    `?tenant=` takes a slug and narrows the page to one tenant.
    """
    scope = scope_of(request, READS_HISTORY)
    now = timezone.localtime()
    look = last_look(None if scope.everything and scope.chosen is None else scope.names)
    return {
        **context,
        "scope": scope,
        "checklist": checklist_of(scope),
        "needs": needs_of(scope, look, now),
        "figures": figures_of(scope, now),
        "groups": groups_of(scope, look, now) if scope.tenants else (),
        "look": look,
        "late": look.at is None or now - look.at > LONGEST_GAP,
        "frame": FRAME,
    }


def groups_of(scope: TenantScope, look: Sampling, now: datetime) -> list[dict[str, Any]]:
    """The charts of growth, recall and hygiene; `now` is in the reader's zone.

    Each chart comes with its span and, for sampled metrics, the time of the last sample. `unmeasured` names metrics
    without a sample.
    """
    tenants = [tenant.id for tenant in scope.shown]
    sampled = dict(charts_of(_SAMPLED, drawn_of(look, scope.names), USUAL_SPAN, now, stages=False)) if look.at else {}
    until = DAYS.until(now)
    days = [(until - DAYS.step * back).astimezone(UTC).date() for back in range(DAYS.steps, 0, -1)]
    daily = {"Growth": _growth(tenants, days, until), "Hygiene": _hygiene(tenants, days, until)}
    return [
        {
            "place": place,
            "title": title,
            "charts": [
                *([(daily[title], DAYS, None)] if title in daily else []),
                *((each, USUAL_SPAN, look.at) for each in sampled.get(title, ())),
            ],
            "unmeasured": [] if look.at else [metric.title for metric in _SAMPLED.get(title, ())],
        }
        for place, title in enumerate(("Growth", "Recall", "Hygiene"), 1)
    ]


def _growth(tenants: Collection[UUID], days: list[date], until: datetime) -> Chart:
    found = kept_by_day(tenants, days)
    return _daily(GROWTH, {words: found[kind] for kind, words in KINDS.items()}, until)


def _hygiene(tenants: Collection[UUID], days: list[date], until: datetime) -> Chart:
    found = events_by_day(tenants, list(_HYGIENE), until - DAYS.length)
    lines = {name: [0] * len(days) for name in dict.fromkeys(_HYGIENE.values())}
    for place, day in enumerate(days):
        for action, name in _HYGIENE.items():
            lines[name][place] += found.get((action, day), 0)
    return _daily(HYGIENE, lines, until)


def _daily(metric: Metric, counts: Mapping[str, list[int]], until: datetime) -> Chart:
    lines: dict[str, list[Value]] = {name: [float(each) for each in values] for name, values in counts.items()}
    return chart(metric, None, lines, {name: values[-1] for name, values in lines.items()}, DAYS, until)

"""The first page of the admin: what needs attention, the figures of the last week, and charts of memory.

A sentence counts only tenants in which the reader's role is responsible and links to a page that they may open. The
page shows sums and no word of any memory, so no audit log records it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from memories.metrics import definitions as named
from memories.metrics.alerts import LONGEST_GAP
from memories.metrics.charting import FRAME, USUAL_SPAN, Chart, Span, Value, chart, shown
from memories.metrics.definitions import ALERTS, INDEX_LAG, INDEX_WAITING, Metric, Severity, Unit
from memories.metrics.measuring import REPLACED
from memories.metrics.sampling import Sampling, last_look
from memories.models import ErasureRequest
from memories.selectors.staff import attention
from memories.selectors.staff.attention import events_by_day
from memories.selectors.staff.conversations import kept_by_day
from memories.services.admin_requests import READINGS
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
# A lag of a moment is normal.
_LATE = 60.0
_LAG_ALERTS = frozenset(alert.name for alert in ALERTS if alert.metric is INDEX_LAG)


@dataclass(frozen=True, slots=True)
class AttentionItem:
    """Something to do. `urgent`: now rather than today. `details` are links to single cases."""

    words: str
    url: str
    action: str
    urgent: bool = False
    details: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    """A number to look at, with the page that lists what it counts; where there is one for each tenant, the `parts`."""

    title: str
    number: str
    url: str = ""
    parts: tuple[tuple[str, str, str], ...] = ()


def needs_of(scope: TenantScope, look: Sampling, now: datetime) -> list[AttentionItem]:
    """What waits, the urgent first."""
    found = [
        *_reviews(scope, now),
        *_erasures(scope),
        *_turns(scope),
        *_runs(scope, now),
        *_lag(scope, look),
        *_chains(scope, now),
        *_keys(scope, now),
        *_alerts(scope, look),
    ]
    return sorted(found, key=lambda need: not need.urgent)


def figures_of(scope: TenantScope, now: datetime) -> list[Figure]:
    """What happened in the last week, for auditors."""
    tenants = scope.within(AUDITS)
    if _none(tenants):
        return []
    # To the minute, as the address of the list says it: it holds what is counted here.
    since = now.replace(second=0, microsecond=0) - WEEK
    return [
        _from_audit_log("Times staff looked into a memory", scope, READINGS, since),
        _from_audit_log("Exports made", scope, EXPORTS, since),
        Figure("Members erased", _number(attention.erasures_done(tenants, since)), _list("memories_erasurerequest")),
        Figure("Legal holds in force", _number(attention.holds_in_force(tenants)), _list("memories_legalhold")),
    ]


def _from_audit_log(title: str, scope: TenantScope, actions: Sequence[str], since: datetime) -> Figure:
    """Events of the audit log, which is listed one tenant at a time: a link to it, or one a tenant that has some.

    Events of a tenant that no longer exists are not counted, for no page lists them.
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


def _reviews(scope: TenantScope, now: datetime) -> Iterator[AttentionItem]:
    tenants = scope.within(READS_MEMORY)
    count = 0 if _none(tenants) else attention.open_reviews(tenants, now)
    if count:
        words = _many(count, "review waits for a decision", "reviews wait for a decision")
        yield AttentionItem(words, _list("memories_reviewitem"), "Look at them" if count > 1 else "Look at it")


def _turns(scope: TenantScope) -> Iterator[AttentionItem]:
    tenants = scope.within((Role.SUPPORT,))
    if _none(tenants):
        return
    today = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    count, turns = attention.troubled_turns(tenants, today, named=_NAMED)
    if count:
        words = _many(count, "answer failed or was given without search today", "answers failed or were given without "
                      "search today")  # fmt: skip
        yield AttentionItem(words, _list("memories_membermemory"), "Members", details=tuple(_named(turns)))


def _named(turns: Sequence[attention.TroubledTurn]) -> Iterator[tuple[str, str]]:
    owners = Membership.objects.select_related("user").filter(user__in={turn.user_id for turn in turns})
    known = {(each.tenant_id, each.user_id): each for each in owners}
    for turn in turns:
        member = known.get((turn.tenant_id, turn.user_id))
        if member is not None:
            where = reverse("staff:turn", args=[member.pk, turn.session_id, turn.number])
            yield f"{member.user.speaker}, turn {turn.number}", where


def _runs(scope: TenantScope, now: datetime) -> Iterator[AttentionItem]:
    tenants = scope.within(READS_MEMORY)
    count = 0 if _none(tenants) else attention.failed_runs(tenants, now - WEEK)
    if count:
        words = _many(count, "consolidation failed this week and was not repeated",
                      "consolidations failed this week and were not repeated")  # fmt: skip
        yield AttentionItem(words, f"{_list('memories_consolidationrun')}?outcome=failed", "Failed runs")


def _lag(scope: TenantScope, look: Sampling) -> Iterator[AttentionItem]:
    """The index lag of the last sample."""
    tenants = scope.within((Role.SUPPORT,))
    behind = {
        reading.tenant_id: value
        for reading, value in look.readings.items()
        if reading.metric == INDEX_LAG.name and value > _LATE and (tenants is None or reading.tenant_id in tenants)
    }
    if behind:
        waiting = sum(
            value
            for reading, value in look.readings.items()
            if reading.metric == INDEX_WAITING.name and reading.tenant_id in behind
        )
        lag = shown(max(behind.values()), Unit.SECONDS)
        words = _many(int(waiting), "change waits", "changes wait") + f" for the index, the oldest for {lag}"
        yield AttentionItem(
            words, _list("memories_outboxentry"), "Index and queue", urgent=max(behind.values()) > _LATE * 5
        )


def _chains(scope: TenantScope, now: datetime) -> Iterator[AttentionItem]:
    tenants = scope.within((Role.AUDITOR,))
    if _none(tenants):
        return
    found = attention.chains(tenants, now)
    if found.broken:
        words = _many(found.broken, "chain does not verify", "chains do not verify")
        chosen = f"?{urlencode({PARAMETER: scope.address})}" if scope.chosen else ""
        yield AttentionItem(words, reverse("staff:broken_chains") + chosen, "See which", urgent=True)
    if found.unchecked:
        words = f"{_number(found.unchecked)} of {_number(found.all)} chains were not verified for a day"
        yield AttentionItem(words, _list("tenants_auditevent"), "Audit log")


def _erasures(scope: TenantScope) -> Iterator[AttentionItem]:
    tenants = scope.within((Role.ADMIN,))
    if _none(tenants):
        return
    asked, stopped = attention.erasures(tenants)
    if asked:
        words = _many(len(asked), "erasure waits for a second person", "erasures wait for a second person")
        yield AttentionItem(words, *_led_to(asked, "Decide"), details=_each(asked))
    begun = [each for each in stopped if each.started_at is not None]
    if begun:
        words = _many(len(begun), "erasure is stuck", "erasures are stuck")
        yield AttentionItem(words, *_led_to(begun, "See why"), urgent=True, details=_each(begun))
    waiting = [each for each in stopped if each.started_at is None]
    if waiting:
        words = _many(len(waiting), "erasure was approved and cannot begin", "erasures were approved and cannot begin")
        yield AttentionItem(words, *_led_to(waiting, "See why"), details=_each(waiting))


def _led_to(erasures: Sequence[ErasureRequest], action: str) -> tuple[str, str]:
    """The address of the one, or of the list where there are several."""
    if len(erasures) > 1:
        return _list("memories_erasurerequest"), "See them"
    return _erasure(erasures[0]), action


def _each(erasures: Sequence[ErasureRequest]) -> tuple[tuple[str, str], ...]:
    """The first few of several, by whose memory it is."""
    few = erasures[:_NAMED] if len(erasures) > 1 else ()
    return tuple((each.membership.user.speaker, _erasure(each)) for each in few)


def _erasure(erasure: ErasureRequest) -> str:
    return reverse("staff:erasure_request", args=[erasure.pk])


def _keys(scope: TenantScope, now: datetime) -> Iterator[AttentionItem]:
    """Where there are search keys at all."""
    tenants = scope.within((Role.ADMIN,))
    if _none(tenants) or not in_use():
        return
    troubled, soon = attention.troubled_keys(tenants, now)
    members = _list("tenants_membership")
    if troubled:
        words = _many(troubled, "search key could not be made or replaced", "search keys could not be made or replaced")
        yield AttentionItem(words, members, "Members", urgent=True)
    if soon:
        words = _many(soon, "search key ends within a week", "search keys end within a week")
        yield AttentionItem(words, members, "Members")


def _alerts(scope: TenantScope, look: Sampling) -> Iterator[AttentionItem]:
    """Alerts that fire in the tenants that the reader administers."""
    tenants = scope.within((Role.ADMIN,))
    slugs = {tenant.id: tenant.slug for tenant in scope.tenants}
    told = [
        each
        for each in look.standings
        if each.fires and (tenants is None or each.tenant_id in tenants) and not _said_by_lag(scope, each.alert.name)
    ]
    page = reverse("staff:metrics")
    for each in told[:MOST_ALERTS]:
        slug = slugs.get(each.tenant_id) if each.tenant_id else None
        where = f" in {scope.names[each.tenant_id]}" if scope.count > 1 and each.tenant_id in scope.names else ""
        urgent = each.alert.severity is Severity.CRITICAL
        yield AttentionItem(
            f"{each.alert.title}{where}", f"{page}?tenant={slug}" if slug else page, "Metrics", urgent=urgent
        )
    if len(told) > MOST_ALERTS:
        yield AttentionItem(_many(len(told) - MOST_ALERTS, "more alert fires", "more alerts fire"), page, "Metrics")


def _said_by_lag(scope: TenantScope, alert: str) -> bool:
    """A superuser reads of the lag in its own sentence."""
    return scope.everything and alert in _LAG_ALERTS


def _none(tenants: Collection[UUID] | None) -> bool:
    return tenants is not None and not tenants


def _many(count: int, one: str, several: str) -> str:
    return f"{_number(count)} {one if count == 1 else several}"


def _number(count: int) -> str:
    return f"{count:,}" if count < attention.MOST else f"{attention.MOST:,} or more"


def _list(model: str) -> str:
    return reverse(f"admin:{model}_changelist")


DAYS = Span("days", "30 days", timedelta(days=1), 30, timedelta(days=7), "%-d %b", 1)
GROWTH = Metric("growth", "Memories kept", "By kind, since they were said, learned or shared.", Unit.COUNT)
HYGIENE = Metric(
    "hygiene",
    "Contradictions a day",
    "Memories that another one replaced, and reviews that were asked for and decided.",
    Unit.COUNT,
)
KINDS = {Kind.EPISODIC: "events", Kind.SEMANTIC: "facts", Kind.PROCEDURAL: "how-tos", Kind.CATALOG: "shared"}
# The line that each audit action counts for.
_HYGIENE = {**dict.fromkeys(REPLACED, "replaced"), "review.opened": "asked", "review.decided": "decided"}
_SAMPLED: Mapping[str, tuple[Metric, ...]] = {
    "Recall": (named.HIT_RATIO, named.RECALL_P95),
    "Hygiene": (named.STALENESS_P50,),
}


@dataclass(frozen=True, slots=True)
class ChartGroup:
    """Charts under a heading, each with its span and, for sampled metrics, the time of the last sample.

    `unmeasured` names metrics without a sample. `place` is the number of the group on the page.
    """

    place: int
    title: str
    charts: tuple[tuple[Chart, Span, datetime | None], ...]
    unmeasured: tuple[str, ...] = ()


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """The context of the theme's first page. `?tenant=` narrows it to one tenant, by its slug."""
    scope = scope_of(request, READS_HISTORY)
    now = timezone.localtime()
    look = last_look(None if scope.everything and scope.chosen is None else scope.names)
    return {
        **context,
        "scope": scope,
        "needs": needs_of(scope, look, now),
        "figures": figures_of(scope, now),
        "groups": groups_of(scope, look, now) if scope.tenants else (),
        "look": look,
        "late": look.at is None or now - look.at > LONGEST_GAP,
        "frame": FRAME,
    }


def groups_of(scope: TenantScope, look: Sampling, now: datetime) -> tuple[ChartGroup, ...]:
    """Growth, recall and hygiene; `now` in the reader's zone."""
    tenants = [tenant.id for tenant in scope.shown]
    sampled = dict(charts_of(_SAMPLED, drawn_of(look, scope.names), USUAL_SPAN, now, stages=False)) if look.at else {}
    until = DAYS.until(now)
    days = [(until - DAYS.step * back).astimezone(UTC).date() for back in range(DAYS.steps, 0, -1)]
    growth = _growth(tenants, days, until)
    hygiene = _hygiene(tenants, days, until)
    drawn = {title: tuple((each, USUAL_SPAN, look.at) for each in charts) for title, charts in sampled.items()}
    waiting = {title: tuple(each.title for each in metrics) for title, metrics in _SAMPLED.items() if not look.at}
    return (
        ChartGroup(1, "Growth", ((growth, DAYS, None),)),
        ChartGroup(2, "Recall", drawn.get("Recall", ()), waiting.get("Recall", ())),
        ChartGroup(3, "Hygiene", ((hygiene, DAYS, None), *drawn.get("Hygiene", ())), waiting.get("Hygiene", ())),
    )


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

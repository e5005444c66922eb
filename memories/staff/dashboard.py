"""The first page of the admin: tasks that need attention, figures of the last week, and charts.

Each task counts only the tenants in which the reader's role is responsible for it, and links to a page that the reader
may open. The page shows totals, and members by name, but no text of a memory, so it writes no read event.
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
from django.utils.translation import gettext_noop, ngettext

from memories.metrics import definitions as named
from memories.metrics.alert_definitions import ALERTS
from memories.metrics.alerts import LONGEST_GAP
from memories.metrics.charting import FRAME, USUAL_SPAN, Chart, Span, Value, chart, shown
from memories.metrics.definitions import INDEX_LAG, INDEX_WAITING, Metric, Severity, Unit
from memories.metrics.measuring import REPLACED
from memories.metrics.sampling import Sampling, last_look
from memories.selectors.looks import LOOKS_AT_MEMORY
from memories.selectors.staff import attention
from memories.selectors.staff.attention import Tenants, events_by_day
from memories.selectors.staff.conversations import kept_by_day
from memories.staff.checklist import checklist_of
from memories.staff.metrics import charts_of, drawn_of
from memories.types import Kind
from memoryhub.elasticsearch import in_use
from memoryhub.languages import gettext_lazy, number
from tenants.admin.scoping import PARAMETER, PLATFORM_NAME, TenantScope, address_of, scope_of
from tenants.audit.sentences import names_of_members
from tenants.models import Membership, Tenant
from tenants.principal import AUDITS, READS_HISTORY, READS_MEMORY, Role

EXPORTS = ("memory.exported", "chain.exported", "audit.exported")
WEEK = timedelta(days=7)
MOST_ALERTS = 5
_NAMED = 3
_MEMBERS_NAMED = _MOST_VERIFIABLE = 5
_LATELY_NAMED, _LATELY = 8, timedelta(days=30)
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

    Where that page shows one tenant at a time, `parts` holds name, number and URL for each tenant instead. `members`
    holds the same for the members with most of what it counts.
    """

    title: str
    number: str
    url: str = ""
    parts: tuple[tuple[str, str, str], ...] = ()
    members: tuple[tuple[str, str, str], ...] = ()


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
        _from_audit_log(_("Looks at memories"), scope, LOOKS_AT_MEMORY, since, of_members=True),
        _from_audit_log(_("Exports made"), scope, EXPORTS, since),
        Figure(_("Members erased"), _number(attention.erasures_done(tenants, since)), _list("memories_erasurerequest")),
        Figure(_("Legal holds in force"), _number(attention.holds_in_force(tenants)), _list("memories_legalhold")),
    ]


def _from_audit_log(
    title: str, scope: TenantScope, actions: Sequence[str], since: datetime, *, of_members: bool = False
) -> Figure:
    """A count of audit events. The log lists one tenant at a time, so each tenant with events gets its own link.

    Events of deleted tenants are not counted, because no page lists them. `of_members`: the members with most of them
    get a link each, too.
    """
    counts = attention.events_by_tenant(scope.within(AUDITS), actions, since)
    asked = {"action": ",".join(actions), "since": timezone.localtime(since).isoformat(timespec="minutes")}
    listing = reverse("admin:tenants_auditevent_changelist")

    def listed(tenant: Tenant | None, **more: str) -> str:
        return f"{listing}?{urlencode({PARAMETER: address_of(tenant)} | asked | more)}"

    def members() -> Iterator[tuple[str, str, str]]:
        most = attention.events_by_member(scope.within(AUDITS), actions, since, named=_MEMBERS_NAMED)
        tenants = Tenant.objects.in_bulk({each for each, __, ___ in most}) if most else {}
        names = {each: names_of_members(each, [str(user) for of, user, __ in most if of == each]) for each in tenants}
        for tenant_id, user_id, count in most:
            if tenant := tenants.get(tenant_id):
                yield names[tenant_id][str(user_id)], number(count), listed(tenant, member=str(user_id))

    named = tuple(members()) if of_members else ()
    if scope.chosen is not None:
        return Figure(title, number(sum(counts.values())), listed(scope.chosen), members=named)
    known: dict[UUID | None, Tenant | None] = {**Tenant.objects.in_bulk([each for each in counts if each]), None: None}
    found = [(known[each], count) for each, count in counts.items() if each in known]
    parts = ((each.name if each else PLATFORM_NAME, number(count), listed(each)) for each, count in found)
    return Figure(title, number(sum(count for __, count in found)), parts=tuple(sorted(parts)), members=named)


def _reviews(scope: TenantScope, tenants: Tenants, _look: Sampling, now: datetime) -> Iterator[AttentionItem]:
    count = attention.open_reviews(tenants, now, shared=not scope.everything)
    if count:
        words = ngettext("%(count)s review needs a decision", "%(count)s reviews need a decision", count)
        yield AttentionItem(words % {"count": _number(count)}, _list("memories_reviewitem"), _("Decide"))


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
            _("%(name)s, turn %(number)s") % {"name": member.user.shown_name, "number": turn.number},
            reverse("staff:turn", args=[member.pk, turn.session_id, turn.number]),
        )
        for turn in turns
        if (member := known.get((turn.tenant_id, turn.user_id)))
    )
    words = ngettext(
        "%(count)s answer failed or was given without search today",
        "%(count)s answers failed or were given without search today",
        count,
    ) % {"count": _number(count)}
    yield AttentionItem(words, _list("memories_membermemory"), _("Members"), details=details)


def _runs(_scope: TenantScope, tenants: Tenants, _look: Sampling, now: datetime) -> Iterator[AttentionItem]:
    given_up, count = attention.failed_runs(tenants, now - WEEK)
    if given_up:
        words = ngettext(
            "%(count)s consolidation was given up this week, and nobody read its events again",
            "%(count)s consolidations were given up this week, and nobody read their events again",
            given_up,
        ) % {"count": _number(given_up)}
        url = f"{_list('memories_consolidationrun')}?outcome=given_up"
        yield AttentionItem(words, url, _("Given up"), urgent=True)
    if count:
        words = ngettext(
            "%(count)s consolidation failed this week and was not repeated",
            "%(count)s consolidations failed this week and were not repeated",
            count,
        ) % {"count": _number(count)}
        yield AttentionItem(words, f"{_list('memories_consolidationrun')}?outcome=failed", _("Failed runs"))


def _lag(_scope: TenantScope, tenants: Tenants, look: Sampling, _now: datetime) -> Iterator[AttentionItem]:
    """The index lag of the last sample, if above _LATE."""
    lags, waiting = (
        {each.tenant_id: value for each, value in look.readings.items() if each.metric == metric.name}
        for metric in (INDEX_LAG, INDEX_WAITING)
    )
    behind = {each: lag for each, lag in lags.items() if lag > _LATE and (tenants is None or each in tenants)}
    if behind:
        count, worst = int(sum(waiting.get(each, 0) for each in behind)), max(behind.values())
        words = ngettext(
            "%(count)s change waits for the index, the oldest for %(time)s",
            "%(count)s changes wait for the index, the oldest for %(time)s",
            count,
        ) % {"count": _number(count), "time": shown(worst, Unit.SECONDS)}
        yield AttentionItem(words, _list("memories_outboxentry"), _("Index and queue"), worst > _LATE * 5)


def _set_aside(_scope: TenantScope, tenants: Tenants, _look: Sampling, _now: datetime) -> Iterator[AttentionItem]:
    if count := attention.set_aside(tenants):
        words = ngettext(
            "%(count)s change was set aside, because the index does not take it",
            "%(count)s changes were set aside, because the index does not take them",
            count,
        ) % {"count": _number(count)}
        yield AttentionItem(words, f"{_list('memories_outboxentry')}?tried=set_aside", _("Set aside"), urgent=True)


def _chains(scope: TenantScope, tenants: Tenants, _look: Sampling, now: datetime) -> Iterator[AttentionItem]:
    found = attention.chains(tenants, now)
    if found.broken:
        words = ngettext(
            "%(count)s chain failed verification", "%(count)s chains failed verification", found.broken
        ) % {"count": _number(found.broken)}
        chosen = f"?{urlencode({PARAMETER: scope.address})}" if scope.chosen else ""
        yield AttentionItem(words, reverse("staff:broken_chains") + chosen, _("See which"), urgent=True)
    if found.unchecked:
        counts = {"count": _number(found.unchecked), "all": _number(found.all)}
        words = _("%(count)s of %(all)s chains have not been verified today") % counts
        yield AttentionItem(words, _list("tenants_auditevent"), _("Audit log"))


def _erasures(_scope: TenantScope, tenants: Tenants, _look: Sampling, now: datetime) -> Iterator[AttentionItem]:
    asked, stopped, soon = attention.erasures(tenants, now)
    exports = attention.exports_asked(tenants)
    begun = [each for each in stopped if each.started_at is not None]
    waiting = [each for each in stopped if each.started_at is None]
    for found, words, action in (
        (asked, _erasures_asked, _("Decide")),
        (begun, _erasures_stuck, _("See why")),
        (waiting, _erasures_waiting, _("See why")),
        (soon, _erasures_soon, _("Look at it")),
    ):
        links = [(each.membership.user.shown_name, reverse("staff:erasure_request", args=[each.pk])) for each in found]
        if links:
            count = {"count": _number(len(links))}
            yield _requested(links, words(len(links)) % count, action, urgent=found is begun)
    links = [
        (each.membership.user.shown_name, reverse("staff:exporting", args=[each.membership_id])) for each in exports
    ]
    if links:
        told = ngettext(
            "%(count)s export of a whole memory needs a second approval",
            "%(count)s exports of whole memories need a second approval",
            len(links),
        )
        yield _requested(links, told % {"count": _number(len(links))}, _("Decide"))


def _erasures_asked(count: int) -> str:
    return ngettext("%(count)s erasure needs a second approval", "%(count)s erasures need a second approval", count)


def _erasures_stuck(count: int) -> str:
    return ngettext("%(count)s erasure is stuck", "%(count)s erasures are stuck", count)


def _erasures_waiting(count: int) -> str:
    return ngettext(
        "%(count)s erasure was approved and cannot begin", "%(count)s erasures were approved and cannot begin", count
    )


def _erasures_soon(count: int) -> str:
    return ngettext(
        "%(count)s erasure begins soon and can be withdrawn",
        "%(count)s erasures begin soon and can be withdrawn",
        count,
    )


def _requested(links: list[tuple[str, str]], words: str, action: str, *, urgent: bool = False) -> AttentionItem:
    """A task about requests: one leads to its page, several are named."""
    target = (links[0][1], action) if len(links) == 1 else (_list("memories_erasurerequest"), _("See them"))
    return AttentionItem(words, *target, urgent=urgent, details=tuple(links[:_NAMED]) if len(links) > 1 else ())


def _keys(_scope: TenantScope, tenants: Tenants, _look: Sampling, now: datetime) -> Iterator[AttentionItem]:
    """Search keys that failed or expire soon; nothing without a search cluster."""
    if not in_use():
        return
    troubled, soon = attention.troubled_keys(tenants, now)
    members = _list("tenants_membership")
    if troubled:
        words = ngettext(
            "%(count)s search key could not be made or replaced",
            "%(count)s search keys could not be made or replaced",
            troubled,
        ) % {"count": _number(troubled)}
        yield AttentionItem(words, members, _("Members"), urgent=True)
    if soon:
        words = ngettext("%(count)s search key ends within a week", "%(count)s search keys end within a week", soon) % {
            "count": _number(soon)
        }
        yield AttentionItem(words, members, _("Members"))


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
        title = str(each.alert.title)
        if scope.count > 1 and each.tenant_id in scope.names:
            title = _("%(alert)s in %(tenant)s") % {"alert": title, "tenant": scope.names[each.tenant_id]}
        urgent = each.alert.severity is Severity.CRITICAL
        address = f"{page}?tenant={slug}" if slug else page
        yield AttentionItem(title, address, _("Metrics"), urgent=urgent)
    if len(firing) > MOST_ALERTS:
        more = len(firing) - MOST_ALERTS
        words = ngettext("%(count)s more alert fires", "%(count)s more alerts fire", more) % {"count": _number(more)}
        yield AttentionItem(words, page, _("Metrics"))


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


def _number(count: int) -> str:
    return number(count) if count < attention.MOST else _("%(count)s or more") % {"count": number(attention.MOST)}


def _list(model: str) -> str:
    return reverse(f"admin:{model}_changelist")


DAYS = Span("days", gettext_lazy("30 days"), timedelta(days=1), 30, timedelta(days=7), "DAY", 1)
GROWTH = Metric("growth", gettext_lazy("Memories kept"), gettext_lazy("By kind."), Unit.COUNT)
HYGIENE = Metric(
    "hygiene",
    gettext_lazy("Contradictions a day"),
    gettext_lazy("Replaced memories, and reviews opened and decided."),
    Unit.COUNT,
)
KINDS = {
    Kind.EPISODIC: gettext_lazy("events"),
    Kind.SEMANTIC: gettext_lazy("facts"),
    Kind.PROCEDURAL: gettext_lazy("how-tos"),
    Kind.CATALOG: gettext_lazy("shared"),
}
# The chart line to which each audit action adds.
_HYGIENE = {
    **dict.fromkeys(REPLACED, gettext_noop("replaced")),
    "review.opened": gettext_noop("opened"),
    "review.decided": gettext_noop("decided"),
}
_SAMPLED: Mapping[str, tuple[Metric, ...]] = {
    gettext_noop("Recall"): (named.HIT_RATIO, named.RECALL_P95),
    gettext_noop("Hygiene"): (named.STALENESS_P50,),
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
        "lately": _lately(scope, now),
        "verifiable": _verifiable(scope),
        "groups": groups_of(scope, look, now) if scope.tenants else (),
        "look": look,
        "late": look.at is None or now - look.at > LONGEST_GAP,
        "frame": FRAME,
    }


def _lately(scope: TenantScope, now: datetime) -> list[tuple[str, datetime, str]]:
    """Name, time and inspector of the members who chatted last: who asks support for help mostly just chatted."""
    tenants = scope.within(READS_MEMORY)
    found = [] if _none(tenants) else attention.chatted_lately(tenants, now - _LATELY, named=_LATELY_NAMED)
    rows = Membership.objects.filter(is_active=True, user__in={user for __, user, ___ in found}).select_related("user")
    members = {(each.tenant_id, each.user_id): each for each in rows} if found else {}
    return [
        (member.user.shown_name, at, reverse("staff:inspector", args=[member.pk]))
        for tenant_id, user_id, at in found
        if (member := members.get((tenant_id, user_id)))
    ]


def _verifiable(scope: TenantScope) -> list[dict[str, Any]]:
    """The tenants that the reader can verify as a whole, with the time of the last such verification.

    Empty for more tenants than a page names; the page of verifications has a choice of them.
    """
    within = scope.within(AUDITS)
    tenants = [each for each in scope.shown if within is None or each.pk in within]
    if not 0 < len(tenants) <= _MOST_VERIFIABLE:
        return []
    last = attention.last_verified([each.pk for each in tenants])
    return [
        {"tenant": each, "address": address_of(each), "begun": each.pk in last, "at": last.get(each.pk)}
        for each in tenants
    ]


def groups_of(scope: TenantScope, look: Sampling, now: datetime) -> list[dict[str, Any]]:
    """The charts of growth, recall and hygiene; `now` is in the reader's zone.

    Each chart comes with its span and, for sampled metrics, the time of the last sample. `unmeasured` names metrics
    without a sample.
    """
    tenants = [tenant.id for tenant in scope.shown]
    sampled = (
        dict(charts_of(_SAMPLED, scope, drawn_of(look, scope.names), USUAL_SPAN, now, stages=False)) if look.at else {}
    )
    until = DAYS.until(now)
    days = [(until - DAYS.step * back).astimezone(UTC).date() for back in range(DAYS.steps, 0, -1)]
    daily = {gettext_noop("Growth"): _growth(tenants, days, until), "Hygiene": _hygiene(tenants, days, until)}
    return [
        {
            "place": place,
            "title": _(title),
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
    return _daily(GROWTH, {str(words): found[kind] for kind, words in KINDS.items()}, until)


def _hygiene(tenants: Collection[UUID], days: list[date], until: datetime) -> Chart:
    found = events_by_day(tenants, list(_HYGIENE), until - DAYS.length)
    lines = {name: [0] * len(days) for name in dict.fromkeys(_HYGIENE.values())}
    for place, day in enumerate(days):
        for action, name in _HYGIENE.items():
            lines[name][place] += found.get((action, day), 0)
    return _daily(HYGIENE, {_(name): values for name, values in lines.items()}, until)


def _daily(metric: Metric, counts: Mapping[str, list[int]], until: datetime) -> Chart:
    lines: dict[str, list[Value]] = {name: [float(each) for each in values] for name, values in counts.items()}
    return chart(metric, None, lines, {name: values[-1] for name, values in lines.items()}, DAYS, until)

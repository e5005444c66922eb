"""What waits for the reader, each as a sentence with a link; and what happened lately that an auditor looks at.

Invariant: a sentence counts only what is in tenants where the reader's role answers for it, and leads to a page that
is open to them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlencode
from uuid import UUID

from django.urls import reverse
from django.utils import timezone

from memories.metrics.charting import shown
from memories.metrics.definitions import ALERTS, INDEX_LAG, INDEX_WAITING, Severity, Unit
from memories.metrics.sampling import Sampling
from memories.models import ErasureRequest
from memories.selectors.staff import attention
from memories.services.admin_requests import READINGS
from memoryhub.elasticsearch import in_use
from tenants.admin.scoping import PARAMETER, PLATFORM_NAME, TenantScope, address_of
from tenants.models import Membership, Tenant
from tenants.principal import AUDITS, READS_MEMORY, Role

EXPORTS = ("memory.exported", "chain.exported", "audit.exported")
WEEK = timedelta(days=7)
MOST_ALERTS = 5
_NAMED = 3
# An index that is a moment behind is as it should be.
_LATE = 60.0
_LAG_ALERTS = frozenset(alert.name for alert in ALERTS if alert.metric is INDEX_LAG)


@dataclass(frozen=True, slots=True)
class Need:
    """Something to do. `grave`: now, not today. `details` are links to single cases."""

    words: str
    url: str
    action: str
    grave: bool = False
    details: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    """A number to look at, with the page that lists what it counts; where there is one for each tenant, the `parts`."""

    title: str
    number: str
    url: str = ""
    parts: tuple[tuple[str, str, str], ...] = ()


def needs_of(scope: TenantScope, look: Sampling, now: datetime) -> list[Need]:
    """What waits, the grave first."""
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
    return sorted(found, key=lambda need: not need.grave)


def figures_of(scope: TenantScope, now: datetime) -> list[Figure]:
    """What happened in the last week, for who audits."""
    tenants = scope.within(AUDITS)
    if _nobody(tenants):
        return []
    # To the minute, as the address of the list says it: it holds what is counted here.
    since = now.replace(second=0, microsecond=0) - WEEK
    return [
        _of_trail("Times staff looked into a memory", scope, READINGS, since),
        _of_trail("Exports made", scope, EXPORTS, since),
        Figure("Members erased", _number(attention.erasures_done(tenants, since)), _list("memories_erasurerequest")),
        Figure("Legal holds in force", _number(attention.holds_in_force(tenants)), _list("memories_legalhold")),
    ]


def _of_trail(title: str, scope: TenantScope, actions: Sequence[str], since: datetime) -> Figure:
    """Events of the trail, which is read one tenant at a time: a link to that, or to that of each that has some.

    The trail of a tenant that is no longer there is listed nowhere, so nothing of it is counted.
    """
    counts = attention.events_by_tenant(scope.within(AUDITS), actions, since)
    asked = {"action": ",".join(actions), "since": timezone.localtime(since).isoformat(timespec="minutes")}
    trail = reverse("admin:tenants_auditevent_changelist")

    def listed(tenant: Tenant | None) -> str:
        return f"{trail}?{urlencode({PARAMETER: address_of(tenant)} | asked)}"

    if scope.chosen is not None:
        return Figure(title, f"{sum(counts.values()):,}", listed(scope.chosen))
    known: dict[UUID | None, Tenant | None] = {**Tenant.objects.in_bulk([each for each in counts if each]), None: None}
    found = [(known[each], count) for each, count in counts.items() if each in known]
    parts = ((each.name if each else PLATFORM_NAME, f"{count:,}", listed(each)) for each, count in found)
    return Figure(title, f"{sum(count for _, count in found):,}", parts=tuple(sorted(parts)))


def _reviews(scope: TenantScope, now: datetime) -> Iterator[Need]:
    tenants = scope.within(READS_MEMORY)
    count = 0 if _nobody(tenants) else attention.open_reviews(tenants, now)
    if count:
        words = _many(count, "review waits for a decision", "reviews wait for a decision")
        yield Need(words, _list("memories_reviewitem"), "Look at them" if count > 1 else "Look at it")


def _turns(scope: TenantScope) -> Iterator[Need]:
    tenants = scope.within((Role.SUPPORT,))
    if _nobody(tenants):
        return
    today = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    count, turns = attention.troubled_turns(tenants, today, named=_NAMED)
    if count:
        words = _many(count, "answer failed or was given without search today", "answers failed or were given without "
                      "search today")  # fmt: skip
        yield Need(words, _list("memories_membermemory"), "Members", details=tuple(_named(turns)))


def _named(turns: Sequence[attention.Turn]) -> Iterator[tuple[str, str]]:
    owners = Membership.objects.select_related("user").filter(user__in={turn.user_id for turn in turns})
    known = {(each.tenant_id, each.user_id): each for each in owners}
    for turn in turns:
        member = known.get((turn.tenant_id, turn.user_id))
        if member is not None:
            where = reverse("admin:memories_membermemory_turn", args=[member.pk, turn.session_id, turn.number])
            yield f"{member.user.speaker}, turn {turn.number}", where


def _runs(scope: TenantScope, now: datetime) -> Iterator[Need]:
    tenants = scope.within(READS_MEMORY)
    count = 0 if _nobody(tenants) else attention.failed_runs(tenants, now - WEEK)
    if count:
        words = _many(count, "consolidation failed this week and was not made good",
                      "consolidations failed this week and were not made good")  # fmt: skip
        yield Need(words, f"{_list('memories_consolidationrun')}?outcome=failed", "Failed runs")


def _lag(scope: TenantScope, look: Sampling) -> Iterator[Need]:
    """As the last look at the metrics found it."""
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
        yield Need(words, _list("memories_outboxentry"), "Index and queue", grave=max(behind.values()) > _LATE * 5)


def _chains(scope: TenantScope, now: datetime) -> Iterator[Need]:
    tenants = scope.within((Role.AUDITOR,))
    if _nobody(tenants):
        return
    found = attention.chains(tenants, now)
    if found.broken:
        words = _many(found.broken, "chain does not verify", "chains do not verify")
        chosen = f"?{urlencode({PARAMETER: scope.address})}" if scope.chosen else ""
        yield Need(words, reverse("admin:memories_history_broken") + chosen, "See which", grave=True)
    if found.unchecked:
        words = f"{_number(found.unchecked)} of {_number(found.all)} chains were not verified for a day"
        yield Need(words, _list("tenants_auditevent"), "Audit trail")


def _erasures(scope: TenantScope) -> Iterator[Need]:
    tenants = scope.within((Role.ADMIN,))
    if _nobody(tenants):
        return
    asked, stopped = attention.erasures(tenants)
    if asked:
        words = _many(len(asked), "erasure waits for a second person", "erasures wait for a second person")
        yield Need(words, *_led_to(asked, "Decide"), details=_each(asked))
    begun = [each for each in stopped if each.started_at is not None]
    if begun:
        words = _many(len(begun), "erasure was begun and stands still", "erasures were begun and stand still")
        yield Need(words, *_led_to(begun, "See why"), grave=True, details=_each(begun))
    waiting = [each for each in stopped if each.started_at is None]
    if waiting:
        words = _many(len(waiting), "erasure was approved and cannot begin", "erasures were approved and cannot begin")
        yield Need(words, *_led_to(waiting, "See why"), details=_each(waiting))


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
    return reverse("admin:memories_erasurerequest_change", args=[erasure.pk])


def _keys(scope: TenantScope, now: datetime) -> Iterator[Need]:
    """Where there are search keys at all."""
    tenants = scope.within((Role.ADMIN,))
    if _nobody(tenants) or not in_use():
        return
    troubled, soon = attention.troubled_keys(tenants, now)
    members = _list("tenants_membership")
    if troubled:
        words = _many(troubled, "search key could not be made or replaced", "search keys could not be made or replaced")
        yield Need(words, members, "Members", grave=True)
    if soon:
        words = _many(soon, "search key ends within a week", "search keys end within a week")
        yield Need(words, members, "Members")


def _alerts(scope: TenantScope, look: Sampling) -> Iterator[Need]:
    """Those that fire, in the tenants that the reader administers."""
    tenants = scope.within((Role.ADMIN,))
    slugs = {tenant.id: tenant.slug for tenant in scope.tenants}
    told = [
        each
        for each in look.standings
        if each.fires and (tenants is None or each.tenant_id in tenants) and not _said_by_lag(scope, each.alert.name)
    ]
    page = _list("memories_metricsample")
    for each in told[:MOST_ALERTS]:
        slug = slugs.get(each.tenant_id) if each.tenant_id else None
        where = f" in {scope.names[each.tenant_id]}" if scope.count > 1 and each.tenant_id in scope.names else ""
        grave = each.alert.severity is Severity.CRITICAL
        yield Need(f"{each.alert.title}{where}", f"{page}?tenant={slug}" if slug else page, "Metrics", grave=grave)
    if len(told) > MOST_ALERTS:
        yield Need(_many(len(told) - MOST_ALERTS, "more alert fires", "more alerts fire"), page, "Metrics")


def _said_by_lag(scope: TenantScope, alert: str) -> bool:
    """A superuser reads of the lag once."""
    return scope.everything and alert in _LAG_ALERTS


def _nobody(tenants: Collection[UUID] | None) -> bool:
    return tenants is not None and not tenants


def _many(count: int, one: str, several: str) -> str:
    return f"{_number(count)} {one if count == 1 else several}"


def _number(count: int) -> str:
    return f"{count:,}" if count < attention.MOST else f"{attention.MOST:,} or more"


def _list(model: str) -> str:
    return reverse(f"admin:{model}_changelist")

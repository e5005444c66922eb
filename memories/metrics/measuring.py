"""Measures all metrics for all active tenants from the database, so that every process gets the same values.

The number of queries does not grow with the tenants; each reads a window of time or an index. Queries list the active
tenants where an index begins with the tenant. A tenant's values come only from its own rows; changes of global
knowledge have the tenant None. Percentiles are by nearest rank:
https://en.wikipedia.org/wiki/Percentile#The_nearest-rank_method
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Avg, Count, F, IntegerField, Min, Q, QuerySet, Sum, Window
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Ceil, NullIf, RowNumber
from django.utils import timezone

from memories.constants import CONSOLIDATE_AFTER
from memories.metrics import definitions as named
from memories.metrics.alerts import MetricReading, Readings
from memories.metrics.definitions import BY_NAME, DAY, HOUR, METRICS, MINUTES, QUARTER, STAGES, TOTAL, Metric
from memories.models import (
    ConsolidationRun,
    DeliveryState,
    EpisodeLedger,
    ErasureRequest,
    ExportRequest,
    Fact,
    HygieneRun,
    MemoryPolicy,
    Message,
    OutboxEntry,
    Playbook,
    RecallTrace,
    RequestState,
    ReviewItem,
    ReviewKind,
    RunState,
    Session,
    WebhookDelivery,
    WebhookEndpoint,
)
from memories.selectors.exports import LIMITED
from memories.types import CURRENT, HIGH_SEVERITY
from memoryhub import limits
from memoryhub.leases import EQUAL_FAILURES
from tenants.audit.verification import broken
from tenants.models import USABLE, AuditEvent, KeyTrouble, RetiredKey, SearchCredential, Tenant
from tenants.selectors import has_active_member
from tenants.signing_in import FAILED as SIGN_IN_FAILED

HALF, MOST = 0.5, 0.95
_TENANT_OF_CHAIN = re.compile(r"(?:owner|tenant):([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?::|$)")
Measures = dict[MetricReading, float]


def nearest_rank(share: float, count: int) -> int:
    """The position, from 1, of the percentile `share` among `count` sorted values."""
    return max(1, math.ceil(share * count - 1e-9))


def percentile(ordered: Sequence[float], share: float) -> float:
    """The percentile `share` of at least one sorted value."""
    return ordered[nearest_rank(share, len(ordered)) - 1]


_SHARES = {HALF: named.STALENESS_P50, MOST: named.STALENESS_P95}


def staleness(now: datetime) -> Measures:  # noqa: ARG001 - the staleness is that of the last scan
    """Percentiles of the staleness of current facts, which the database ranks by nearest rank."""
    rows = (
        Fact.objects.unscoped("metrics of the installation")
        .current()
        .filter(tenant__isnull=False, staleness__isnull=False)
        .order_by()
        .annotate(
            place=Window(RowNumber(), partition_by="tenant_id", order_by="staleness"),
            count=Window(Count("*"), partition_by="tenant_id"),
        )
    )
    wanted = Q()
    for share in _SHARES:
        wanted |= Q(place=Ceil(F("count") * share - 1e-9))
    found: dict[MetricReading, float] = {}
    for tenant_id, value, place, count in rows.filter(wanted).values_list("tenant_id", "staleness", "place", "count"):
        found[MetricReading(named.SCORED_FACTS.name, tenant_id)] = count
        for share, metric in _SHARES.items():
            if place == nearest_rank(share, count):
                found[MetricReading(metric.name, tenant_id)] = value or 0.0
    return found


def open_scopes(now: datetime) -> Measures:
    """The highest number of open scopes of any member of each tenant: tasks with current memories, and open sessions.

    A session without an expiry time, such as an imported one, does not count as open.
    """
    going_on = (
        Session.objects.unscoped("metrics of the installation")
        .filter(expired_at=None, ended_at=None, expires_at__gt=now)
        .order_by()
    )
    open_of: Counter[tuple[UUID, UUID]] = Counter()
    for tenant_id, user_id, count in going_on.values_list("tenant_id", "user_id").annotate(Count("pk")):
        open_of[tenant_id, user_id] += count
    for tenant_id, user_id, _ in _tasks(Fact).union(_tasks(Playbook)):
        open_of[tenant_id, user_id] += 1
    most: dict[MetricReading, float] = defaultdict(float)
    for (tenant_id, _), count in open_of.items():
        reading = MetricReading(named.OPEN_SCOPES.name, tenant_id)
        most[reading] = max(most[reading], count)
    return most


def _tasks(model: type[Fact | Playbook]) -> QuerySet[Any, tuple[UUID, UUID, str]]:
    rows = (
        model.objects.unscoped("metrics of the installation").filter(task__isnull=False, status__in=CURRENT).order_by()
    )
    return rows.values_list("tenant_id", "user_id", "task").distinct()  # type: ignore[return-value]  # not null


# The audit actions that count as writes; a supersession counts as the creation of its successor.
CREATED = ("fact.created", "playbook.created")
MERGED = ("fact.merged", "playbook.merged")
WRITTEN = (*CREATED, *MERGED, "episode.created", "catalog.created")
REPLACED = ("fact.superseded", "playbook.superseded")
REFUSED, TAKEN_OUT = "memory.blocked", "memory.masked"
EXPORTED = "memory.exported"
# The percentiles use this many of the newest recalls.
MOST_TRACES = 20_000


def writes(now: datetime) -> Measures:
    """The rate of writes, and the share of written facts and how-tos that were duplicates."""
    written = Count("pk", filter=Q(action__in=(*CREATED, *MERGED)))
    return _by_tenant(
        _events(now, HOUR).filter(action__in=WRITTEN),
        {
            named.WRITES: Count("pk", filter=Q(created_at__gt=now - MINUTES)) / (MINUTES / timedelta(minutes=1)),
            named.REMEMBERED: written,
            named.DEDUP_RATIO: Count("pk", filter=Q(action__in=MERGED)) * 1.0 / NullIf(written, 0),
        },
    )


def kept_and_taken(now: datetime) -> Measures:
    """Blocked and masked sensitive values, and whole memories that were exported or refused to be.

    The payloads of masking hold the masked kinds as quoted names.
    """
    severe = Q()
    for kind in sorted(HIGH_SEVERITY):
        severe |= Q(payload__document__contains=f'"{kind.value}"')
    return _by_tenant(
        _events(now, DAY).filter(action__in=(REFUSED, TAKEN_OUT, EXPORTED, LIMITED)),
        {
            named.EXPORTS: Count("pk", filter=Q(action=EXPORTED, target_kind=ExportRequest.audit_kind)),
            named.EXPORTS_REFUSED: Count("pk", filter=Q(action=LIMITED)),
            named.MASKED: Count("pk", filter=Q(action=TAKEN_OUT)),
            named.BLOCKED: Count("pk", filter=Q(action=REFUSED) | (Q(action=TAKEN_OUT) & severe)),
        },
    )


def contradictions(now: datetime) -> Measures:
    """The number of memories that were replaced, plus the reviews of contradictions that were opened."""
    replaced = _events(now, DAY).filter(action__in=REPLACED)
    asked = _rows(ReviewItem, "created_at", now, DAY).filter(kind=ReviewKind.CONTRADICTION)
    found: dict[MetricReading, float] = defaultdict(float)
    for tenant_id, count in (*_counted(replaced), *_counted(asked)):
        found[_of(named.CONTRADICTIONS, tenant_id)] += count
    return found


def recalls(now: datetime) -> Measures:
    """The number of recalls, the share that returned anything, and what is recorded of the models of endpoints."""
    hits, made = Count("pk", filter=Q(returned__gt=0)), Count("pk")
    tokens = Cast(KeyTextTransform("model_tokens", "parameters"), IntegerField())
    stood_in = Count("pk", filter=Q(parameters__has_key="stood_in"))
    return _by_tenant(
        _rows(RecallTrace, "created_at", now, HOUR),
        {
            named.RECALLS: made,
            named.HIT_RATIO: hits * 1.0 / made,
            named.RECALL_MODEL_TOKENS: Sum(tokens),
            named.STOOD_IN: NullIf(stood_in, 0),
        },
    )


def latencies(now: datetime) -> Measures:
    """Percentiles of the duration of each stage, over the newest recalls of the window."""
    rows = _rows(RecallTrace, "created_at", now, QUARTER).order_by("-created_at")
    taken: dict[tuple[UUID, str], list[float]] = defaultdict(list)
    for tenant_id, stages, took_ms in rows.values_list("tenant_id", "stages", "took_ms")[:MOST_TRACES]:
        taken[tenant_id, TOTAL].append(took_ms / 1000)
        for stage in STAGES:
            if stage in stages:
                taken[tenant_id, stage].append(stages[stage]["ms"] / 1000)
    found: dict[MetricReading, float] = {}
    for (tenant_id, stage), seconds in taken.items():
        seconds.sort()
        found[_of(named.RECALL_P50, tenant_id, stage)] = percentile(seconds, HALF)
        found[_of(named.RECALL_P95, tenant_id, stage)] = percentile(seconds, MOST)
    return found


def turns(now: datetime) -> Measures:
    """The number of answered turns, and the average prompt tokens that memories took."""
    rows = _rows(Message, "created_at", now, HOUR).filter(memory_tokens__isnull=False)
    return _by_tenant(rows, {named.TURNS: Count("pk"), named.MEMORY_TOKENS: Avg("memory_tokens")})


def consolidations(now: datetime) -> Measures:
    """The number of failed runs, and the cost of all runs."""
    failed = Count("pk", filter=Q(state=RunState.FAILED))
    rows = _rows(ConsolidationRun, "started_at", now, DAY)
    return _by_tenant(rows, {named.CONSOLIDATION_FAILURES: failed, named.CONSOLIDATION_COST: Sum("cost")})


def record(now: datetime) -> Measures:  # noqa: ARG001 - the latest verifications
    """The number of chains of each tenant that do not verify."""
    found: dict[MetricReading, float] = defaultdict(float)
    for chain in set(broken().order_by().values_list("chain", flat=True)):
        tenant = _TENANT_OF_CHAIN.match(chain)
        found[MetricReading(named.RECORD_FINDINGS.name, UUID(tenant[1]) if tenant else None)] += 1
    return found


def refused(now: datetime) -> Measures:
    """Refused requests, requests served without limits, and failed sign-ins, as counted where the limits are kept."""
    found: dict[MetricReading, float] = defaultdict(float)
    for name, count in limits.counted((now - HOUR).timestamp(), now.timestamp()).items():
        tenant, _, limit = name.partition(":")
        if name == SIGN_IN_FAILED:
            found[_of(named.FAILED_SIGN_INS, None)] += count
        elif limit:
            found[_of(named.REFUSED_REQUESTS, UUID(tenant), limit)] += count
            found[_of(named.REFUSED_REQUESTS, UUID(tenant), TOTAL)] += count
        else:
            found[_of(named.UNLIMITED_REQUESTS, UUID(tenant))] += count
    return found


def _by_tenant(rows: QuerySet[Any], wanted: Mapping[Metric, Any]) -> Measures:
    """The aggregate of each metric by tenant; null aggregates are left out."""
    aggregates = {metric.name: aggregate for metric, aggregate in wanted.items()}
    return {
        MetricReading(name, row["tenant_id"]): float(row[name])
        for row in rows.order_by().values("tenant_id").annotate(**aggregates)
        for name in aggregates
        if row[name] is not None
    }


def _rows(model: Any, column: str, now: datetime, window: timedelta) -> QuerySet[Any]:
    rows: QuerySet[Any] = model.objects.unscoped("metrics of the installation")
    return rows.filter(**_within(column, now, window)).order_by()


def _events(now: datetime, window: timedelta) -> QuerySet[AuditEvent]:
    """The audit events of active tenants in the window, by the index on tenant and time."""
    tenants = Tenant.objects.filter(is_active=True).order_by().values("id")
    return AuditEvent.objects.filter(tenant_id__in=tenants, **_within("created_at", now, window)).order_by()


def _within(column: str, now: datetime, window: timedelta) -> dict[str, datetime]:
    return {f"{column}__gt": now - window, f"{column}__lte": now}


def _counted(rows: QuerySet[AuditEvent] | QuerySet[ReviewItem]) -> Iterable[tuple[UUID, int]]:
    return rows.values_list("tenant_id").annotate(Count("pk"))


def _of(metric: Metric, tenant_id: UUID | None, label: str = "") -> MetricReading:
    return MetricReading(metric.name, tenant_id, label)


def index(now: datetime) -> Measures:
    """The number of index changes on their way, and the age of the oldest."""
    rows = (
        OutboxEntry.objects.filter(set_aside_at=None)
        .order_by()
        .values("tenant_id")
        .annotate(oldest=Min("created_at"), count=Count("pk"))
    )
    found: dict[MetricReading, float] = {}
    for row in rows:
        found[MetricReading(named.INDEX_WAITING.name, row["tenant_id"])] = row["count"]
        found[MetricReading(named.INDEX_LAG.name, row["tenant_id"])] = _age(row["oldest"], now)
    return found


def consolidation(now: datetime) -> Measures:
    """The number of episodes that wait for consolidation, the age of the oldest, and the time by which it is overdue.

    The count uses ordinals, so it includes forgotten episodes until a run passes them. Episodes of inactive members are
    never consolidated and do not count.
    """
    rows = (
        EpisodeLedger.objects.unscoped("metrics of the installation")
        .filter(has_active_member(), waiting_since__isnull=False)
        .order_by()
    )
    patience = _patience()
    found: dict[MetricReading, float] = {}
    for row in rows.values("tenant_id").annotate(
        oldest=Min("waiting_since"), count=Sum(F("stored") - F("consolidated"))
    ):
        tenant_id, age = row["tenant_id"], _age(row["oldest"], now)
        found[MetricReading(named.WAITING_EPISODES.name, tenant_id)] = row["count"]
        found[MetricReading(named.CONSOLIDATION_LAG.name, tenant_id)] = age
        if settings.MEMORYHUB_CONSOLIDATE != "off":
            overdue = max(0.0, age - patience[tenant_id].total_seconds())
            found[MetricReading(named.CONSOLIDATION_OVERDUE.name, tenant_id)] = overdue
    return found


def given_up(now: datetime) -> Measures:
    """The number of items that were set aside because they fail by themselves.

    The scan counts for the installation, because one run covers all tenants.
    """
    failing = Q(attempts__gte=EQUAL_FAILURES) & ~Q(trouble__in=(KeyTrouble.NONE.value, KeyTrouble.UNREACHABLE.value))
    rows: tuple[QuerySet[Any, Any], ...] = (
        _rows(ConsolidationRun, "started_at", now, 7 * DAY).filter(given_up=True).exclude(reruns__state=RunState.DONE),
        OutboxEntry.objects.filter(set_aside_at__isnull=False),
        SearchCredential.objects.filter(failing, USABLE).annotate(tenant_id=F("membership__tenant_id")),
        RetiredKey.objects.filter(failing).annotate(tenant_id=F("membership__tenant_id")),
    )
    found: dict[MetricReading, float] = defaultdict(float)
    for each in rows:
        for tenant_id, count in each.order_by().values_list("tenant_id").annotate(Count("pk")):
            found[_of(named.GIVEN_UP, tenant_id)] += count
    scans = HygieneRun.objects.filter(tenant=None, finished_at__isnull=False).order_by("-started_at")
    if counts := scans.values_list("counts", flat=True).first():
        found[_of(named.GIVEN_UP, None)] += counts.get("failed", 0)
    return found


def erasures(now: datetime) -> Measures:  # noqa: ARG001 - their present state
    """The number of erasures that keep failing."""
    failing = ErasureRequest.objects.filter(state=RequestState.RUNNING, attempts__gte=EQUAL_FAILURES)
    rows = failing.exclude(trouble="").order_by().values_list("tenant_id").annotate(Count("pk"))
    return {_of(named.ERASURES_FAILING, tenant_id): count for tenant_id, count in rows}


def webhooks(now: datetime) -> Measures:
    """The number of webhooks that were disabled, and the age of the oldest event that waits for one."""
    disabled = WebhookEndpoint.objects.filter(enabled=False).exclude(trouble="").order_by()
    found: dict[MetricReading, float] = {
        _of(named.WEBHOOKS_DISABLED, tenant_id): count
        for tenant_id, count in disabled.values_list("tenant_id").annotate(Count("pk"))
    }
    waiting = WebhookDelivery.objects.filter(state=DeliveryState.WAITING, endpoint__enabled=True).order_by()
    for tenant_id, oldest in waiting.values_list("endpoint__tenant_id").annotate(Min("entry__event__created_at")):
        found[_of(named.WEBHOOK_LAG, tenant_id)] = _age(oldest, now)
    return found


def _patience() -> defaultdict[UUID, timedelta]:
    """The time that episodes may wait in each tenant."""
    decided = MemoryPolicy.objects.filter(consolidate_hours__isnull=False).values_list("tenant_id", "consolidate_hours")
    own = {tenant_id: timedelta(hours=hours) for tenant_id, hours in decided if hours is not None}
    return defaultdict(lambda: CONSOLIDATE_AFTER, own)


def _age(since: datetime, now: datetime) -> float:
    return max(0.0, (now - since).total_seconds())


@dataclass(frozen=True, slots=True)
class Measured:
    """The values measured `at`; idle values are omitted, and `slugs` names each active tenant."""

    at: datetime
    readings: Readings
    slugs: dict[UUID, str]

    def complete(self) -> Readings:
        """The readings, plus the idle value of each unlabelled metric of an active tenant."""
        idle = {
            MetricReading(metric.name, tenant_id): metric.idle
            for metric in METRICS
            if metric.idle is not None and not metric.label
            for tenant_id in self.slugs
        }
        return idle | dict(self.readings)


_MEASURES: tuple[Callable[[datetime], Measures], ...] = (
    writes,
    kept_and_taken,
    contradictions,
    recalls,
    latencies,
    turns,
    consolidations,
    record,
    staleness,
    open_scopes,
    index,
    consolidation,
    given_up,
    erasures,
    webhooks,
    refused,
)


def measure(now: datetime | None = None) -> Measured:
    """Measure all metrics once."""
    now = now or timezone.now()
    slugs = dict(Tenant.objects.filter(is_active=True).order_by().values_list("id", "slug"))
    readings: dict[MetricReading, float] = {}
    for taken in _MEASURES:
        for reading, value in taken(now).items():
            known = reading.tenant_id is None or reading.tenant_id in slugs
            if known and value != BY_NAME[reading.metric].idle:
                readings[reading] = value
    return Measured(now, readings, slugs)

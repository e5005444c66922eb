"""Metrics of a window of time: writes, recalls, turns, consolidations and refused values.

Queries name the active tenants where an index begins with the tenant, so that the index serves all of them at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Avg, Count, Q, QuerySet, Sum

from memories.metrics import definitions as named
from memories.metrics.alerts import MetricReading
from memories.metrics.definitions import DAY, HOUR, MINUTES, QUARTER, STAGES, TOTAL, Metric
from memories.metrics.states import HALF, MOST, percentile
from memories.models import ConsolidationRun, Message, RecallTrace, ReviewItem, ReviewKind, RunState
from memories.types import HIGH_SEVERITY
from tenants.models import AuditEvent, Tenant

# The audit log says what was written; a supersession is the write of its successor.
CREATED = ("fact.created", "playbook.created")
MERGED = ("fact.merged", "playbook.merged")
WRITTEN = (*CREATED, *MERGED, "episode.created", "catalog.created")
REPLACED = ("fact.superseded", "playbook.superseded")
REFUSED, TAKEN_OUT = "memory.blocked", "memory.masked"
# Recalls, newest first, whose stages are read for the percentiles.
MOST_TRACES = 20_000


def writes(now: datetime) -> dict[MetricReading, float]:
    """How much is written, and how much of it was known."""
    rows = (
        _events(now, HOUR)
        .filter(action__in=WRITTEN)
        .values("tenant_id")
        .annotate(
            late=Count("pk", filter=Q(created_at__gt=now - MINUTES)),
            told=Count("pk", filter=Q(action__in=(*CREATED, *MERGED))),
            known=Count("pk", filter=Q(action__in=MERGED)),
        )
    )
    found: dict[MetricReading, float] = {}
    for row in rows:
        tenant_id = row["tenant_id"]
        found[_of(named.WRITES, tenant_id)] = row["late"] / (MINUTES / timedelta(minutes=1))
        found[_of(named.REMEMBERED, tenant_id)] = row["told"]
        if row["told"]:
            found[_of(named.DEDUP_RATIO, tenant_id)] = row["known"] / row["told"]
    return found


def kept_out(now: datetime) -> dict[MetricReading, float]:
    """Sensitive values that did not get into memory. Which kinds were masked is in the payloads, as quoted names."""
    severe = Q()
    for kind in sorted(HIGH_SEVERITY):
        severe |= Q(payload__document__contains=f'"{kind.value}"')
    rows = (
        _events(now, DAY)
        .filter(action__in=(REFUSED, TAKEN_OUT))
        .values("tenant_id")
        .annotate(
            masked=Count("pk", filter=Q(action=TAKEN_OUT)),
            blocked=Count("pk", filter=Q(action=REFUSED) | (Q(action=TAKEN_OUT) & severe)),
        )
    )
    found: dict[MetricReading, float] = {}
    for row in rows:
        found[_of(named.BLOCKED, row["tenant_id"])] = row["blocked"]
        found[_of(named.MASKED, row["tenant_id"])] = row["masked"]
    return found


def contradictions(now: datetime) -> dict[MetricReading, float]:
    """What was replaced, and what a person was asked about, together."""
    replaced = _events(now, DAY).filter(action__in=REPLACED)
    asked = ReviewItem.objects.unscoped("metrics of the installation").filter(
        kind=ReviewKind.CONTRADICTION, **_within("created_at", now, DAY)
    )
    found: dict[MetricReading, float] = defaultdict(float)
    for tenant_id, count in (*_counted(replaced), *_counted(asked.order_by())):
        found[_of(named.CONTRADICTIONS, tenant_id)] += count
    return found


def recalls(now: datetime) -> dict[MetricReading, float]:
    """How many recalls there were, and how many brought anything."""
    rows = (
        RecallTrace.objects.unscoped("metrics of the installation")
        .filter(**_within("created_at", now, HOUR))
        .order_by()
        .values("tenant_id")
    )
    found: dict[MetricReading, float] = {}
    for row in rows.annotate(made=Count("pk"), hits=Count("pk", filter=Q(returned__gt=0))):
        found[_of(named.RECALLS, row["tenant_id"])] = row["made"]
        found[_of(named.HIT_RATIO, row["tenant_id"])] = row["hits"] / row["made"]
    return found


def latencies(now: datetime) -> dict[MetricReading, float]:
    """How long each stage took, of the newest recalls of the window."""
    rows = (
        RecallTrace.objects.unscoped("metrics of the installation")
        .filter(**_within("created_at", now, QUARTER))
        .order_by("-created_at")
    )
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


def turns(now: datetime) -> dict[MetricReading, float]:
    """How many turns were answered, and what memories took of their prompts."""
    rows = Message.objects.unscoped("metrics of the installation").filter(
        memory_tokens__isnull=False, **_within("created_at", now, HOUR)
    )
    found: dict[MetricReading, float] = {}
    for row in rows.order_by().values("tenant_id").annotate(answers=Count("pk"), tokens=Avg("memory_tokens")):
        found[_of(named.TURNS, row["tenant_id"])] = row["answers"]
        found[_of(named.MEMORY_TOKENS, row["tenant_id"])] = row["tokens"]
    return found


def consolidations(now: datetime) -> dict[MetricReading, float]:
    """The runs that failed, and what all of them cost."""
    rows = (
        ConsolidationRun.objects.unscoped("metrics of the installation")
        .filter(**_within("started_at", now, DAY))
        .order_by()
        .values("tenant_id")
    )
    found: dict[MetricReading, float] = {}
    for row in rows.annotate(failed=Count("pk", filter=Q(state=RunState.FAILED)), cost=Sum("cost")):
        found[_of(named.CONSOLIDATION_FAILURES, row["tenant_id"])] = row["failed"]
        found[_of(named.CONSOLIDATION_COST, row["tenant_id"])] = float(row["cost"] or 0)
    return found


def _events(now: datetime, window: timedelta) -> QuerySet[AuditEvent]:
    """The audit events of active tenants in the window, by the index on tenant and time."""
    tenants = Tenant.objects.filter(is_active=True).order_by().values("id")
    return AuditEvent.objects.filter(tenant_id__in=tenants, **_within("created_at", now, window)).order_by()


def _within(column: str, now: datetime, window: timedelta) -> dict[str, datetime]:
    return {f"{column}__gt": now - window, f"{column}__lte": now}


def _counted(rows: QuerySet[AuditEvent] | QuerySet[ReviewItem]) -> Iterable[tuple[UUID, int]]:
    return rows.values_list("tenant_id").annotate(Count("pk"))


def _of(metric: Metric, tenant_id: UUID, label: str = "") -> MetricReading:
    return MetricReading(metric.name, tenant_id, label)

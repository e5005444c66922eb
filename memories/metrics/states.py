"""Metrics of the present state: how stale facts are, and how many reviews are open; and percentiles by nearest rank.

Source: https://en.wikipedia.org/wiki/Percentile#The_nearest-rank_method
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, F, Q, QuerySet, Window
from django.db.models.functions import Ceil, RowNumber

from memories.metrics import definitions as named
from memories.metrics.alerts import MetricReading
from memories.models import Fact, Playbook, Session
from memories.types import CURRENT

HALF, MOST = 0.5, 0.95


def nearest_rank(share: float, count: int) -> int:
    """The place, from 1, of the value that `share` of `count` ordered values do not exceed."""
    return max(1, math.ceil(share * count - 1e-9))


def percentile(ordered: Sequence[float], share: float) -> float:
    """Of values in order, at least one."""
    return ordered[nearest_rank(share, len(ordered)) - 1]


_SHARES = {HALF: named.STALENESS_P50, MOST: named.STALENESS_P95}


def staleness(now: datetime) -> dict[MetricReading, float]:  # noqa: ARG001 - as of the last scan
    """Percentiles of the current facts, which the database ranks; see `ranks.nearest_rank`."""
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


def open_scopes(now: datetime) -> dict[MetricReading, float]:
    """Of the member of each tenant who has the most: tasks with current memories, and sessions that go on.

    Sessions without an end, such as imported ones, do not go on.
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

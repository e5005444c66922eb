"""What is known of the hygiene of a tenant's memories, or of all: numbers, never words.

Percentiles are those of the metrics (`memories/metrics`): of current facts, as the last scan found them.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Count, Min, Q, QuerySet
from django.utils import timezone

from memories.models import Episode, Fact, HygieneRun, Playbook, ReviewDecision, ReviewItem, ReviewKind
from memories.types import Status
from tenants.models import AuditEvent

# Of the histogram, each a tenth wide.
BINS = 10
REFUSED_WINDOW = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class OpenReviews:
    """Questions of one kind that wait, and since when the oldest does."""

    kind: ReviewKind
    count: int
    oldest: datetime | None


@dataclass(frozen=True, slots=True)
class Report:
    """`staleness` counts facts by tenths; `sensitivity` memories by kind and handling; `refused` events of a day."""

    facts: dict[str, int]
    playbooks: dict[str, int]
    scored: int
    p50: float | None
    p95: float | None
    staleness: tuple[int, ...]
    reviews: tuple[OpenReviews, ...]
    junk: int
    sensitivity: dict[str, dict[str, int]]
    refused: dict[str, int]
    last_run: HygieneRun | None


def hygiene_report(tenant_id: UUID | None = None, *, now: datetime | None = None) -> Report:
    """Look once."""
    now = now or timezone.now()
    ours = Q(tenant=tenant_id) if tenant_id else Q()
    scores = _scores(ours)
    open_items = ReviewItem.objects.filter(ours, decision=ReviewDecision.OPEN).order_by()
    runs = HygieneRun.objects.filter(Q(tenant=None) | ours) if tenant_id else HygieneRun.objects.all()
    return Report(
        facts=_by_status(Fact.objects.filter(ours)),
        playbooks=_by_status(Playbook.objects.filter(ours)),
        scored=scores.total(),
        p50=_percentile(scores, 0.5),
        p95=_percentile(scores, 0.95),
        staleness=_histogram(scores),
        reviews=tuple(
            OpenReviews(ReviewKind(kind), count, oldest)
            for kind, count, oldest in open_items.values_list("kind").annotate(Count("pk"), Min("created_at"))
        ),
        junk=open_items.filter(kind=ReviewKind.EVICTION, evidence__has_key="found").count(),
        sensitivity=_marks(ours),
        refused=_refused(tenant_id, now),
        last_run=runs.order_by("-started_at").first(),
    )


def _by_status(rows: QuerySet[Any]) -> dict[str, int]:
    counted = dict(rows.order_by().values_list("status").annotate(Count("pk")))
    return {status.value: counted.get(status.value, 0) for status in Status}


def _scores(ours: Q) -> Counter[float]:
    """How many facts have each staleness, of which there are a hundred."""
    scored = Fact.objects.current().filter(ours, staleness__isnull=False)
    return Counter(dict(scored.order_by().values_list("staleness").annotate(Count("pk"))))


def _percentile(scores: Counter[float], share: float) -> float | None:
    """By the nearest rank, as the metrics do."""
    place = max(1, math.ceil(share * scores.total() - 1e-9))
    for value in sorted(scores):
        place -= scores[value]
        if place <= 0:
            return value
    return None


def _histogram(scores: Counter[float]) -> tuple[int, ...]:
    bins = [0] * BINS
    for value, count in scores.items():
        bins[min(BINS - 1, int(value * BINS + 1e-9))] += count
    return tuple(bins)


def _marks(ours: Q) -> dict[str, dict[str, int]]:
    """How many memories hold each kind of sensitive value, and how it was handled."""
    counts: dict[str, Counter[str]] = {}
    for model in (Fact, Playbook, Episode):
        marked = model.objects.filter(ours).exclude(sensitivity={}).order_by()
        for marks, count in marked.values_list("sensitivity").annotate(Count("pk")):
            for kind, handling in marks.items():
                counts.setdefault(kind, Counter())[handling] += count
    return {kind: dict(counts[kind]) for kind in sorted(counts)}


def _refused(tenant_id: UUID | None, now: datetime) -> dict[str, int]:
    """Events of the last day: writes that were refused, and memories in which something was masked."""
    events = AuditEvent.objects.filter(
        action__in=("memory.blocked", "memory.masked"), created_at__gt=now - REFUSED_WINDOW
    )
    if tenant_id:
        events = events.filter(tenant_id=tenant_id)
    counted = dict(events.order_by().values_list("action").annotate(Count("pk")))
    return {"blocked": counted.get("memory.blocked", 0), "masked": counted.get("memory.masked", 0)}

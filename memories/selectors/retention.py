"""Reads for the retention services: memories that may be due, inputs of staleness, and figures for the report.

A dry run and a real run plan with the same functions. The queries select every due memory and possibly more;
`hygiene/ageing.py` decides. Of the text, only the start of a fact is read, because its class may depend on it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any
from uuid import UUID

from django.db.models import Count, Exists, Min, OuterRef, Q, QuerySet
from django.db.models.functions import Left
from django.utils import timezone

from memories.constants import ARCHIVE_AFTER, DOUBTFUL_AFTER, DOUBTFUL_CONFIDENCE, ERASE_EVICTED_AFTER
from memories.hygiene.ageing import (
    USE_WINDOW,
    About,
    EndingDecision,
    Life,
    Lifetime,
    StalenessInputs,
    decide,
    due_of_fact,
    is_doubtful,
)
from memories.models import (
    CHAINED_MODELS,
    Episode,
    Fact,
    HygieneRun,
    Mention,
    Playbook,
    RecallTrace,
    Relation,
    ReviewDecision,
    ReviewItem,
    ReviewKind,
)
from memories.selectors.policies import expiry_rules_of
from memories.types import CURRENT, Kind, Owner, Status
from tenants.models import AuditEvent, Membership

Ending = Fact | Playbook

# An erasure reads transcripts and records, and takes about this many times as long as another ending.
ERASURE_EFFORT = 10


@dataclass(frozen=True, slots=True)
class Planned:
    """A memory, without its text, and the decision on it."""

    row: Ending
    decision: EndingDecision


def _every(model: Any) -> Any:
    return model.objects.unscoped("retention of every owner")


def owners_with_due(now: datetime, tenant_id: UUID | None) -> list[Owner]:
    """The owners with memories that may be due, optionally of one tenant: members, active or not, tenants, and all."""
    owners: set[tuple[UUID | None, UUID | None]] = set()
    member = Membership.objects.filter(tenant=OuterRef("tenant"), user=OuterRef("user"))
    for model in (Fact, Playbook):
        rows = _due(model, now).filter(Q(user=None) | Exists(member))
        if tenant_id is not None:
            rows = rows.filter(tenant=tenant_id)
        owners.update(rows.order_by().values_list("tenant_id", "user_id").distinct())
    return [Owner(*owner) for owner in sorted(owners, key=str)]


def due_batches(owner: Owner, now: datetime, size: int) -> Iterator[tuple[Kind, list[UUID]]]:
    """Ids of an owner's memories that may be due, in batches of `size`.

    Batches of memories to erase are ERASURE_EFFORT times smaller.
    """
    for model in (Fact, Playbook):
        rows = _due(model, now).filter(tenant=owner.tenant_id, user=owner.user_id).order_by("pk")
        evicted = Q(status=Status.EVICTED)
        for some, at_once in ((rows.exclude(evicted), size), (rows.filter(evicted), max(1, size // ERASURE_EFFORT))):
            ids = iter(list(some.values_list("pk", flat=True)))
            while batch := list(islice(ids, at_once)):
                yield model.kind, batch


def plan(kind: Kind, ids: Sequence[UUID], *, now: datetime, keep_superseded: bool) -> list[Planned]:
    """The decisions on these memories in their present state; memories without a decision are left out."""
    every = _every(CHAINED_MODELS[kind])
    rows: list[Ending] = list(every.filter(pk__in=ids).defer(*_WORDS[kind]).order_by("pk"))
    back = _brought_back([row.pk for row in rows if row.status == Status.SUPERSEDED])
    planned = []
    for row in rows:
        decision = decide(_life(row, brought_back=row.pk in back), now=now, keep_superseded=keep_superseded)
        if decision is not None:
            planned.append(Planned(row, decision))
    return planned


def _due(model: type[Fact | Playbook], now: datetime) -> QuerySet[Any]:
    due = Q(status=Status.EVICTED, evicted_at__lte=now - ERASE_EVICTED_AFTER) | Q(
        status=Status.SUPERSEDED, archived_at=None, superseded_at__lte=now - ARCHIVE_AFTER
    )
    if model is Fact:
        since = now - DOUBTFUL_AFTER
        due |= ~Q(status=Status.EVICTED) & Q(expires_at__lte=now)
        due |= Q(status__in=CURRENT, review_after__lte=now)
        due |= Q(status=Status.ACTIVE, confidence__lt=DOUBTFUL_CONFIDENCE) & (
            Q(last_verified_at__lte=since) | Q(last_verified_at=None, learned_at__lte=since)
        )
    due_rows: QuerySet[Any] = _every(model).filter(due)
    return due_rows


def _life(row: Ending, *, brought_back: bool) -> Life:
    own = {each.name: getattr(row, each.name) for each in fields(Life) if hasattr(type(row), each.name)}
    return Life(**own, confirmed_at=_confirmed_at(row), brought_back=brought_back)


def _confirmed_at(row: Ending) -> datetime:
    return (row.last_verified_at if isinstance(row, Fact) else None) or row.learned_at


def _brought_back(ids: Collection[UUID]) -> frozenset[UUID]:
    """Those memories that were taken out of the archive before."""
    if not ids:
        return frozenset()
    events = AuditEvent.objects.filter(target_id__in=ids, action__endswith=".unarchived")
    return frozenset(target for target in events.values_list("target_id", flat=True) if target)


# The words that mark a fact as a preference are within these first characters.
_OPENING_CHARACTERS = 40
# Columns that no decision uses: text, and data for the search plane.
_WORDS: Mapping[Kind, Sequence[str]] = {
    Kind.SEMANTIC: ("text", "sensitivity", "embedding", "token_ids"),
    Kind.PROCEDURAL: ("text", "title", "trigger", "steps", "sensitivity", "embedding", "token_ids"),
}


@dataclass(frozen=True, slots=True)
class UsageCounts:
    """Recalls of each memory in conversations since `since`; `asked` is true if there was any recall at all."""

    since: datetime
    times: Mapping[UUID, int]
    asked: bool


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The facts about an owner that affect each of their memories.

    `contradicted` are memories in an open review of a contradiction; `proposed` are those in an open review of
    staleness.
    """

    use: UsageCounts
    contradicted: frozenset[UUID]
    proposed: frozenset[UUID]
    rules: Mapping[str, Lifetime]


def use_by(owner: Owner, now: datetime) -> UsageCounts:
    """The uses of an owner's memories within USE_WINDOW, counted once for all of them.

    A recall counts unless the answer was not made from the memory.

    Shared memory is not counted, because one member's questions must not change another member's recalls.
    """
    since = now - USE_WINDOW
    if owner.user_id is None:
        return UsageCounts(since, {}, asked=False)
    recalled = _every(Mention).filter(
        tenant=owner.tenant_id, user=owner.user_id, relation=Relation.RECALLED, message__created_at__gte=since
    )
    recalled = recalled.filter(Q(used=True) | Q(used__isnull=True))
    times = dict(recalled.order_by().values_list("memory_id").annotate(Count("pk")))
    traces = RecallTrace.objects.of_owner(owner.tenant_id, owner.user_id).filter(created_at__gte=since)
    return UsageCounts(since, times, asked=bool(times) or traces.exists())


def surroundings_of(owner: Owner, use: UsageCounts) -> Surroundings:
    """Read the present surroundings; only open reviews count."""
    open_items = (
        _every(ReviewItem).filter(tenant=owner.tenant_id, user=owner.user_id, decision=ReviewDecision.OPEN).order_by()
    )
    pairs = open_items.filter(kind=ReviewKind.CONTRADICTION).values_list("first", "second")
    stale = open_items.filter(kind=ReviewKind.EVICTION, evidence__has_key="staleness").values_list("first", "playbook")
    return Surroundings(use, _ids(pairs), _ids(stale), expiry_rules_of(owner.tenant_id))


def page_of(owner: Owner, kind: Kind, *, after: UUID | None, size: int, now: datetime) -> list[UUID]:
    """The next `size` ids of an owner's current memories after the id `after`, without expired ones."""
    rows = _every(Fact).unexpired(now) if kind is Kind.SEMANTIC else _every(Playbook)
    later = Q(pk__gt=after) if after else Q()
    of_owner = rows.current().filter(later, tenant=owner.tenant_id, user=owner.user_id)
    return list(of_owner.order_by("pk").values_list("pk", flat=True)[:size])


def rows_of(kind: Kind, ids: Sequence[UUID]) -> list[Fact | Playbook]:
    """The current ones of these memories, without text; facts have `opening`, the start of their text."""
    every = _every(CHAINED_MODELS[kind]).current()
    rows: QuerySet[Any] = every.filter(pk__in=ids).defer(*_WORDS[kind]).order_by("pk")
    return list(rows.annotate(opening=Left("text", _OPENING_CHARACTERS)) if kind is Kind.SEMANTIC else rows)


def standing_of(row: Fact | Playbook, around: Surroundings, *, now: datetime) -> StalenessInputs:
    """The inputs of `row`'s staleness. The row's own dates give a lower bound for its uses."""
    uses = around.use.times.get(row.pk, 0)
    confirmed_at = _confirmed_at(row)
    inputs = StalenessInputs(
        row.status, row.learned_at, confirmed_at, uses=uses, asked=around.use.asked, scanned=row.staleness
    )
    if isinstance(row, Playbook):
        # A playbook has no due date and no contradictions; an attempt counts as a use.
        tried = sum(at is not None and at >= around.use.since for at in (row.last_success_at, row.last_failure_at))
        return replace(inputs, uses=max(uses, tried))
    used_lately = row.last_used_at is not None and row.last_used_at >= around.use.since
    about = About(row.category, row.key, row.source, row.scope, getattr(row, "opening", ""))
    dates = {name: getattr(row, name) for name in ("review_after", "expires_at", "valid_to", "pinned")}
    return replace(
        inputs,
        due_at=due_of_fact(about, around.rules, confirmed_at=confirmed_at, **dates),
        uses=max(uses, int(used_lately)),
        contradicted=row.pk in around.contradicted,
        doubtful=is_doubtful(row.confidence, confirmed_at, pinned=row.pinned, now=now),
    )


def _ids(pairs: Iterable[tuple[UUID | None, UUID | None]]) -> frozenset[UUID]:
    return frozenset(pk for pair in pairs for pk in pair if pk is not None)


# Bins of the staleness histogram, each 0.1 wide.
BINS = 10
REFUSED_WINDOW = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class OpenReviews:
    """The number of open reviews of one kind, and the time of the oldest."""

    kind: ReviewKind
    count: int
    oldest: datetime | None


@dataclass(frozen=True, slots=True)
class Report:
    """Figures of memory hygiene.

    `staleness` counts facts by tenths; `sensitivity` counts memories by kind and handling; `refused` counts events of
    the last day.
    """

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


def hygiene_report(tenant_id: UUID | None = None) -> Report:
    """The present figures of one tenant, or of all."""
    ours = Q(tenant=tenant_id) if tenant_id else Q()
    scores = _scores(ours)
    open_items = _every(ReviewItem).filter(ours, decision=ReviewDecision.OPEN).order_by()
    runs = HygieneRun.objects.filter(Q(tenant=None) | ours) if tenant_id else HygieneRun.objects.all()
    return Report(
        facts=_by_status(_every(Fact).filter(ours)),
        playbooks=_by_status(_every(Playbook).filter(ours)),
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
        refused=_refused(tenant_id, timezone.now()),
        last_run=runs.order_by("-started_at").first(),
    )


def _by_status(rows: QuerySet[Any]) -> dict[str, int]:
    counted = dict(rows.order_by().values_list("status").annotate(Count("pk")))
    return {status.value: counted.get(status.value, 0) for status in Status}


def _scores(ours: Q) -> Counter[float]:
    """The number of facts by staleness, which is rounded to hundredths."""
    scored = _every(Fact).current().filter(ours, staleness__isnull=False)
    return Counter(dict(scored.order_by().values_list("staleness").annotate(Count("pk"))))


def _percentile(scores: Counter[float], share: float) -> float | None:
    """By nearest rank, as in the metrics; None without scores."""
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
    """The number of memories by kind of sensitive value and its handling."""
    counts: dict[str, Counter[str]] = {}
    for model in (Fact, Playbook, Episode):
        marked = _every(model).filter(ours).exclude(sensitivity={}).order_by()
        for marks, count in marked.values_list("sensitivity").annotate(Count("pk")):
            for kind, handling in marks.items():
                counts.setdefault(kind, Counter())[handling] += count
    return {kind: dict(counts[kind]) for kind in sorted(counts)}


def _refused(tenant_id: UUID | None, now: datetime) -> dict[str, int]:
    """The number of refused writes (`blocked`) and of masked memories (`masked`) in the last day."""
    events = AuditEvent.objects.filter(
        action__in=("memory.blocked", "memory.masked"), created_at__gt=now - REFUSED_WINDOW
    )
    if tenant_id:
        events = events.filter(tenant_id=tenant_id)
    counted = dict(events.order_by().values_list("action").annotate(Count("pk")))
    return {"blocked": counted.get("memory.blocked", 0), "masked": counted.get("memory.masked", 0)}

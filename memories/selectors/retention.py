"""Reads of the retention services: memories that may be due, the inputs of staleness, and figures of the whole.

A dry run and a real one plan by the same functions. The queries select more than is due and never less;
`hygiene/ageing.py` decides. Of words only the beginning of a fact is read, where its class depends on it.
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

# An erasure looks through transcripts and records: it takes about so many times as long as any other ending.
ERASURE_EFFORT = 10


@dataclass(frozen=True, slots=True)
class Planned:
    """A memory, without its words, and what is to become of it."""

    row: Ending
    decision: EndingDecision


def owners_with_due(now: datetime, tenant_id: UUID | None) -> list[Owner]:
    """Whose memories may be due, those of one tenant if it is named: members, active or not, tenants, and all."""
    owners: set[tuple[UUID | None, UUID | None]] = set()
    member = Membership.objects.filter(tenant=OuterRef("tenant"), user=OuterRef("user"))
    for model in (Fact, Playbook):
        rows = _due(model, now).filter(Q(user=None) | Exists(member))
        if tenant_id is not None:
            rows = rows.filter(tenant=tenant_id)
        owners.update(rows.order_by().values_list("tenant_id", "user_id").distinct())
    return [Owner(*owner) for owner in sorted(owners, key=str)]


def due_batches(owner: Owner, now: datetime, size: int) -> Iterator[tuple[Kind, list[UUID]]]:
    """The ids of an owner's memories that may be due, `size` at a time; fewer of those to erase, which takes longer."""
    for model in (Fact, Playbook):
        rows = _due(model, now).filter(tenant=owner.tenant_id, user=owner.user_id).order_by("pk")
        evicted = Q(status=Status.EVICTED)
        for some, at_once in ((rows.exclude(evicted), size), (rows.filter(evicted), max(1, size // ERASURE_EFFORT))):
            ids = iter(list(some.values_list("pk", flat=True)))
            while batch := list(islice(ids, at_once)):
                yield model.kind, batch


def plan(kind: Kind, ids: Sequence[UUID], *, now: datetime, keep_superseded: bool) -> list[Planned]:
    """What is to become of these memories, as they are at this moment."""
    every = CHAINED_MODELS[kind].objects.unscoped("retention of every owner")
    rows: list[Ending] = list(every.filter(pk__in=ids).defer(*_WORDS[kind]).order_by("pk"))
    back = _brought_back([row.pk for row in rows if row.status == Status.SUPERSEDED])
    planned = []
    for row in rows:
        decision = decide(_life(row, brought_back=row.pk in back), now=now, keep_superseded=keep_superseded)
        if decision is not None:
            planned.append(Planned(row, decision))
    return planned


def _due(model: type[Fact | Playbook], now: datetime) -> QuerySet[Fact] | QuerySet[Playbook]:
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
    return model.objects.unscoped("retention of every owner").filter(due)


def _life(row: Ending, *, brought_back: bool) -> Life:
    own = {each.name: getattr(row, each.name) for each in fields(Life) if hasattr(type(row), each.name)}
    return Life(**own, confirmed_at=_confirmed_at(row), brought_back=brought_back)


def _confirmed_at(row: Ending) -> datetime:
    return (row.last_verified_at if isinstance(row, Fact) else None) or row.learned_at


def _brought_back(ids: Collection[UUID]) -> frozenset[UUID]:
    """Those that were taken out of the archive again."""
    if not ids:
        return frozenset()
    events = AuditEvent.objects.filter(target_id__in=ids, action__endswith=".unarchived")
    return frozenset(target for target in events.values_list("target_id", flat=True) if target)


# The words that mark a fact as a preference are at its beginning.
_OPENING_CHARACTERS = 40
# The columns that decide nothing here: words, and what was made for the search plane.
_WORDS: Mapping[Kind, Sequence[str]] = {
    Kind.SEMANTIC: ("text", "sensitivity", "embedding", "token_ids"),
    Kind.PROCEDURAL: ("text", "title", "trigger", "steps", "sensitivity", "embedding", "token_ids"),
}


@dataclass(frozen=True, slots=True)
class UsageCounts:
    """How often each memory was recalled in conversations since `since`; `asked`: whether anything was at all."""

    since: datetime
    times: Mapping[UUID, int]
    asked: bool


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What of an owner bears on each of their memories.

    `contradicted`: those that an open review asks about; `proposed`: those that are to go for their staleness.
    """

    use: UsageCounts
    contradicted: frozenset[UUID]
    proposed: frozenset[UUID]
    rules: Mapping[str, Lifetime]


def use_by(owner: Owner, now: datetime) -> UsageCounts:
    """What an owner's recalls of the window used, counted once for all their memories.

    Of what is shared nothing is counted: what one member asks must not move what another is given.
    """
    since = now - USE_WINDOW
    if owner.user_id is None:
        return UsageCounts(since, {}, asked=False)
    recalled = Mention.objects.unscoped("retention of every owner").filter(
        tenant=owner.tenant_id, user=owner.user_id, relation=Relation.RECALLED, message__created_at__gte=since
    )
    times = dict(recalled.order_by().values_list("memory_id").annotate(Count("pk")))
    traces = RecallTrace.objects.of_owner(owner.tenant_id, owner.user_id).filter(created_at__gte=since)
    return UsageCounts(since, times, asked=bool(times) or traces.exists())


def surroundings_of(owner: Owner, use: UsageCounts) -> Surroundings:
    """As they are at this moment: a review that was decided meanwhile bears on nothing any more."""
    open_items = (
        ReviewItem.objects.unscoped("retention of every owner")
        .filter(tenant=owner.tenant_id, user=owner.user_id, decision=ReviewDecision.OPEN)
        .order_by()
    )
    pairs = open_items.filter(kind=ReviewKind.CONTRADICTION).values_list("first", "second")
    stale = open_items.filter(kind=ReviewKind.EVICTION, evidence__has_key="staleness").values_list("first", "playbook")
    return Surroundings(use, _ids(pairs), _ids(stale), expiry_rules_of(owner.tenant_id))


def page_of(owner: Owner, kind: Kind, *, after: UUID | None, size: int, now: datetime) -> list[UUID]:
    """The ids of the next of an owner's current memories; what has expired is not among them."""
    rows = (
        Fact.objects.unscoped("retention of every owner").unexpired(now)
        if kind is Kind.SEMANTIC
        else Playbook.objects.unscoped("retention of every owner").all()
    )
    later = Q(pk__gt=after) if after else Q()
    of_owner = rows.current().filter(later, tenant=owner.tenant_id, user=owner.user_id)
    return list(of_owner.order_by("pk").values_list("pk", flat=True)[:size])


def rows_of(kind: Kind, ids: Sequence[UUID]) -> list[Fact | Playbook]:
    """Those of the memories that are current, without their words but the first of a fact."""
    every = CHAINED_MODELS[kind].objects.unscoped("retention of every owner").current()
    rows: QuerySet[Any] = every.filter(pk__in=ids).defer(*_WORDS[kind]).order_by("pk")
    return list(rows.annotate(opening=Left("text", _OPENING_CHARACTERS)) if kind is Kind.SEMANTIC else rows)


def standing_of(row: Fact | Playbook, around: Surroundings, *, now: datetime) -> StalenessInputs:
    """What decides how stale `row` is. It was used at least as often as its own dates tell."""
    uses = around.use.times.get(row.pk, 0)
    confirmed_at = _confirmed_at(row)
    inputs = StalenessInputs(
        row.status, row.learned_at, confirmed_at, uses=uses, asked=around.use.asked, scanned=row.staleness
    )
    if isinstance(row, Playbook):
        # Nothing ages a way to do something but that it fails, and nothing contradicts it; trying it is using it.
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
    open_items = (
        ReviewItem.objects.unscoped("retention of every owner").filter(ours, decision=ReviewDecision.OPEN).order_by()
    )
    runs = HygieneRun.objects.filter(Q(tenant=None) | ours) if tenant_id else HygieneRun.objects.all()
    return Report(
        facts=_by_status(Fact.objects.unscoped("retention of every owner").filter(ours)),
        playbooks=_by_status(Playbook.objects.unscoped("retention of every owner").filter(ours)),
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
    scored = Fact.objects.unscoped("retention of every owner").current().filter(ours, staleness__isnull=False)
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
        marked = model.objects.unscoped("retention of every owner").filter(ours).exclude(sensitivity={}).order_by()
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

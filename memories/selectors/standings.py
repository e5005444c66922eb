"""How memories stand with their owner: what decides their staleness, read in few statements for many of them.

Invariant: the one reader of a dry scan and of a real one, so they agree; `hygiene/staleness.py` decides. Words are read
only of the facts whose class hangs on their first ones, and none is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Count, Q
from django.db.models.functions import Left

from memories.hygiene.endings import is_doubtful
from memories.hygiene.expiry import About, Lifetime
from memories.hygiene.staleness import USE_WINDOW, Standing, due_of_fact
from memories.models import Fact, Mention, Playbook, RecallTrace, Relation, ReviewDecision, ReviewItem, ReviewKind
from memories.selectors.policies import expiry_rules_of
from memories.types import Kind, Owner

# The words by which a fact is told to be a preference stand at its beginning.
_OPENING_CHARACTERS = 40
_COMMON = ("id", "tenant", "user", "scope", "version", "status", "learned_at", "staleness")
_OF_FACTS = (
    "key", "category", "source", "confidence", "pinned", "valid_to", "last_used_at", "last_verified_at",
    "review_after", "expires_at",
)  # fmt: skip
_OF_PLAYBOOKS = ("last_success_at", "last_failure_at")


@dataclass(frozen=True, slots=True)
class Use:
    """How often each memory was recalled in conversations since `since`; `asked`: whether anything was at all."""

    since: datetime
    times: Mapping[UUID, int]
    asked: bool


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What of an owner bears on each of their memories.

    `contradicted`: those that an open review asks about; `proposed`: those that are to go for their staleness.
    """

    use: Use
    contradicted: frozenset[UUID]
    proposed: frozenset[UUID]
    rules: Mapping[str, Lifetime]


def use_by(owner: Owner, now: datetime) -> Use:
    """What an owner's recalls of the window used, counted once for all their memories.

    Of what is shared nothing is counted: what one member asks must not move what another is given.
    """
    since = now - USE_WINDOW
    if owner.user_id is None:
        return Use(since, {}, asked=False)
    recalled = Mention.objects.filter(
        tenant=owner.tenant_id, user=owner.user_id, relation=Relation.RECALLED, message__created_at__gte=since
    )
    times = dict(recalled.order_by().values_list("memory_id").annotate(Count("pk")))
    traces = RecallTrace.objects.filter(tenant=owner.tenant_id, user=owner.user_id, created_at__gte=since)
    return Use(since, times, asked=bool(times) or traces.exists())


def surroundings_of(owner: Owner, use: Use) -> Surroundings:
    """As they are at this moment: a review that was decided meanwhile bears on nothing any more."""
    open_items = ReviewItem.objects.filter(
        tenant=owner.tenant_id, user=owner.user_id, decision=ReviewDecision.OPEN
    ).order_by()
    pairs = open_items.filter(kind=ReviewKind.CONTRADICTION).values_list("first", "second")
    stale = open_items.filter(kind=ReviewKind.EVICTION, evidence__has_key="staleness").values_list("first", "playbook")
    return Surroundings(use, _ids(pairs), _ids(stale), expiry_rules_of(owner.tenant_id))


def page_of(owner: Owner, kind: Kind, *, after: UUID | None, size: int, now: datetime) -> list[UUID]:
    """The ids of the next of an owner's current memories; what has expired is not among them."""
    rows = Fact.objects.unexpired(now) if kind is Kind.SEMANTIC else Playbook.objects.all()
    later = Q(pk__gt=after) if after else Q()
    of_owner = rows.current().filter(later, tenant=owner.tenant_id, user=owner.user_id)
    return list(of_owner.order_by("pk").values_list("pk", flat=True)[:size])


def rows_of(kind: Kind, ids: Sequence[UUID]) -> list[Fact | Playbook]:
    """Those of the memories that are current, without their words but the first of a fact."""
    if kind is Kind.SEMANTIC:
        facts = Fact.objects.current().filter(pk__in=ids).only(*_COMMON, *_OF_FACTS)
        return list(facts.annotate(opening=Left("text", _OPENING_CHARACTERS)).order_by("pk"))
    return list(Playbook.objects.current().filter(pk__in=ids).only(*_COMMON, *_OF_PLAYBOOKS).order_by("pk"))


def standing_of(row: Fact | Playbook, around: Surroundings, *, now: datetime) -> Standing:
    """What decides how stale `row` is. It was used at least as often as its own dates tell."""
    uses = around.use.times.get(row.pk, 0)
    if isinstance(row, Playbook):
        # Nothing ages a way to do something but that it fails, and nothing contradicts it; trying it is using it.
        tried = sum(at is not None and at >= around.use.since for at in (row.last_success_at, row.last_failure_at))
        return Standing(
            row.status,
            row.learned_at,
            row.learned_at,
            uses=max(uses, tried),
            asked=around.use.asked,
            scanned=row.staleness,
        )
    confirmed_at = row.last_verified_at or row.learned_at
    used_lately = row.last_used_at is not None and row.last_used_at >= around.use.since
    about = About(row.category, row.key, row.source, row.scope, getattr(row, "opening", ""))
    return Standing(
        row.status,
        row.learned_at,
        confirmed_at,
        due_at=due_of_fact(
            about,
            around.rules,
            confirmed_at=confirmed_at,
            review_after=row.review_after,
            expires_at=row.expires_at,
            valid_to=row.valid_to,
            pinned=row.pinned,
        ),
        uses=max(uses, int(used_lately)),
        asked=around.use.asked,
        contradicted=row.pk in around.contradicted,
        doubtful=is_doubtful(row.confidence, confirmed_at, pinned=row.pinned, now=now),
        scanned=row.staleness,
    )


def _ids(pairs: Iterable[tuple[UUID | None, UUID | None]]) -> frozenset[UUID]:
    return frozenset(pk for pair in pairs for pk in pair if pk is not None)

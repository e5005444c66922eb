"""The state before the attacks, with which answers and rows are compared during and after them.

Watchers write nothing and their recalls are not recorded, so any change that they see was caused by others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from memories.constants import CANDIDATES_PER_SUB_QUERY
from memories.embedding import Floats, encoder
from memories.errors import SearchUnavailable
from memories.models import MEMORY_MODELS, ForgetProposal, Item, LearningOperation, ReviewItem
from memories.recall.pipeline import recall
from memories.recall.query import parse
from memories.search import search_plane
from memories.selectors.member_lists import counts_of
from memories.types import ALL_KINDS, CandidateRequest, Kind
from proof.attack import PROOF
from proof.world import QUESTIONS, Persona, Resident, World

# Scores are sums of 32-bit floats in varying order (measured: 3e-8); another owner's document moves a score by 1e-3 or
# more if it moves it at all.
TOLERANCE = 1e-5

Scores = tuple[tuple[UUID | str, tuple[float | None, ...]], ...]
"""Ids in their order, with their scores."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """Rows, counts, recall answers and candidates at `now`."""

    now: datetime
    questions: tuple[str, ...]
    vectors: dict[str, Floats]
    rows: dict[UUID, tuple[object, ...]]
    counts: dict[int, dict[Kind, int]]
    answers: dict[tuple[int, str], Scores]
    candidates: dict[tuple[int, str], Scores]
    firsts: dict[object, Scores] = field(default_factory=dict)

    def first(self, question: object, scores: Scores) -> Scores:
        """The scores that this question got the first time; `scores` if this is the first."""
        return self.firsts.setdefault(question, scores)

    def recalled(self, watcher: Resident, question: str) -> Scores:
        """A watcher's recall. Raises SearchUnavailable if the search plane did not answer."""
        answer = recall(watcher.principal, question, limit=100, record=False, now=self.now)
        if answer.degraded:
            raise SearchUnavailable("A recall without the search plane cannot be compared with one that had it.")
        return tuple((item.id, (item.score,)) for item in answer.items)

    def looked_up(self, watcher: Resident, question: str) -> Scores:
        """The search plane's candidates for a watcher, with the score of each sub-query."""
        vector = self.vectors[question]
        request = CandidateRequest(ALL_KINDS, parse(question, ()).terms, lambda: vector, CANDIDATES_PER_SUB_QUERY)
        hits = search_plane().candidates(watcher.principal, request).hits
        return tuple((hit.id, (hit.lexical, hit.dense)) for hit in sorted(hits, key=lambda hit: hit.id))

    def changed(self, world: World) -> list[UUID]:
        """Ids of the recorded memories and reviews that are gone or differ now."""
        rows = _stored(world)
        return [id_ for id_, row in self.rows.items() if rows.get(id_) != row]


def measured(world: World, now: datetime) -> Baseline:
    """Record the state now; everything written must have been indexed before."""
    vectors = dict(zip(QUESTIONS, encoder().encode(QUESTIONS), strict=True))
    baseline = Baseline(now, QUESTIONS, vectors, _stored(world), {}, {}, {})
    for watcher in world.of(Persona.WATCHER):
        baseline.counts[watcher.number] = counts_of(watcher.principal)
        for question in QUESTIONS:
            baseline.answers[watcher.number, question] = baseline.recalled(watcher, question)
            baseline.candidates[watcher.number, question] = baseline.looked_up(watcher, question)
    return baseline


def has_moved(before: Scores, now: Scores) -> bool:
    """True if ids, order or scores differ by more than TOLERANCE."""
    if [id_ for id_, _ in before] != [id_ for id_, _ in now]:
        return True
    pairs = (pair for (_, old), (_, new) in zip(before, now, strict=True) for pair in zip(old, new, strict=True))
    return any(not _close(old, new) for old, new in pairs)


def _close(old: float | None, new: float | None) -> bool:
    return old == new if old is None or new is None else abs(old - new) <= TOLERANCE


def _stored(world: World) -> dict[UUID, tuple[object, ...]]:
    """Rows of watchers, ghosts and tenants by id, without the columns that recalls update."""
    unchanging = world.of(Persona.WATCHER, Persona.GHOST)
    planted = [each.planted for each in unchanging] + [each.shared for each in world.companies]
    stored: dict[UUID, tuple[object, ...]] = {}
    for kind, model in MEMORY_MODELS.items():
        ids = [each.id for memories in planted for each in memories if each.kind is kind]
        names = ["tenant_id", "user_id", "scope", "task", "text", "status", "version"]
        names += ["pinned"] if kind is Kind.SEMANTIC else []
        names += ["superseded_by_id"] if kind in (Kind.SEMANTIC, Kind.PROCEDURAL) else []
        stored |= {
            row[0]: row[1:] for row in model.objects.unscoped(PROOF).filter(pk__in=ids).values_list("pk", *names)
        }
    reviews = ReviewItem.objects.unscoped(PROOF).filter(pk__in=[pk for each in unchanging for pk in each.reviews])
    stored |= {row[0]: row[1:] for row in reviews.values_list("pk", "decision", "first_id", "second_id")}
    ids = [pk for each in unchanging for pk in each.proposals]
    proposals = ForgetProposal.objects.unscoped(PROOF).filter(pk__in=ids)
    stored |= {row[0]: row[1:] for row in proposals.values_list("pk", "state")}
    ids = [pk for each in unchanging for pk in each.operations]
    operations = LearningOperation.objects.unscoped(PROOF).filter(pk__in=ids)
    stored |= {row[0]: row[1:] for row in operations.values_list("pk", "cancelled_at", "retry_at")}
    items = Item.objects.unscoped(PROOF).filter(pk__in=[pk for each in unchanging for pk in each.items])
    return stored | {row[0]: row[1:] for row in items.values_list("pk", "value", "version", "expires_at")}

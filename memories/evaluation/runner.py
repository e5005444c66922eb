"""Runs cases: one tenant and member each, memories through the import services, questions through the recall pipeline.

Recalls record no trace and count no use, so the order of the questions has no effect. Questions are asked at the time
of the last memory, so the day of the measurement has no effect either.

recall@k is the mean, over the questions, of the share of a question's evidence among the first k recalled memories. mrr
is the mean of 1 / rank of the first piece of evidence, or 0 if none was recalled.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from datetime import datetime
from statistics import fmean
from typing import Any
from uuid import UUID

from memories.constants import CANDIDATES_PER_SUB_QUERY
from memories.embedding import encoder
from memories.errors import SearchUnavailable
from memories.evaluation.cases import Case, CaseQuestion
from memories.models import MEMORY_MODELS
from memories.recall.adjust import RECIPE
from memories.recall.pipeline import recall
from memories.recall.scoring import Fusion
from memories.search import search_plane
from memories.search.base import Tombstone
from memories.search.outbox import drain
from memories.services.portability.memories_import import import_memories
from memories.services.portability.sessions_import import import_sessions
from memories.types import Owner
from tenants.models import Membership
from tenants.principal import Principal
from tenants.principals import system_principal
from tenants.services import add_member, create_tenant, create_user, deactivate

RANKS = (1, 5, 10, 20)
DIGITS = 4


@dataclass(frozen=True, slots=True)
class QuestionOutcome:
    """One question: the rank (from 1) of each piece of evidence, None if not recalled, and the duration."""

    category: str
    ranks: tuple[int | None, ...]
    took_ms: float


def report(outcomes: Sequence[QuestionOutcome]) -> dict[str, Any]:
    """Return `{"questions", "recall": {"1", …}, "mrr", "by_category", "latency_ms"}`.

    Scores cover the questions with evidence, latency covers all.
    """
    answerable = [outcome for outcome in outcomes if outcome.ranks]
    categories = sorted({outcome.category for outcome in answerable})
    by_category = {name: _scores([each for each in answerable if each.category == name]) for name in categories}
    return {**_scores(answerable), "by_category": by_category, "latency_ms": latency(outcomes)}


def latency(outcomes: Sequence[QuestionOutcome]) -> dict[str, float]:
    """Return the median and 95th percentile in milliseconds."""
    times = sorted(outcome.took_ms for outcome in outcomes)
    return {"p50": _percentile(times, 0.5), "p95": _percentile(times, 0.95)}


def _scores(outcomes: Sequence[QuestionOutcome]) -> dict[str, Any]:
    return {
        "questions": len(outcomes),
        "recall": {str(k): _mean([_recall(outcome, k) for outcome in outcomes]) for k in RANKS},
        "mrr": _mean([_reciprocal(outcome) for outcome in outcomes]),
    }


def _recall(outcome: QuestionOutcome, k: int) -> float:
    return sum(rank is not None and rank <= k for rank in outcome.ranks) / len(outcome.ranks)


def _reciprocal(outcome: QuestionOutcome) -> float:
    return max((1 / rank for rank in outcome.ranks if rank is not None), default=0.0)


def _mean(values: Sequence[float]) -> float:
    return round(fmean(values), DIGITS) if values else 0.0


def _percentile(ordered: Sequence[float], share: float) -> float:
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 2) if ordered else 0.0


# Opens a progress bar with the given title and number of steps; the result is called with the number of steps done.
Watch = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]
_WARM_UP = "What is this?"


def run(cases: Sequence[Case], *, fusion: Fusion = Fusion.SUM, watch: Watch) -> dict[str, Any]:
    """Measure all cases, reporting progress to `watch(what, total)`. Raises InvalidInput."""
    outcomes: list[QuestionOutcome] = []
    for number, case in enumerate(cases):
        membership = _member(case, number)
        try:
            outcomes += _answers(system_principal(membership), case, fusion, watch)
        finally:
            _leave_nothing(membership)
    measured = report(outcomes)
    if unanswerable := [outcome for outcome in outcomes if not outcome.ranks]:
        # These questions have no evidence to find, so only their latency is measured.
        measured["unanswerable"] = {"questions": len(unanswerable), "latency_ms": latency(unanswerable)}
    return {**measured, "settings": _settings(fusion)}


def _member(case: Case, number: int) -> Membership:
    tenant = create_tenant(name=case.name, slug=f"case-{number}")
    user = create_user(username=f"owner-{number}", display_name=case.name)
    return add_member(tenant=tenant, user=user)


def _answers(principal: Principal, case: Case, fusion: Fusion, watch: Watch) -> list[QuestionOutcome]:
    ids = _remember(principal, case, watch)
    recall(principal, _WARM_UP, record=False)
    outcomes = []
    with watch(f"{case.name}: asking", len(case.questions)) as advance:
        for question in case.questions:
            outcomes.append(_ask(principal, question, ids, fusion=fusion, now=case.asked_at))
            advance(1)
    return outcomes


def _leave_nothing(membership: Membership) -> None:
    """Remove the case and its search key from a shared index; embedded files are deleted with their folder."""
    plane = search_plane()
    if not plane.joint:
        return
    for owner in (Owner(membership.tenant_id, membership.user_id), Owner(membership.tenant_id, None)):
        for kind, model in MEMORY_MODELS.items():
            rows = model.objects.of_owner(owner.tenant_id, owner.user_id).values_list("pk", "version")
            plane.delete(owner, [Tombstone(kind, id_, version + 1) for id_, version in rows])
    plane.settle()
    deactivate(membership)


def _remember(principal: Principal, case: Case, watch: Watch) -> Mapping[str, UUID]:
    """Import and index the memories; return the memory id for each id of the source."""
    ids: dict[str, UUID] = {}
    with watch(f"{case.name}: remembering", case.size) as advance:
        if case.sessions:
            ids |= import_sessions(principal, case.sessions, source="locomo", advance=advance).ids
        if case.records:
            ids |= import_memories(principal, case.records, advance=advance).ids
    if drain().failed:
        raise SearchUnavailable("The search index of the measurement could not be filled.")
    return ids


def _ask(
    principal: Principal, question: CaseQuestion, ids: Mapping[str, UUID], *, fusion: Fusion, now: datetime | None
) -> QuestionOutcome:
    began = time.perf_counter()
    answer = recall(
        principal,
        question.text,
        limit=max(RANKS),
        include_superseded=question.include_superseded,
        fusion=fusion,
        record=False,
        now=now,
    )
    took_ms = (time.perf_counter() - began) * 1000
    if answer.degraded:
        raise SearchUnavailable("The search plane did not answer; what the database finds is not what is measured.")
    places = {item.id: rank for rank, item in enumerate(answer.items, start=1)}
    evidence = sorted({ids[name] for name in question.evidence})
    return QuestionOutcome(question.category, tuple(places.get(id_) for id_ in evidence), took_ms)


def _settings(fusion: Fusion) -> dict[str, Any]:
    return {
        "search": search_plane().name,
        "encoder": encoder().name,
        "fusion": fusion.value,
        "candidates_per_leg": CANDIDATES_PER_SUB_QUERY,
        "limit": max(RANKS),
        "weights": asdict(RECIPE),
    }

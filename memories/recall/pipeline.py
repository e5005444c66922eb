"""The entry point of recall for the chat, the tools, the API and the commands.

Candidates come from the search plane and the outbox; they are loaded by id from the database, filtered by owner and
state, scored, adjusted, selected and recorded. `run` does everything but the recording and keeps the result of each
stage for `explaining.py`. Recall never returns a memory that the principal may not see or that is no longer current.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Unpack
from uuid import uuid4

import numpy as np
from django.utils import timezone
from django.utils.module_loading import import_string

from memories.attributes.filters import conditions
from memories.embedding import bundled_encoder_name, embedding_endpoint, token_vectors
from memories.models import Fact, RecallTrace
from memories.recall import recording
from memories.recall.candidates import CandidateIds, encoded_tail, find
from memories.recall.external import ExternalAnswer, begin
from memories.recall.loading import known_speakers, load
from memories.recall.meaning import QueryVector, query_vector
from memories.recall.pool import Pool
from memories.recall.query import Query, parse
from memories.recall.request import RecallOptions, Request, checked
from memories.recall.reranking import Reranked, rerank
from memories.recall.scoring import Fusion, Scores, score
from memories.recall.selection import Selection, choose
from memories.selectors.policies import may_recall
from memories.types import Kind, Recall
from memoryhub.db.scope import confined_to
from memoryhub.observability import tracing
from tenants.principal import Principal, Right

# Counts tokens towards the limits of the member; by name, because services stand above recall.
_SPEND = "memories.services.admission.spend_model_tokens"
# The query is encoded while the search plane matches its terms; both release the GIL.
_encoding = ThreadPoolExecutor(thread_name_prefix="query-encoder")
# Only so many threads of a process load, score and select at once: numpy gives up the interpreter at every step, and 16
# threads that fight for it need half as much processor time again. No model and no index is asked meanwhile.
_computing = threading.BoundedSemaphore(2)
# Seconds until a recall goes on without a place, which recalls hold that wait for the database.
_LONGEST_WAIT = 2.0


@dataclass(slots=True)
class Stages:
    """Milliseconds of each stage of a recall, in order, and the number of memories left after it."""

    _clock: float = field(default_factory=time.perf_counter)
    _began: float = field(default_factory=time.perf_counter)
    stages: dict[str, dict[str, float]] = field(default_factory=dict)

    def passed(self, name: str, count: int | None = None) -> None:
        """Record that the stage `name` ended now."""
        now = time.perf_counter()
        stage: dict[str, float] = {"ms": round((now - self._clock) * 1000, 2)}
        if count is not None:
            stage["count"] = count
        self.stages[name] = stage
        self._clock = now

    @property
    def took_ms(self) -> float:
        """Milliseconds since the first stage began."""
        return round((time.perf_counter() - self._began) * 1000, 2)


@dataclass(frozen=True, slots=True)
class Run:
    """One recall with the results of its stages, before anything is recorded.

    `off`: nothing may come up for this caller (`may_recall`), so it found nothing and is not recorded.
    """

    request: Request
    query: Query
    found: CandidateIds
    meaning: QueryVector
    pool: Pool
    scores: Scores
    reranked: Reranked
    selection: Selection
    stages: Stages
    external: ExternalAnswer
    answer: Recall
    off: bool = False


def recall(
    principal: Principal,
    query: str,
    *,
    fusion: Fusion = Fusion.SUM,
    record: bool = True,
    **options: Unpack[RecallOptions],
) -> Recall:
    """Return the memories that answer `query`, best first.

    `record=False` stores nothing. Raises InvalidInput or Forbidden. A failing search plane raises
    nothing but marks the answer as `degraded`.
    """
    ran = run(principal, checked(principal, query, **options), fusion=fusion)
    if record:
        _record(principal, ran)
    return ran.answer


def recall_and_keep(principal: Principal, query: str, **options: Unpack[RecallOptions]) -> Run:
    """`recall`, with the results of its stages, for `recall_among`."""
    ran = run(principal, checked(principal, query, **options))
    _record(principal, ran)
    return ran


def recall_among(principal: Principal, ran: Run, kinds: Sequence[Kind], *, limit: int, token_budget: int) -> Recall:
    """What a second recall by the same query returns if it is limited to some of the kinds of the first.

    Candidates are found for each kind by itself, so only scoring, because the ranker compares candidates, and selection
    are made again. The scores of a reranker are kept.
    """
    principal.require(Right.READ)
    stages = Stages()
    request = replace(ran.request, kinds=tuple(kinds), limit=limit, token_budget=token_budget)
    pool, scores = ran.pool, ran.scores
    if not ran.reranked.model:
        pool = pool.only(np.array([row.kind in request.kinds for row in pool.rows], np.bool_))
        now = request.as_of or request.now
        with _limited():
            scores = _score(pool, ran.found, ran.query, ran.meaning, now=now, fusion=Fusion.SUM)
    with confined_to(principal.tenant_id, principal.user_id), tracing.span("recall.select"), _limited():
        selection = choose(principal, request, pool, scores, ran.found)
    stages.passed("selected", len(selection.items))
    answer = _answer(request, ran.found, selection, stages)
    _record(principal, replace(ran, request=request, selection=selection, stages=stages, answer=answer))
    return answer


def run(principal: Principal, request: Request, *, fusion: Fusion = Fusion.SUM) -> Run:
    """Run all stages of a recall and keep their results, without recording. Raises the same errors as `recall`."""
    principal.require(Right.READ)
    with confined_to(principal.tenant_id, principal.user_id), tracing.span("recall", limit=request.limit) as span:
        ran = _run(principal, request, Stages(), fusion)
        span.note(recall_id=ran.answer.trace_id, items=len(ran.answer.items), degraded=ran.answer.degraded)
    return ran


def _run(principal: Principal, request: Request, stages: Stages, fusion: Fusion) -> Run:
    parsed = parse(request.query, known_speakers(principal), timezone.localtime(request.as_of or request.now))
    encoding = _encoding.submit(copy_context().run, query_vector, principal, parsed.meaning)
    stages.passed("query")
    off = not may_recall(principal)
    beside = None if off else begin(principal, request)
    with tracing.span("recall.candidates"):
        found = CandidateIds() if off else find(principal, request, parsed, encoding.result)
    stages.passed("candidates", sum(len(ids) for ids in found.ids.values()))
    meaning = encoding.result()
    request = replace(request, encoder=meaning.encoder)
    with tracing.span("recall.load"):
        with _limited():
            loaded = load(principal, request, found.to_load(), found.turns)
        pool = encoded_tail(principal, request, parsed, loaded)
    stages.passed("loaded", len(pool))
    with tracing.span("recall.score", candidates=len(pool)), _limited():
        scores = _score(pool, found, parsed, meaning, now=request.as_of or request.now, fusion=fusion)
    stages.passed("scored", len(pool))
    reranked = rerank(principal, request, pool, scores, found.relevance)
    if reranked.model:
        stages.passed("reranked", len(pool))
        scores = reranked.scores
    with tracing.span("recall.select"), _limited():
        selection = choose(principal, request, pool, scores, found)
    stages.passed("selected", len(selection.items))
    external = beside.answer(request.token_budget) if beside is not None else ExternalAnswer()
    if external.source:
        stages.passed("external", len(external.records))
    answer = replace(_answer(request, found, selection, stages), external=external.records)
    if tokens := meaning.tokens + reranked.tokens:
        import_string(_SPEND)(principal, tokens)
    return Run(request, parsed, found, meaning, pool, scores, reranked, selection, stages, external, answer, off)


@contextmanager
def _limited() -> Iterator[None]:
    """Hold one of the places of `_computing`, or none after `_LONGEST_WAIT`: no recall hangs behind another."""
    held = _computing.acquire(timeout=_LONGEST_WAIT)
    try:
        yield
    finally:
        if held:
            _computing.release()


def _answer(request: Request, found: CandidateIds, selection: Selection, stages: Stages) -> Recall:
    return Recall(
        trace_id=uuid4(),
        query=request.query,
        items=selection.items,
        degraded=found.degraded,
        took_ms=stages.took_ms,
        as_of=request.as_of,
        rows={row.pk: row for row in selection.loaded.values()},
    )


def _score(
    pool: Pool, found: CandidateIds, query: Query, meaning: QueryVector, *, now: datetime, fusion: Fusion
) -> Scores:
    vectors = pool.vectors(len(meaning.vector))
    cosines = vectors @ meaning.vector
    if meaning.stood_in:  # what is re-embedded already has its former vector in the index alone
        for index in range(len(pool.known_vectors), len(pool)):
            if (row := pool.rows[index]).vector is None:
                cosines[index] = found.dense.get(row.id, 0.0)
    lexical = np.array([found.lexical.get(row.id, 0.0) for row in pool.rows], np.float32)
    ranked = vectors if meaning.encoder == bundled_encoder_name() else None
    return score(
        pool, query, token_vectors(), cosines=cosines, lexical=lexical, now=now, fusion=fusion, candidates=ranked
    )


def _record(principal: Principal, ran: Run) -> None:
    if ran.off:
        return
    request, answer = ran.request, ran.answer
    trace = RecallTrace(
        pk=answer.trace_id,
        tenant_id=principal.tenant_id,
        user_id=principal.user_id,
        session_id=request.session_id,
        query=request.query,
        parameters={
            "types": [kind.value for kind in request.kinds],
            "limit": request.limit,
            "task": request.task,
            "include_superseded": request.include_superseded,
            "as_of": request.as_of.isoformat() if request.as_of else None,
            "token_budget": request.token_budget,
            "threshold": request.threshold,
            "conditions": sum(1 for _ in conditions(request.filters)),
            **_models(ran),
        },
        stages=ran.stages.stages,
        candidates=list(ran.selection.traced),
        returned=len(answer.items),
        degraded=answer.degraded,
        took_ms=answer.took_ms,
        created_at=request.now,
    )
    facts = tuple(item.id for item in answer.items if item.kind is Kind.SEMANTIC)
    recording.record(recording.Record(principal, trace, facts))


def _models(ran: Run) -> dict[str, Any]:
    """What the trace says of models and of the tenant's own index; nothing where only what is bundled is configured."""
    meaning, reranked, said = ran.meaning, ran.reranked, dict[str, Any]()
    if embedding_endpoint() or ran.found.by_words_alone:
        said = {"encoder": meaning.encoder, "by_words_alone": ran.found.by_words_alone}
        said |= {"stood_in": meaning.stood_in.value} if meaning.stood_in else {}
    if reranked.model:
        said |= {"reranker": reranked.model, "reranked": reranked.answered}
    if said:
        said["model_tokens"] = meaning.tokens + reranked.tokens
    if external := ran.external.source:
        said |= {"external": external, "external_fault": ran.external.fault}
    return said


# A fact belongs to the first group that names its key or, if none does, its category, and is ordered by its position in
# the group.
_GROUPS: tuple[tuple[str, ...], ...] = (
    ("constraint", "constraints", "rule", "rules", "boundary", "boundaries", "must", "never", "safety"),
    (
        *("name", "preferred_name", "first_name", "full_name", "last_name", "nickname", "pronouns", "pronoun"),
        *("language", "preferred_language", "native_language", "languages", "birthday", "age", "identity"),
    ),
    (
        *("allergy", "allergies", "allergic", "medication", "medications", "condition", "health", "medical"),
        *("blood_type", "diet", "dietary", "accessibility", "emergency_contact"),
    ),
)
# Keys of this group must match entirely, because "programming language" and "company name" say nothing about identity.
_IDENTITY = 1


def foremost(facts: Iterable[Fact]) -> list[Fact]:
    """Sort pinned facts for the prompt, which has limited space.

    Constraints, identity and health come first; then the most used, and the newest among those used equally often.
    """
    return sorted(facts, key=_order)


def _order(fact: Fact) -> tuple[int, int, int, float, str]:
    group, place = _place(fact.key, fact.category)
    return group, place, -fact.use_count, -fact.learned_at.timestamp(), str(fact.pk)


def _place(key: str, category: str) -> tuple[int, int]:
    for named in (key.casefold(), category.casefold()):
        for group, names in enumerate(_GROUPS):
            found = _named(named, names, parts=group != _IDENTITY)
            if found is not None:
                return group, found
    return len(_GROUPS), 0


def _named(name: str, names: Sequence[str], *, parts: bool) -> int | None:
    """Return the index of a name in `names` or, with `parts`, of one of its words ("food_allergies")."""
    if name in names:
        return names.index(name)
    made_of = name.split("_") if parts else []
    return next((place for place, each in enumerate(names) if each in made_of), None)

"""Runs cases: one member each, memories through the import services, questions through the recall pipeline.

Recalls record no trace and count no use, so the order of the questions has no effect. Questions are asked at the time
of the last memory, so the day of the measurement has no effect either. Members with records are all remembered before
the first question, so that a leak would show; conversations, which may be many, come one after the other.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from typing import Any
from uuid import UUID

from memories.constants import CANDIDATES_PER_SUB_QUERY
from memories.embedding import encoder
from memories.errors import SearchUnavailable
from memories.evaluation.ablation import variants
from memories.evaluation.cases import Case, CaseQuestion, check_probes
from memories.evaluation.scoring import RANKS, QuestionOutcome, gains, report
from memories.models import MEMORY_MODELS, Fact
from memories.recall.adjust import RECIPE
from memories.recall.pipeline import Run
from memories.recall.pipeline import run as run_recall
from memories.recall.request import checked
from memories.recall.scoring import Fusion
from memories.recall.selection import choose
from memories.search import search_plane
from memories.search.base import Tombstone
from memories.search.outbox import drain
from memories.selectors.policies import policy_of
from memories.services.portability.memories_import import import_memories
from memories.services.portability.sessions_import import import_sessions
from memories.types import Kind, Owner, Recalled
from memoryhub.db.scope import confined_to
from tenants.models import Membership, Tenant
from tenants.principal import Principal
from tenants.principals import system_principal
from tenants.services import add_member, create_tenant, create_user, deactivate

# Opens a progress bar with the given title and number of steps; the result is called with the number of steps done.
Watch = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]
Seen = Callable[[Case, Sequence[UUID], Run], object]
_WARM_UP = "What is this?"
COLLAPSE = "collapse of near duplicates"


@dataclass(frozen=True, slots=True)
class _Member:
    """A case with its member, and the memory id for each id of the source."""

    case: Case
    membership: Membership
    ids: dict[str, UUID] = field(default_factory=dict)

    @property
    def principal(self) -> Principal:
        return system_principal(self.membership)


def run(
    cases: Sequence[Case],
    *,
    fusion: Fusion = Fusion.SUM,
    ablation: bool = False,
    watch: Watch,
    seen: Seen | None = None,
) -> dict[str, Any]:
    """Measure all cases, reporting progress to `watch(what, total)`. Raises InvalidInput.

    `ablation` adds the gain without each stage and signal. `seen` is called with the case, the evidence and the run of
    each question.
    """
    check_probes(cases)
    together = any(case.records for case in cases)
    outcomes: list[QuestionOutcome] = []
    without: dict[str, list[QuestionOutcome]] = defaultdict(list)
    threshold = None
    tenants: dict[str, Tenant] = {}
    numbered = list(enumerate(cases))
    for group in [numbered] if together else [[each] for each in numbered]:
        members = [_Member(case, _membership(case, number, tenants)) for number, case in group]
        threshold = policy_of(members[0].membership.tenant_id).recall_threshold
        try:
            for member in members:
                member.ids.update(_remember(member.principal, member.case, watch))
            for member in members:
                for outcome, others in _answers(member, members, watch, fusion=fusion, ablation=ablation, seen=seen):
                    outcomes.append(outcome)
                    for name, other in others:
                        without[name].append(other)
        finally:
            for member in members:
                _leave_nothing(member.membership)
    answerable = [outcome for outcome in outcomes if outcome.ranks]
    return {
        **report(outcomes, threshold=threshold),
        **({"without": {name: gains(answerable, others) for name, others in without.items()}} if ablation else {}),
        "settings": _settings(fusion),
    }


def _membership(case: Case, number: int, tenants: dict[str, Tenant]) -> Membership:
    """Add a member to the tenant that the case names, or to one of their own."""
    name = case.tenant or f"{case.name} {number}"
    if (tenant := tenants.get(name)) is None:
        tenants[name] = tenant = create_tenant(name=name, slug=f"case-{number}")
    user = create_user(username=f"owner-{number}", display_name=case.name)
    return add_member(tenant=tenant, user=user)


def _answers(
    member: _Member,
    members: Sequence[_Member],
    watch: Watch,
    *,
    fusion: Fusion,
    ablation: bool,
    seen: Seen | None,
) -> Iterator[tuple[QuestionOutcome, list[tuple[str, QuestionOutcome]]]]:
    """Yield the outcome of each question and, if it has evidence, those without each stage and signal, by name."""
    foreign = {id_ for other in members if other is not member for id_ in _private(other, member)}
    principal, case = member.principal, member.case
    run_recall(principal, checked(principal, _WARM_UP), fusion=fusion)
    with watch(f"{case.name}: asking", len(case.questions)) as advance:
        for question in case.questions:
            evidence = sorted({member.ids[name] for name in question.evidence})
            ran, took_ms = _ask(member, question, fusion)
            if seen is not None:
                seen(case, evidence, ran)
            others = [
                (name, QuestionOutcome(question.category, _ranks(evidence, found), 0.0))
                for name, found in (_variants(principal, ran) if ablation and evidence else ())
            ]
            yield _outcome(question, evidence, ran.answer.items, took_ms, foreign), others
            advance(1)


def _private(other: _Member, member: _Member) -> set[UUID]:
    """Return the memories of `other` that `member` may not see: all but the catalog of a tenant they share."""
    tenants = {each.membership.tenant_id for each in (other, member)}
    shared = {record.id for record in other.case.records if record.kind is Kind.CATALOG and len(tenants) == 1}
    return {id_ for name, id_ in other.ids.items() if name not in shared}


def _ask(member: _Member, question: CaseQuestion, fusion: Fusion) -> tuple[Run, float]:
    principal, began = member.principal, time.perf_counter()
    request = checked(
        principal,
        question.text,
        limit=max(RANKS),
        include_superseded=question.include_superseded,
        now=member.case.asked_at,
    )
    ran = run_recall(principal, request, fusion=fusion)
    took_ms = (time.perf_counter() - began) * 1000
    if ran.answer.degraded:
        raise SearchUnavailable("The search plane did not answer; what the database finds is not what is measured.")
    return ran, took_ms


def _outcome(
    question: CaseQuestion, evidence: Sequence[UUID], items: Sequence[Recalled], took_ms: float, foreign: set[UUID]
) -> QuestionOutcome:
    by_id = {item.id: item.score for item in items}
    return QuestionOutcome(
        question.category,
        _ranks(evidence, [item.id for item in items]),
        took_ms,
        scores=tuple(by_id.get(id_) for id_ in evidence),
        best=max((item.score for item in items if not item.proposed), default=None),
        leaked=not foreign.isdisjoint(by_id) if foreign else None,
    )


def _ranks(evidence: Sequence[UUID], found: Sequence[UUID]) -> tuple[int | None, ...]:
    places = {id_: rank for rank, id_ in enumerate(found, start=1)}
    return tuple(places.get(id_) for id_ in evidence)


def _variants(principal: Principal, ran: Run) -> Iterator[tuple[str, list[UUID]]]:
    """Yield the name of each variant and the memories that it returns, best first."""
    with confined_to(principal.tenant_id, principal.user_id):
        for name, pool, scored in variants(ran):
            selection = choose(principal, ran.request, pool, scored, ran.found)
            yield name, [item.id for item in selection.items]
    yield COLLAPSE, [UUID(ran.pool.rows[index].id) for index in ran.selection.order[: max(RANKS)]]


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
            ids |= import_sessions(principal, case.sessions, source="evaluation", advance=advance).ids
        if case.records:
            ids |= import_memories(principal, case.records, advance=advance).ids
    for name, count in case.uses.items():
        Fact.objects.of(principal).filter(pk=ids[name]).update(use_count=count)
    if drain().failed:
        raise SearchUnavailable("The search index of the measurement could not be filled.")
    return ids


def _settings(fusion: Fusion) -> dict[str, Any]:
    return {
        "search": search_plane().name,
        "encoder": encoder().name,
        "fusion": fusion.value,
        "candidates_per_sub_query": CANDIDATES_PER_SUB_QUERY,
        "limit": max(RANKS),
        "weights": asdict(RECIPE),
    }

"""Applies a planner's decisions through the normal write services and records the result of each.

It runs in the transaction that also moves the watermark. If a gate refuses a write, only that write is rolled back, and
it is recorded as refused with the reason.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from memories.consolidation.material import (
    Proposal,
    ProposedEnd,
    ProposedFact,
    ProposedOutcome,
    ProposedPlaybook,
)
from memories.consolidation.planner import Decision, PlanVerdict
from memories.errors import Conflict, MemoriesError, NotFound
from memories.models import Episode, Fact
from memories.services.facts.remember import remember_fact
from memories.services.facts.supersede import retire
from memories.services.facts.undo import retract
from memories.services.playbooks import record_outcome, remember_playbook
from memories.services.write import Write
from memories.types import Contradiction, Kind, Source, WriteOutcome
from tenants.principal import Principal

REASON = "consolidated from what was said"
FORGOTTEN = "the words were forgotten or replaced meanwhile"
SEVERAL_APPS = "the words were said to several agents, which are kept apart or have rules of their own"
_NAMES: dict[type[Proposal], str] = {
    ProposedFact: "fact",
    ProposedEnd: "end",
    ProposedPlaybook: "playbook",
    ProposedOutcome: "outcome",
}


@dataclass(slots=True)
class Applied:
    """The applied decisions: lines for the run's record, and outcomes by the index of the proposal."""

    lines: list[dict[str, Any]] = field(default_factory=list)
    outcomes: dict[int, WriteOutcome] = field(default_factory=dict)


def apply(w: Write, decisions: Sequence[Decision], *, there: Collection[UUID]) -> Applied:
    """Apply `decisions`. `there` holds the ids of the batch's episodes that still stand."""
    applied = Applied()
    said = Episode.objects.of(w.principal).filter(pk__in=there).values_list("pk", "app", "metadata")
    said_to = {pk: app for pk, app, _ in said}
    said_with = {pk: metadata for pk, _, metadata in said}
    for decision in decisions:
        verdict, reason = decision.verdict.value, decision.reason
        outcome: WriteOutcome | None = None
        if decision.verdict in (PlanVerdict.STORE, PlanVerdict.CONFIRM):
            try:
                with w.savepoint():
                    principal = _for_app(w, decision, said_to)
                    outcome = _write(principal, decision, applied.outcomes, said_with)
                verdict = outcome.result.value
            except (MemoriesError, _Gone) as error:
                verdict, reason = PlanVerdict.REFUSE.value, str(error)
        if outcome is not None:
            applied.outcomes[decision.place] = outcome
        applied.lines.append(_line(decision, verdict, reason, outcome))
    return applied


def _for_app(w: Write, decision: Decision, said_to: Mapping[UUID, str]) -> Principal:
    """The principal in the app to which all supporting words were said, if to one only.

    Raises Conflict for words to several apps that are kept apart or have rules of their own, since what comes of them
    would be of no app.
    """
    apps = {said_to.get(pk, "") for pk in decision.proposal.supporting_episode_ids}
    app = apps.pop() if len(apps) == 1 else ""
    if not app and not apps - {""}:
        return w.principal
    if not app and (w.policy.apps_apart or apps & w.policy.apps.keys()):
        raise Conflict(SEVERAL_APPS)
    return replace(w.principal, app=app, apart=w.policy.apps_apart)


class _Gone(Exception):
    """A supporting episode of a proposal was erased or replaced."""


def _write(
    principal: Principal,
    decision: Decision,
    outcomes: dict[int, WriteOutcome],
    said_with: Mapping[UUID, Mapping[str, Any]],
) -> WriteOutcome:
    if not set(decision.proposal.supporting_episode_ids) <= said_with.keys():
        raise _Gone(FORGOTTEN)
    match decision.proposal:
        case ProposedFact() as fact:
            shared = _in_common([said_with[pk] for pk in fact.supporting_episode_ids])
            return _write_fact(principal, decision, fact, outcomes, shared)
        case ProposedEnd() as end:
            return _write_end(principal, decision, end, outcomes)
        case ProposedPlaybook() as playbook:
            return remember_playbook(
                principal,
                title=playbook.title,
                trigger=playbook.trigger,
                steps=playbook.steps,
                learned_at=decision.said_at,
                supporting_episode_ids=playbook.supporting_episode_ids,
                reason=REASON,
            )
        case ProposedOutcome() as outcome:
            return record_outcome(
                principal,
                playbook_id=outcome.playbook_id,
                success=outcome.success,
                refined_steps=outcome.refined_steps,
                supporting_episode_ids=outcome.supporting_episode_ids,
                at=decision.said_at,
                reason=REASON,
            )


def _in_common(said_with: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The metadata on which all supporting words agree."""
    first = said_with[0] if said_with else {}
    return {key: first[key] for key in first if all(each.get(key) == first[key] for each in said_with)}


def _write_fact(
    principal: Principal,
    decision: Decision,
    fact: ProposedFact,
    outcomes: dict[int, WriteOutcome],
    metadata: Mapping[str, Any],
) -> WriteOutcome:
    """Store the proposed fact. A confirmation is written with the known fact's text, so that the write merges them."""
    known = decision.known if decision.verdict is PlanVerdict.CONFIRM else None
    return remember_fact(
        principal,
        text=known.text if known else fact.text,
        key=known.key if known else fact.key,
        category=known.category if known else fact.category,
        source=known.source if known else Source(fact.source),
        confidence=fact.confidence,
        valid_from=fact.valid_from,
        valid_to=fact.valid_to,
        learned_at=decision.said_at,
        supporting_episode_ids=fact.supporting_episode_ids,
        supersedes_ids=_still_believed(principal, fact.supersedes, fact.supersedes_places, outcomes),
        contradiction=fact.contradiction,
        reason=REASON,
        metadata=metadata,
    )


def _write_end(
    principal: Principal, decision: Decision, end: ProposedEnd, outcomes: dict[int, WriteOutcome]
) -> WriteOutcome:
    ids = [*end.fact_ids, *_stored(end.fact_places, outcomes)]
    if not ids:
        raise NotFound("fact")
    if end.contradiction is Contradiction.HARSH:
        return retract(principal, kind=Kind.SEMANTIC, memory_ids=ids, at=decision.said_at, reason=REASON)
    return retire(
        principal,
        kind=Kind.SEMANTIC,
        memory_id=ids[0],
        also_ids=ids[1:],
        valid_to=end.valid_to,
        at=decision.said_at,
        reason=REASON,
    )


def _still_believed(
    principal: Principal, ids: Sequence[UUID], places: Sequence[int], outcomes: dict[int, WriteOutcome]
) -> list[UUID]:
    """The facts to supersede, without those that this run has already ended."""
    ended = {pk for outcome in outcomes.values() for pk in outcome.superseded_ids}
    stored = _stored(places, outcomes)
    current = set(Fact.objects.of(principal).current().filter(pk__in=stored).values_list("pk", flat=True))
    return [*(pk for pk in ids if pk not in ended), *(pk for pk in stored if pk in current)]


def _stored(places: Sequence[int], outcomes: dict[int, WriteOutcome]) -> list[UUID]:
    return [outcomes[place].memory_id for place in places if place in outcomes]


def _line(decision: Decision, verdict: str, reason: str, outcome: WriteOutcome | None) -> dict[str, Any]:
    known = decision.known.id if decision.known else None
    memory_id = outcome.memory_id if outcome else known
    return {
        "place": decision.place,
        "what": _NAMES[type(decision.proposal)],
        "verdict": verdict,
        "reason": reason,
        "memory_id": str(memory_id) if memory_id else None,
        "superseded_ids": [str(pk) for pk in outcome.superseded_ids] if outcome else [],
        "episode_ids": [str(pk) for pk in decision.proposal.supporting_episode_ids],
    }

"""Writing: onto the memories and conversations of others, into what is shared, and on one's own while others look."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from memories.importing.records import MemoryRecord
from memories.isolation.attempt import Attempt, way
from memories.isolation.residents import Part
from memories.isolation.texts import WRITTEN
from memories.search import outbox
from memories.services.catalog import remember_catalog_entry
from memories.services.erasure.forget import forget, forget_session
from memories.services.facts.promote import promote
from memories.services.facts.remember import pin_fact, remember_fact
from memories.services.facts.supersede import correct, retire, supersede
from memories.services.facts.undo import undo
from memories.services.outcomes import record_outcome
from memories.services.playbooks import remember_playbook
from memories.services.portability.import_records import import_memories
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import rename_session
from memories.services.sessions.turns import add_tool_result, add_tool_step, begin_turn, clear_answer, finish_turn
from memories.types import Contradiction, Kind, Owner, Scope

MINE = "Mine now"
_DRAINED_AT_ONCE = 64
_KEPT = 20


@way("services: change a memory of another", weight=5)
def change(attempt: Attempt) -> None:
    """Supersede, correct, retire, undo, promote, pin, tell an outcome, forget."""
    attacker = attempt.attacker()
    victim = attempt.victim(attacker)
    target = attempt.target(victim)
    who, kind = attacker.principal, target.kind
    calls: list[Callable[[UUID], object]] = [
        lambda id_: forget(who, kind=kind, memory_id=id_, cascade=True, sources=True),
        lambda id_: retire(who, kind=kind, memory_id=id_),
        lambda id_: retire(who, kind=kind, memory_id=id_, contradiction=Contradiction.HARSH),
        lambda id_: correct(who, kind=kind, memory_id=id_, text=MINE),
        lambda id_: undo(who, kind=kind, memory_id=id_),
        lambda id_: promote(who, kind=kind, memory_id=id_, to=Scope.USER),
        lambda id_: supersede(who, old_ids=[id_], text=MINE, contradiction=Contradiction.HARSH),
        lambda id_: pin_fact(who, fact_id=id_, pinned=True),
        lambda id_: record_outcome(who, playbook_id=id_, success=False, refined_steps=[MINE]),
    ]
    if kind is Kind.EPISODIC:
        calls = calls[:1]  # episodes are never changed, whoever asks
    attempt.refuses(attacker, victim, attempt.chance.choice(calls), target.id)


@way("services: lean on a memory of another", weight=4)
def lean(attempt: Attempt) -> None:
    """Name it as what supports a memory of one's own, or as what that replaces."""
    attacker = attempt.attacker()
    victim = attempt.victim(attacker)
    target = attempt.target(victim)
    who = attacker.principal
    own = attempt.target(attacker, Kind.SEMANTIC).id
    how_to = attempt.target(attacker, Kind.PROCEDURAL).id
    calls: list[Callable[[UUID], object]] = [
        lambda id_: remember_fact(who, text=MINE, supporting_episode_ids=[id_]),
        lambda id_: remember_fact(who, text=MINE, supersedes_ids=[id_]),
        lambda id_: remember_playbook(who, title=MINE, steps=[MINE], supersedes_ids=[id_]),
        lambda id_: supersede(who, old_ids=[id_, own], text=MINE),
        lambda id_: record_outcome(who, playbook_id=how_to, success=True, supporting_episode_ids=[id_]),
        lambda id_: retire(who, kind=Kind.SEMANTIC, memory_id=own, also_ids=[id_]),
    ]
    attempt.refuses(attacker, victim, attempt.chance.choice(calls), target.id)


@way("services: speak in a conversation of another", weight=5)
def speak(attempt: Attempt) -> None:
    """Turns, answers and episodes in it; rename it, forget it."""
    attacker = attempt.attacker()
    victim = attempt.victim(attacker)
    who = attacker.principal
    calls: list[Callable[[UUID], object]] = [
        lambda id_: begin_turn(who, session_id=id_, text=MINE),
        lambda id_: add_tool_step(who, session_id=id_, turn=1, tool_calls=[]),
        lambda id_: add_tool_result(who, session_id=id_, turn=1, tool_call_id="mine"),
        lambda id_: finish_turn(who, session_id=id_, turn=1, text=MINE),
        lambda id_: clear_answer(who, session_id=id_, turn=1),
        lambda id_: remember_episode(who, session_id=id_, text=MINE),
        lambda id_: rename_session(who, session_id=id_, title=MINE),
        lambda id_: forget_session(who, session_id=id_, cascade=True),
    ]
    attempt.refuses(attacker, victim, attempt.chance.choice(calls), attempt.chance.choice(victim.sessions))


@way("services: write what is shared", weight=3)
def share(attempt: Attempt) -> None:
    """What only an administrator, or only the system, may write or take away."""
    attacker = attempt.attacker()
    who, company = attacker.principal, attacker.company
    shared = attempt.chance.choice(company.shared)
    calls: list[Callable[[], object]] = [
        lambda: remember_catalog_entry(who, title=MINE, text=MINE),
        lambda: remember_catalog_entry(who, title=MINE, text=MINE, scope=Scope.GLOBAL),
        lambda: remember_fact(who, text=MINE, scope=Scope.TENANT),
        lambda: remember_fact(who, text=MINE, scope=Scope.GLOBAL),
        lambda: remember_playbook(who, title=MINE, steps=[MINE], scope=Scope.TENANT),
        lambda: import_memories(who, [MemoryRecord(Kind.CATALOG, text=MINE, title=MINE)]),
        lambda: forget(who, kind=shared.kind, memory_id=shared.id),
        lambda: retire(who, kind=Kind.SEMANTIC, memory_id=shared.id),
        lambda: undo(who, kind=Kind.SEMANTIC, memory_id=shared.id),
        lambda: promote(who, kind=Kind.SEMANTIC, memory_id=shared.id, to=Scope.GLOBAL),
        lambda: promote(who, kind=Kind.SEMANTIC, memory_id=attempt.target(attacker, Kind.SEMANTIC).id, to=Scope.TENANT),
    ]
    attempt.denied(attacker, company.number, attempt.chance.choice(calls))


@way("services: write as somebody deactivated", weight=2)
def ghost(attempt: Attempt) -> None:
    """Nobody acts as a member who was deactivated, whatever they still hold."""
    attacker = attempt.attacker(Part.GHOST)
    who = attacker.principal
    calls: list[Callable[[], object]] = [
        lambda: remember_fact(who, text=MINE),
        lambda: begin_turn(who, text=MINE),
        lambda: forget(who, kind=attacker.planted[0].kind, memory_id=attacker.planted[0].id),
    ]
    attempt.denied(attacker, attacker.number, attempt.chance.choice(calls))


@way("services: write one's own", weight=6)
def write(attempt: Attempt) -> None:
    """Store, change and forget what is one's own, in the words of everybody, so that a score or an order could move."""
    writer, chance = attempt.attacker(), attempt.chance
    who, marks = writer.principal, attempt.world.marks
    text = f"{chance.choice(WRITTEN)} {marks.rare_word()} {marks.secret(writer.number)}"
    old = writer.written.pop() if len(writer.written) > _KEPT else None
    if old is not None:
        forget(who, kind=old[0], memory_id=old[1])
    if attempt.maybe(0.5):
        outcome = remember_fact(who, text=text)
    else:
        outcome = remember_episode(who, session_id=chance.choice(writer.sessions), text=text)
    marks.own(writer.number, [outcome.memory_id])
    writer.written.append((outcome.kind, outcome.memory_id))
    if attempt.maybe(0.3):
        outbox.drain(_DRAINED_AT_ONCE, Owner(who.tenant_id, who.user_id))

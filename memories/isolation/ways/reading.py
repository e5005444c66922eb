"""Reading through the selectors: by the ids of others, and at large."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from memories.isolation.attempt import Attempt, way
from memories.isolation.marks import Told
from memories.isolation.residents import Part
from memories.selectors.history.stories import facts_by_category, supported_facts, supporting_episodes
from memories.selectors.memories import (
    chain_of,
    count_memories,
    find_memory,
    get_memory,
    history_of,
    list_memories,
    memories_by_id,
    messages_using,
)
from memories.selectors.sessions import find_turn, get_session, list_sessions, transcript
from memories.services.erasure.forget import preview_forget
from memories.services.portability.memories_export import export_memories
from memories.types import Kind, Status


@way("selectors: a memory by its id", weight=12)
def by_id(attempt: Attempt) -> None:
    """Everything that takes the id of one memory."""
    attacker = attempt.attacker()
    victim = attempt.victim(attacker)
    target = attempt.target(victim)
    who, kind = attacker.principal, target.kind
    calls: list[Callable[[UUID], object]] = [
        lambda id_: get_memory(who, kind, id_),
        lambda id_: find_memory(who, id_),
        lambda id_: chain_of(who, kind, id_),
        lambda id_: preview_forget(who, kind=kind, memory_id=id_, cascade=True, sources=True),
        lambda id_: list(memories_by_id(who, {kind: [id_]})),
        lambda id_: history_of(who, [id_]),
        lambda id_: messages_using(who, id_),
        lambda id_: supported_facts(who, id_),
        lambda id_: list(supporting_episodes(who, [id_])),
    ]
    attempt.refuses(attacker, victim, attempt.chance.choice(calls), target.id)


@way("selectors: lists and searches", weight=8)
def at_large(attempt: Attempt) -> None:
    """Lists, with the rarest word of another's memory, their keys, categories, sessions, and every status."""
    attacker = attempt.attacker()
    victim = attempt.victim(attacker)
    who, target, chance = attacker.principal, attempt.target(victim), attempt.chance
    if list_memories(who, target.kind, query=target.secret, status=list(Status), shared=True).exists():
        attempt.found(attacker, victim.number, Told.COUNT)
    attempt.shows(attacker, list(list_memories(who, target.kind, query=target.rare, status=list(Status), shared=True)))
    shared = attempt.maybe(0.5)
    attempt.shows(attacker, list(list_memories(who, chance.choice(list(Kind)), status=list(Status), shared=shared)))
    if victim.sessions:
        session = chance.choice(victim.sessions)
        attempt.shows(attacker, list(list_memories(who, Kind.EPISODIC, session_id=session)))
    attempt.shows(attacker, list(facts_by_category(who, query=chance.choice(["", "locker", target.rare]))))


@way("selectors: conversations", weight=8)
def conversations(attempt: Attempt) -> None:
    """The list of conversations, one's own, and those of others by their ids."""
    attacker = attempt.attacker()
    victim = attempt.victim(attacker)
    who = attacker.principal
    attempt.shows(attacker, list(list_sessions(who)))
    own = attempt.chance.choice(attacker.sessions)
    attempt.shows(attacker, transcript(who, own))
    calls: list[Callable[[UUID], object]] = [
        lambda id_: get_session(who, id_),
        lambda id_: transcript(who, id_),
        lambda id_: find_turn(who, id_, 1),
    ]
    attempt.refuses(attacker, victim, attempt.chance.choice(calls), attempt.chance.choice(victim.sessions))


@way("services: export", weight=1)
def export(attempt: Attempt) -> None:
    """Everything that one may take along."""
    attacker = attempt.attacker(Part.RESIDENT, Part.WANDERER, Part.ADMIN)
    attempt.shows(attacker, list(export_memories(attacker.principal, catalog=attempt.maybe(0.5))))


@way("selectors: counts", weight=4)
def counts(attempt: Attempt) -> None:
    """How many memories a watcher has, which nobody else may move."""
    watcher = attempt.attacker(Part.WATCHER)
    if count_memories(watcher.principal) != attempt.baseline.counts[watcher.number]:
        attempt.found(watcher, -1, Told.COUNT)

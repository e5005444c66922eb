"""Attacks on services and selectors: calls with others' ids, lists, and writes that need another role."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from memories.importing.records import MemoryRecord
from memories.models import ReviewDecision
from memories.search import outbox
from memories.selectors.history.stories import supported_facts, supporting_episodes
from memories.selectors.member_lists import ListChoice, counts_of, listed
from memories.selectors.memories import (
    chain_of,
    find_memory,
    get_memory,
    history_of,
    list_memories,
    memories_by_id,
    messages_using,
)
from memories.selectors.reviews import answered_reviews, get_review, open_reviews, review_about
from memories.selectors.sessions import find_turn, get_session, list_sessions, transcript
from memories.services.catalog import remember_catalog_entry
from memories.services.erasure.forget import forget, forget_session
from memories.services.erasure.proposals import confirm, keep, plan_forget, propose
from memories.services.erasure.proposals import undo as undo_forget
from memories.services.facts.promote import promote
from memories.services.facts.remember import pin_fact, remember_fact
from memories.services.facts.supersede import correct, retire, supersede
from memories.services.facts.undo import undo
from memories.services.playbooks import record_outcome, remember_playbook
from memories.services.portability.memories_export import export_memories
from memories.services.portability.memories_import import import_memories
from memories.services.reviews.decisions import ReviewChoice, decide, undo_decision
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import rename_session
from memories.services.sessions.turns import add_tool_result, add_tool_step, begin_turn, clear_answer, finish_turn
from memories.types import ALL_KINDS, Contradiction, Kind, Owner, Scope, Status
from proof.attack import NOBODY, Aim, Attempt, attack
from proof.marks import Exposure
from proof.world import WRITTEN, Persona
from tenants.principals import reading_principal, staff_principal

MINE = "Mine now"
_DRAINED_AT_ONCE = 64
_KEPT = 20
Call = Callable[[Aim, UUID], object]
FACT, HOW_TO = Kind.SEMANTIC, Kind.PROCEDURAL

READS: tuple[Call, ...] = (
    lambda a, id_: get_memory(a.who, a.kind, id_),
    lambda a, id_: find_memory(a.who, id_),
    lambda a, id_: chain_of(a.who, a.kind, id_),
    lambda a, id_: plan_forget(a.who, [(a.kind, id_)]),
    lambda a, id_: list(memories_by_id(a.who, {a.kind: [id_]})),
    lambda a, id_: history_of(a.who, [id_]),
    lambda a, id_: messages_using(a.who, id_),
    lambda a, id_: supported_facts(a.who, id_),
    lambda a, id_: list(supporting_episodes(a.who, [id_])),
)
SESSION_READS: tuple[Call, ...] = (
    lambda a, id_: get_session(a.who, id_),
    lambda a, id_: transcript(a.who, id_),
    lambda a, id_: find_turn(a.who, id_, 1),
)
FORGETS: tuple[Call, ...] = (
    lambda a, id_: forget(a.who, kind=a.kind, memory_id=id_, cascade=True, sources=True),
    lambda a, id_: propose(a.who, targets=[(a.kind, id_)]),
)  # fmt: skip
CHANGES: tuple[Call, ...] = (
    *FORGETS,
    lambda a, id_: retire(a.who, kind=a.kind, memory_id=id_),
    lambda a, id_: retire(a.who, kind=a.kind, memory_id=id_, contradiction=Contradiction.HARSH),
    lambda a, id_: correct(a.who, kind=a.kind, memory_id=id_, text=MINE),
    lambda a, id_: undo(a.who, kind=a.kind, memory_id=id_),
    lambda a, id_: promote(a.who, kind=a.kind, memory_id=id_, to=Scope.USER),
    lambda a, id_: supersede(a.who, old_ids=[id_], text=MINE, contradiction=Contradiction.HARSH),
    lambda a, id_: pin_fact(a.who, fact_id=id_, pinned=True),
    lambda a, id_: record_outcome(a.who, playbook_id=id_, success=False, refined_steps=[MINE]),
)
SUPPORTS: tuple[Call, ...] = (
    lambda a, id_: remember_fact(a.who, text=MINE, supporting_episode_ids=[id_]),
    lambda a, id_: remember_fact(a.who, text=MINE, supersedes_ids=[id_]),
    lambda a, id_: remember_playbook(a.who, title=MINE, steps=[MINE], supersedes_ids=[id_]),
    lambda a, id_: supersede(a.who, old_ids=[id_, a.own(FACT).id], text=MINE),
    lambda a, id_: record_outcome(a.who, playbook_id=a.own(HOW_TO).id, success=True, supporting_episode_ids=[id_]),
    lambda a, id_: retire(a.who, kind=FACT, memory_id=a.own(FACT).id, also_ids=[id_]),
)
SESSION_WRITES: tuple[Call, ...] = (
    lambda a, id_: begin_turn(a.who, session_id=id_, text=MINE),
    lambda a, id_: add_tool_step(a.who, session_id=id_, turn=1, tool_calls=[]),
    lambda a, id_: add_tool_result(a.who, session_id=id_, turn=1, tool_call_id="mine"),
    lambda a, id_: finish_turn(a.who, session_id=id_, turn=1, text=MINE),
    lambda a, id_: clear_answer(a.who, session_id=id_, turn=1),
    lambda a, id_: remember_episode(a.who, session_id=id_, text=MINE),
    lambda a, id_: rename_session(a.who, session_id=id_, title=MINE),
    lambda a, id_: forget_session(a.who, session_id=id_, cascade=True),
)
REVIEWS: tuple[Call, ...] = (
    lambda a, id_: get_review(a.who, id_),
    lambda a, id_: decide(a.who, item_id=id_, answer=ReviewChoice(ReviewDecision.KEEP_BOTH)),
    lambda a, id_: decide(a.who, item_id=id_, answer=ReviewChoice(ReviewDecision.EVICT)),
    lambda a, id_: undo_decision(a.who, item_id=id_),
)
PROPOSALS: tuple[Call, ...] = (
    lambda a, id_: confirm(a.who, id_),
    lambda a, id_: keep(a.who, id_),
    lambda a, id_: undo_forget(a.who, id_),
)
# Called with the id of a memory shared in the attacker's tenant. Only administrators or the system may do these.
SHARED_WRITES: tuple[Call, ...] = (
    lambda a, _: remember_catalog_entry(a.who, title=MINE, text=MINE),
    lambda a, _: remember_catalog_entry(a.who, title=MINE, text=MINE, scope=Scope.GLOBAL),
    lambda a, _: remember_fact(a.who, text=MINE, scope=Scope.TENANT),
    lambda a, _: remember_fact(a.who, text=MINE, scope=Scope.GLOBAL),
    lambda a, _: remember_playbook(a.who, title=MINE, steps=[MINE], scope=Scope.TENANT),
    lambda a, _: import_memories(a.who, [MemoryRecord(Kind.CATALOG, text=MINE, title=MINE)]),
    lambda a, id_: forget(a.who, kind=a.kind, memory_id=id_),
    lambda a, id_: retire(a.who, kind=FACT, memory_id=id_),
    lambda a, id_: undo(a.who, kind=FACT, memory_id=id_),
    lambda a, id_: promote(a.who, kind=FACT, memory_id=id_, to=Scope.GLOBAL),
    lambda a, _: promote(a.who, kind=FACT, memory_id=a.own(FACT).id, to=Scope.TENANT),
)
GHOST_WRITES: tuple[Call, ...] = (
    lambda a, _: remember_fact(a.who, text=MINE),
    lambda a, _: begin_turn(a.who, text=MINE),
    lambda a, id_: forget(a.who, kind=a.kind, memory_id=id_),
)


def _named(name: str, weight: int, calls: tuple[Call, ...], named: str = "memory") -> None:
    """Register an attack that calls functions with a victim's id; all must fail as for an unknown id."""

    @attack(name, weight=weight)
    def run(attempt: Attempt) -> None:
        attempt.refuses(attempt.aim(), attempt.chance.choice(calls), named)


_named("selectors: a memory by its id", 12, READS)
_named("services: name a memory of another as support", 4, SUPPORTS)
_named("services: decide what another is to forget", 4, PROPOSALS, "proposal")
_named("services: write to a conversation of another", 5, SESSION_WRITES, "session")


@attack("services: change a memory of another", weight=5)
def change(attempt: Attempt) -> None:
    """Change or forget a victim's memory. Episodes can only be forgotten."""
    aim = attempt.aim()
    attempt.refuses(aim, attempt.chance.choice(FORGETS if aim.kind is Kind.EPISODIC else CHANGES))


@attack("selectors: lists and searches", weight=8)
def lists(attempt: Attempt) -> None:
    """List and search with a victim's rarest word, sessions, and every status."""
    aim, chance = attempt.aim(), attempt.chance
    who, target = aim.who, aim.target
    if list_memories(who, target.kind, query=target.secret, status=list(Status), shared=True).exists():
        attempt.found(aim.attacker, aim.victim.number, Exposure.COUNT)
    for rows in (
        list_memories(who, target.kind, query=target.rare, status=list(Status), shared=True),
        list_memories(who, chance.choice(list(ALL_KINDS)), status=list(Status), shared=attempt.maybe(0.5)),
        list_memories(who, Kind.EPISODIC, session_id=chance.choice(aim.victim.sessions)),
        listed(who, target.kind, ListChoice(query=chance.choice(["", "locker", target.rare]))),
    ):
        attempt.scan(aim.attacker, list(rows))


@attack("selectors: conversations", weight=8)
def conversations(attempt: Attempt) -> None:
    """List and read one's own conversations, and read others' by id."""
    aim = attempt.aim()
    own = attempt.chance.choice(aim.attacker.sessions)
    attempt.scan(aim.attacker, list(list_sessions(aim.who)), transcript(aim.who, own))
    attempt.refuses(aim, attempt.chance.choice(SESSION_READS), "session")


@attack("services: an agent decides what its member is to forget", weight=2)
def decided_by_an_agent(attempt: Attempt) -> None:
    """Confirm, decline and undo one's own proposal as the agent; only the member may."""
    attacker = attempt.attacker()
    aim = Aim(attacker, attacker, attacker.planted[0], attempt.chance)
    decide_proposal, agent = attempt.chance.choice((confirm, keep, undo_forget)), aim.who.as_agent()
    attempt.denied(attacker, attacker.number, lambda: decide_proposal(agent, attempt.chance.choice(attacker.proposals)))


@attack("selectors: counts", weight=4)
def counts(attempt: Attempt) -> None:
    """Count a watcher's memories; nobody else may change the number."""
    watcher = attempt.attacker(Persona.WATCHER)
    if counts_of(watcher.principal) != attempt.baseline.counts[watcher.number]:
        attempt.found(watcher, NOBODY, Exposure.COUNT)


@attack("services: export", weight=1)
def export(attempt: Attempt) -> None:
    """Export one's own memories; nothing of others may be in it."""
    attacker = attempt.attacker(Persona.RESIDENT, Persona.WANDERER, Persona.ADMIN)
    attempt.scan(attacker, list(export_memories(attacker.principal, catalog=attempt.maybe(0.5))))


@attack("services: write what is shared", weight=3)
def share(attempt: Attempt) -> None:
    """Write or remove shared memories as a plain member."""
    attacker = attempt.attacker()
    shared = attempt.chance.choice(attacker.company.shared)
    aim, call = Aim(attacker, attacker, shared, attempt.chance), attempt.chance.choice(SHARED_WRITES)
    attempt.denied(attacker, attacker.company.number, lambda: call(aim, shared.id))


@attack("services: write as a deactivated member", weight=2)
def deactivated(attempt: Attempt) -> None:
    """Write as a deactivated member; all must fail."""
    ghost = attempt.attacker(Persona.GHOST)
    aim, call = Aim(ghost, ghost, ghost.planted[0], attempt.chance), attempt.chance.choice(GHOST_WRITES)
    attempt.denied(ghost, ghost.number, lambda: call(aim, aim.target.id))


@attack("services: write one's own", weight=6)
def write(attempt: Attempt) -> None:
    """Store, correct, retire and forget own memories with everybody's words, to provoke moved scores."""
    writer, chance = attempt.attacker(), attempt.chance
    who, marks = writer.principal, attempt.world.marks
    text = f"{chance.choice(WRITTEN)} {marks.rare_word()} {marks.secret(writer.number)}"
    kind, old = writer.written.pop() if len(writer.written) > _KEPT else (FACT, None)
    if old is not None and kind is FACT and attempt.maybe(0.5):
        retire(who, kind=kind, memory_id=old)
    elif old is not None and kind is FACT and attempt.maybe(0.5):
        marks.own(writer.number, [correct(who, kind=kind, memory_id=old, text=f"{text}, too").memory_id])
    elif old is not None:
        forget(who, kind=kind, memory_id=old)
    if attempt.maybe(0.5):
        outcome = remember_fact(who, text=text)
    else:
        outcome = remember_episode(who, session_id=chance.choice(writer.sessions), text=text)
    marks.own(writer.number, [outcome.memory_id])
    writer.written.append((outcome.kind, outcome.memory_id))
    if attempt.maybe(0.3):
        outbox.drain(_DRAINED_AT_ONCE, Owner(who.tenant_id, who.user_id))


@attack("reviews: another's by its id", weight=4)
def reviews(attempt: Attempt) -> None:
    """Call everything that takes the id of a review, or of a memory with one, and list reviews."""
    aim = attempt.aim()
    attempt.refuses(aim, attempt.chance.choice(REVIEWS), "review")
    attempt.refuses(aim, lambda a, id_: review_about(a.who, id_))
    for rows in (open_reviews(aim.who), answered_reviews(aim.who)):
        shown = [(item.pk, item.reason, item.first, item.second, item.playbook) for item in rows]
        attempt.scan(aim.attacker, shown)


@attack("reviews: as staff of another's tenant", weight=2)
def as_staff(attempt: Attempt) -> None:
    """Get a staff principal for others: as a member, and as an administrator of another tenant; both must fail."""
    attacker = attempt.attacker(attempt.chance.choice([Persona.RESIDENT, Persona.ADMIN]))
    victim = attempt.world.victim_of(attacker, attempt.chance)
    if attacker.persona is Persona.ADMIN and victim.company is attacker.company:
        return
    for become in (staff_principal, reading_principal):
        attempt.denied(attacker, victim.number, lambda: become(victim.membership, staff=attacker.membership.user))  # noqa: B023 - called at once

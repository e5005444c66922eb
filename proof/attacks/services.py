"""Reading through the selectors: by the ids of others, and at large.

Writing: onto the memories and conversations of others, into what is shared, and on one's own while others look.

Recall: with the exact words of others, in every form; and whether what others write moves what one is given.

Reviews through the services: read, decide and undo what is asked about another's memory, as oneself and as staff.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

from django.utils import timezone

from memories.importing.records import MemoryRecord
from memories.models import ReviewDecision
from memories.recall.pipeline import recall
from memories.recall.scoring import Fusion
from memories.search import outbox
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
from memories.selectors.reviews import answered_reviews, get_review, open_reviews, review_about
from memories.selectors.sessions import find_turn, get_session, list_sessions, transcript
from memories.services.catalog import remember_catalog_entry
from memories.services.erasure.forget import forget, forget_session, preview_forget
from memories.services.facts.promote import promote
from memories.services.facts.remember import pin_fact, remember_fact
from memories.services.facts.supersede import correct, retire, supersede
from memories.services.facts.undo import undo
from memories.services.outcomes import record_outcome
from memories.services.playbooks import remember_playbook
from memories.services.portability.import_records import import_memories
from memories.services.portability.memories_export import export_memories
from memories.services.reviews.decisions import Answer, decide, undo_decision
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import rename_session
from memories.services.sessions.turns import add_tool_result, add_tool_step, begin_turn, clear_answer, finish_turn
from memories.types import ALL_KINDS, Contradiction, Kind, Owner, Scope, Status
from proof.attempt import NOBODY, Attempt, attack
from proof.baseline import moved as has_moved
from proof.marks import Told
from proof.residents import WRITTEN, Part
from tenants.principals import reading_principal, staff_principal


@attack("selectors: a memory by its id", weight=12)
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


@attack("selectors: lists and searches", weight=8)
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


@attack("selectors: conversations", weight=8)
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


@attack("services: export", weight=1)
def export(attempt: Attempt) -> None:
    """Everything that one may take along."""
    attacker = attempt.attacker(Part.RESIDENT, Part.WANDERER, Part.ADMIN)
    attempt.shows(attacker, list(export_memories(attacker.principal, catalog=attempt.maybe(0.5))))


@attack("selectors: counts", weight=4)
def counts(attempt: Attempt) -> None:
    """How many memories a watcher has, which nobody else may move."""
    watcher = attempt.attacker(Part.WATCHER)
    if count_memories(watcher.principal) != attempt.baseline.counts[watcher.number]:
        attempt.found(watcher, -1, Told.COUNT)


MINE = "Mine now"
_DRAINED_AT_ONCE = 64
_KEPT = 20


@attack("services: change a memory of another", weight=5)
def change_memory(attempt: Attempt) -> None:
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


@attack("services: lean on a memory of another", weight=4)
def lean_on_memory(attempt: Attempt) -> None:
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


@attack("services: speak in a conversation of another", weight=5)
def speak_in_session(attempt: Attempt) -> None:
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


@attack("services: write what is shared", weight=3)
def write_shared(attempt: Attempt) -> None:
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


@attack("services: write as somebody deactivated", weight=2)
def write_as_ghost(attempt: Attempt) -> None:
    """Nobody acts as a member who was deactivated, whatever they still hold."""
    attacker = attempt.attacker(Part.GHOST)
    who = attacker.principal
    calls: list[Callable[[], object]] = [
        lambda: remember_fact(who, text=MINE),
        lambda: begin_turn(who, text=MINE),
        lambda: forget(who, kind=attacker.planted[0].kind, memory_id=attacker.planted[0].id),
    ]
    attempt.denied(attacker, attacker.number, attempt.chance.choice(calls))


@attack("services: write one's own", weight=6)
def write_own(attempt: Attempt) -> None:
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


@attack("recall: the words of others", weight=14)
def words_of_others(attempt: Attempt) -> None:
    """Everything but the secret of another's memory, as a question: the secret must not come back."""
    attacker, chance = attempt.attacker(), attempt.chance
    victim = attempt.victim(attacker)
    target = attempt.target(victim)
    answer = recall(
        attacker.principal,
        chance.choice([target.words, target.rare, f"{target.rare} locker alarm doctor"]),
        types=chance.choice([ALL_KINDS, (target.kind,)]),
        limit=chance.choice([5, 20, 100]),
        task=chance.choice(["", target.task]),
        include_superseded=attempt.maybe(0.5),
        as_of=timezone.now() + timedelta(seconds=chance.uniform(-60, 60)) if attempt.maybe(0.3) else None,
        exclude_episode_ids=[each.id for each in victim.planted if each.kind is Kind.EPISODIC][:2],
        fusion=chance.choice(list(Fusion)),
        record=False,
    )
    attempt.shows(attacker, answer.items)


@attack("recall: noted in a conversation of another", weight=1)
def recorded(attempt: Attempt) -> None:
    """A recall that is recorded, with the id of another's conversation."""
    attacker = attempt.attacker()
    victim = attempt.victim(attacker)
    session = attempt.chance.choice(victim.sessions)
    answer = recall(attacker.principal, attempt.target(victim).words, session_id=session)
    attempt.shows(attacker, answer.items)


@attack("recall: moved by what others write", weight=8)
def moved(attempt: Attempt) -> None:
    """A watcher's answers: the same memories, in the same order, with the same scores as before anybody wrote."""
    attacker = attempt.attacker(Part.WATCHER)
    question = attempt.chance.choice(attempt.baseline.questions)
    if has_moved(attempt.baseline.answers[attacker.number, question], attempt.baseline.asked(attacker, question)):
        attempt.found(attacker, NOBODY, Told.MOVED)


@attack("reviews: another's by its id", weight=4)
def review_by_id(attempt: Attempt) -> None:
    """Whatever takes the id of a review, or of a memory that one is about."""
    attacker, chance = attempt.attacker(), attempt.chance
    victim = attempt.victim(attacker)
    who = attacker.principal
    calls: list[Callable[[UUID], object]] = [
        lambda id_: get_review(who, id_),
        lambda id_: decide(who, item_id=id_, answer=Answer(ReviewDecision.KEEP_BOTH)),
        lambda id_: decide(who, item_id=id_, answer=Answer(ReviewDecision.EVICT)),
        lambda id_: undo_decision(who, item_id=id_),
    ]
    attempt.refuses(attacker, victim, chance.choice(calls), chance.choice(victim.reviews))
    attempt.refuses(attacker, victim, lambda id_: review_about(who, id_), attempt.target(victim).id)
    for rows in (open_reviews(who), answered_reviews(who)):
        attempt.shows(attacker, [(item.pk, item.reason, item.first, item.second, item.playbook) for item in rows])


@attack("reviews: as staff of another's tenant", weight=2)
def as_staff(attempt: Attempt) -> None:
    """Members act as nobody's staff, administrators as that of their own tenant."""
    attacker = attempt.attacker(attempt.chance.choice([Part.RESIDENT, Part.ADMIN]))
    victim = attempt.victim(attacker)
    if attacker.part is Part.ADMIN and victim.company is attacker.company:
        return
    user = attacker.membership.user
    for become in (staff_principal, reading_principal):
        attempt.denied(attacker, victim.number, lambda as_=become: as_(victim.membership, staff=user))  # type: ignore[misc]  # bound

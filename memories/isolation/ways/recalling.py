"""Recall: with the exact words of others, in every form; and whether what others write moves what one is given."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from memories.isolation.attempt import NOBODY, Attempt, way
from memories.isolation.baseline import moved as has_moved
from memories.isolation.marks import Told
from memories.isolation.residents import Part
from memories.recall.pipeline import recall
from memories.recall.scoring import Fusion
from memories.types import ALL_KINDS, Kind


@way("recall: the words of others", weight=14)
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


@way("recall: noted in a conversation of another", weight=1)
def recorded(attempt: Attempt) -> None:
    """A recall that is recorded, with the id of another's conversation."""
    attacker = attempt.attacker()
    victim = attempt.victim(attacker)
    session = attempt.chance.choice(victim.sessions)
    answer = recall(attacker.principal, attempt.target(victim).words, session_id=session)
    attempt.shows(attacker, answer.items)


@way("recall: moved by what others write", weight=8)
def moved(attempt: Attempt) -> None:
    """A watcher's answers: the same memories, in the same order, with the same scores as before anybody wrote."""
    attacker = attempt.attacker(Part.WATCHER)
    question = attempt.chance.choice(attempt.baseline.questions)
    if has_moved(attempt.baseline.answers[attacker.number, question], attempt.baseline.asked(attacker, question)):
        attempt.found(attacker, NOBODY, Told.MOVED)

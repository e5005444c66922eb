"""Attacks on recall and on its two guards: the search plane, and the load step.

A finding about one guard reached no user, because the other guard kept it from the answer. The report counts it as a
broken guard, not as a leak.
"""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from memories.recall.loading import load, texts
from memories.recall.pipeline import recall
from memories.recall.query import parse
from memories.recall.request import Request, checked
from memories.recall.scoring import Fusion
from memories.search import search_plane
from memories.types import ALL_KINDS, CandidateRequest, Kind
from proof.attack import NOBODY, Aim, Attempt, Target, attack
from proof.baseline import has_moved
from proof.marks import Exposure
from proof.world import Persona


@attack("recall: the words of others", weight=14)
def words_of_others(attempt: Attempt) -> None:
    """Ask with a victim's text without its secret; the secret must not come back."""
    aim, chance = attempt.aim(), attempt.chance
    target = aim.target
    answer = recall(
        aim.who,
        chance.choice([target.words, target.rare, f"{target.rare} locker alarm doctor"]),
        types=chance.choice([ALL_KINDS, (target.kind,)]),
        limit=chance.choice([5, 20, 100]),
        task=chance.choice(["", target.task]),
        include_superseded=attempt.maybe(0.5),
        as_of=timezone.now() + timedelta(seconds=chance.uniform(-60, 60)) if attempt.maybe(0.3) else None,
        exclude_episode_ids=[each.id for each in aim.victim.planted if each.kind is Kind.EPISODIC][:2],
        fusion=chance.choice(list(Fusion)),
        record=False,
    )
    attempt.scan(aim.attacker, answer.items)


@attack("recall: recorded in a conversation of another", weight=1)
def recorded(attempt: Attempt) -> None:
    """Record a recall under the id of another's conversation."""
    aim = attempt.aim()
    answer = recall(aim.who, aim.target.words, session_id=attempt.chance.choice(aim.victim.sessions))
    attempt.scan(aim.attacker, answer.items)


@attack("recall: moved by what others write", weight=8)
def recall_moved(attempt: Attempt) -> None:
    """A watcher must get the same memories, order and scores as before others wrote."""
    watcher, question = attempt.attacker(Persona.WATCHER), attempt.chance.choice(attempt.baseline.questions)
    if has_moved(attempt.baseline.answers[watcher.number, question], attempt.baseline.recalled(watcher, question)):
        attempt.found(watcher, NOBODY, Exposure.MOVED)


@attack(
    "search plane: candidates for the words and the vector of another's memory", weight=14, tests=Target.SEARCH_GUARD
)
def candidates(attempt: Attempt) -> None:
    """Search with a victim's exact words and vector."""
    aim, chance = attempt.aim(), attempt.chance
    target = aim.target
    request = CandidateRequest(
        kinds=chance.choice([ALL_KINDS, (target.kind,)]),
        terms=parse(f"{target.words} {target.secret}").terms,
        vector=chance.choice([lambda: target.vector, None]),
        per_sub_query=chance.choice([10, 80, 160]),
        task=chance.choice(["", target.task]),
        include_superseded=attempt.maybe(0.5),
    )
    hits = search_plane().candidates(aim.who, request).hits
    attempt.scan(aim.attacker, [str(hit.id) for hit in hits])


@attack("search plane: another's memory by its id", weight=8, tests=Target.SEARCH_GUARD)
def seen(attempt: Attempt) -> None:
    """Look up a victim's memory with the inspector's function."""
    aim = attempt.aim()
    document = search_plane().see(aim.who, aim.kind, aim.target.id).document
    if document is not None:
        attempt.scan(aim.attacker, [str(aim.target.id), document.text])


@attack("search plane: candidates moved by what others write", weight=8, tests=Target.SEARCH_GUARD)
def candidates_moved(attempt: Attempt) -> None:
    """A watcher's candidates must have the same scores as before others wrote."""
    watcher, question = attempt.attacker(Persona.WATCHER), attempt.chance.choice(attempt.baseline.questions)
    before = attempt.baseline.candidates[watcher.number, question]
    if has_moved(before, attempt.baseline.looked_up(watcher, question)):
        attempt.found(watcher, NOBODY, Exposure.MOVED)


@attack("load step: foreign ids among the candidates", weight=14, tests=Target.DATABASE_GUARD)
def loaded(attempt: Attempt) -> None:
    """Pass foreign ids to the load step, as a broken search plane would."""
    aim = attempt.aim()
    request = _request(attempt, aim)
    ids = {kind: [each.id for each in aim.victim.planted if each.kind is kind] for kind in ALL_KINDS}
    pool = load(aim.who, request, ids)
    attempt.scan(aim.attacker, [row.id for row in pool.rows])
    if len(pool.pieces) > len(pool):
        attempt.found(aim.attacker, aim.victim.number, Exposure.TEXT)  # texts around a hit, without its id
    shared = attempt.chance.choice(attempt.world.companies).shared
    pool = load(aim.who, request, {each.kind: [each.id] for each in shared})
    attempt.scan(aim.attacker, [row.id for row in pool.rows])


@attack("load step: texts of foreign ids", weight=6, tests=Target.DATABASE_GUARD)
def hydrated(attempt: Attempt) -> None:
    """Pass foreign ids to the last step of a recall, which reads texts."""
    aim = attempt.aim()
    wanted = [(each.kind, each.id.hex) for each in aim.victim.planted]
    attempt.scan(aim.attacker, list(texts(aim.who, _request(attempt, aim), wanted).values()))


def _request(attempt: Attempt, aim: Aim) -> Request:
    return checked(
        aim.who,
        "locker",
        task=attempt.chance.choice(["", *{each.task for each in aim.victim.planted}]),
        include_superseded=attempt.maybe(0.5),
        as_of=attempt.baseline.now if attempt.maybe(0.3) else None,
    )

"""Each of the two guards by itself: what the search plane finds, and what recall loads when it is handed foreign ids.

Nothing that is found here has reached anybody: the other guard still stands between it and an answer. So these are
counted as guards that hold or are broken, not as leaks.
"""

from __future__ import annotations

from django.utils import timezone

from memories.recall.hydration import texts
from memories.recall.loading import load
from memories.recall.query import parse
from memories.recall.request import Request, checked
from memories.search import search_plane
from memories.types import ALL_KINDS, CandidateRequest
from proof.attempt import NOBODY, Attempt, Target, attack
from proof.baseline import moved as has_moved
from proof.marks import Told
from proof.residents import Part, Resident

_EPISODE_ID = 3  # its place in a memories.recall.pool.Turn


@attack(
    "search plane: candidates for the words and the vector of another's memory", weight=14, tests=Target.SEARCH_GUARD
)
def candidates(attempt: Attempt) -> None:
    """The best question there can be for a memory of another: its own words and its own vector."""
    attacker, chance = attempt.attacker(), attempt.chance
    target = attempt.target(attempt.victim(attacker))
    request = CandidateRequest(
        kinds=chance.choice([ALL_KINDS, (target.kind,)]),
        terms=parse(f"{target.words} {target.secret}").terms,
        vector=chance.choice([lambda: target.vector, None]),
        per_leg=chance.choice([10, 80, 160]),
        task=chance.choice(["", target.task]),
        include_superseded=attempt.maybe(0.5),
    )
    hits = search_plane().candidates(attacker.principal, request).hits
    attempt.shows(attacker, [str(hit.id) for hit in hits])


@attack("search plane: another's memory by its id", weight=8, tests=Target.SEARCH_GUARD)
def seen(attempt: Attempt) -> None:
    """What the inspector asks, as the attacker: the best that one can know of a memory is its id."""
    attacker = attempt.attacker()
    target = attempt.target(attempt.victim(attacker))
    document = search_plane().see(attacker.principal, target.kind, target.id).document
    if document is not None:
        attempt.shows(attacker, [str(target.id), document.text])


@attack("search plane: candidates moved by what others write", weight=8, tests=Target.SEARCH_GUARD)
def moved(attempt: Attempt) -> None:
    """A watcher's candidates and their scores, as they were before anybody wrote."""
    watcher = attempt.attacker(Part.WATCHER)
    question = attempt.chance.choice(attempt.baseline.questions)
    before = attempt.baseline.candidates[watcher.number, question]
    if has_moved(before, attempt.baseline.looked_up(watcher, question)):
        attempt.found(watcher, NOBODY, Told.MOVED)


@attack("load step: foreign ids among the candidates", weight=14, tests=Target.DATABASE_GUARD)
def loaded(attempt: Attempt) -> None:
    """What a search plane that found too much would hand to the load step."""
    attacker, chance = attempt.attacker(), attempt.chance
    victim = attempt.victim(attacker)
    request = _request(attempt, victim)
    ids = {kind: [each.id for each in victim.planted if each.kind is kind] for kind in ALL_KINDS}
    turns, rows = load(attacker.principal, request, ids)
    got = [str(turn[_EPISODE_ID]) for turn in turns if turn[_EPISODE_ID]] + [row.id for row in rows]
    attempt.shows(attacker, got)
    if turns and not got:
        attempt.found(attacker, victim.number, Told.TEXT)  # the words around a hit, without its id
    shared = chance.choice(attempt.world.companies)
    _, rows = load(attacker.principal, request, {each.kind: [each.id] for each in shared.shared})
    attempt.shows(attacker, [row.id for row in rows])


@attack("load step: texts of foreign ids", weight=6, tests=Target.DATABASE_GUARD)
def worded(attempt: Attempt) -> None:
    """The last step of a recall, in which the chosen memories get their texts."""
    attacker = attempt.attacker()
    victim = attempt.victim(attacker)
    wanted = [(each.kind, each.id.hex) for each in victim.planted]
    found = texts(attacker.principal, _request(attempt, victim), wanted)
    attempt.shows(attacker, list(found.values()))


def _request(attempt: Attempt, victim: Resident) -> Request:
    chance = attempt.chance
    return checked(
        "locker",
        types=ALL_KINDS,
        limit=10,
        task=chance.choice(["", *{each.task for each in victim.planted}]),
        include_superseded=attempt.maybe(0.5),
        as_of=attempt.baseline.now if attempt.maybe(0.3) else None,
        session_id=None,
        exclude_episode_ids=(),
        token_budget=None,
        now=timezone.now(),
    )

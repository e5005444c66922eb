"""The seed decides what is tried; what fails is reported, and counts as nothing proven."""

from __future__ import annotations

from collections import Counter
from typing import cast

from memories.isolation.attempt import Attempt, Target, Way
from memories.isolation.baseline import Baseline
from memories.isolation.marks import Told
from memories.isolation.residents import Resident, World
from memories.isolation.running import Runner, chosen
from memories.isolation.ways import ways_on

NOTHING = cast("World", None)
UNCHANGED = cast("Baseline", None)
ADA = cast("Resident", type("Ada", (), {"number": 1}))


def way(name: str, attack: object, weight: int = 1) -> Way:
    return Way(name, Target.PRODUCT, weight, "", attack)  # type: ignore[arg-type]  # attacks of tests take what they like


def finds(attempt: Attempt) -> None:
    attempt.found(ADA, 2, Told.TEXT)


def fails(_: Attempt) -> None:
    raise LookupError("a text that must not be kept")


def test_a_seed_chooses_the_same_ways_again() -> None:
    ways = ways_on("embedded")
    first, again, other = ([each.name for each in chosen(ways, 300, seed)] for seed in (1, 1, 2))
    assert first == again != other
    assert len(first) == 300 and set(first) == {each.name for each in ways}


def test_every_attempt_is_made_once_by_many_threads() -> None:
    runner = Runner(NOTHING, UNCHANGED, [way("a", finds), way("b", lambda _: None)], seed=1)
    tally = runner.run(100, 8)
    assert tally.attempts.total() == 100
    assert list(tally.findings.values()) == [tally.attempts["a"]]


def test_an_attempt_that_fails_is_told_without_its_message() -> None:
    tally = Runner(NOTHING, UNCHANGED, [way("a", fails)], seed=1).run(3, 1)
    assert tally.failures == Counter({("a", "LookupError"): 3})


def test_ways_of_the_cluster_are_taken_on_the_cluster_only() -> None:
    embedded, real = ({each.name for each in ways_on(plane)} for plane in ("embedded", "elasticsearch"))
    assert embedded < real
    assert all(name.startswith(("cluster", "limit", "recall: as")) for name in real - embedded)

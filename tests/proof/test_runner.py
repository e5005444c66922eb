"""The seed decides what is tried; an attempt that fails is reported and proves nothing."""

from __future__ import annotations

from collections import Counter
from typing import cast

from proof.attack import Attack, Attempt, Target
from proof.attacks import attacks_on
from proof.baseline import Baseline
from proof.marks import Exposure
from proof.run import Runner, chosen
from proof.world import Resident, World

NOTHING = cast("World", None)
UNCHANGED = cast("Baseline", None)
ADA = cast("Resident", type("Ada", (), {"number": 1}))


def attack(name: str, run: object, weight: int = 1) -> Attack:
    return Attack(name, Target.PRODUCT, weight, "", run)  # type: ignore[arg-type]  # attacks of tests take what they like


def finds(attempt: Attempt) -> None:
    attempt.found(ADA, 2, Exposure.TEXT)


def fails(_: Attempt) -> None:
    raise LookupError("a text that must not be kept")


def test_a_seed_chooses_the_same_attacks_again() -> None:
    attacks = attacks_on("embedded")
    first, again, other = ([each.name for each in chosen(attacks, 300, seed)] for seed in (1, 1, 2))
    assert first == again != other
    assert len(first) == 300 and set(first) == {each.name for each in attacks}


def test_every_attempt_is_made_once_by_many_threads() -> None:
    runner = Runner(NOTHING, UNCHANGED, [attack("a", finds), attack("b", lambda _: None)], seed=1)
    tally = runner.run(100, 8)
    assert tally.attempts.total() == 100
    assert list(tally.findings.values()) == [tally.attempts["a"]]


def test_a_failed_attempt_is_reported_without_its_message() -> None:
    tally = Runner(NOTHING, UNCHANGED, [attack("a", fails)], seed=1).run(3, 1)
    assert tally.failures == Counter({("a", "LookupError"): 3})

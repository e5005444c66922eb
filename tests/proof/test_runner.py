"""The seed decides what is tried; an attempt that fails is reported and proves nothing."""

from __future__ import annotations

from collections import Counter
from typing import cast

import pytest
from django.db import OperationalError

from proof.attack import Attack, Attempt, Target
from proof.attacks import attacks_on
from proof.baseline import Baseline
from proof.marks import Exposure
from proof.requests import Overloaded
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


def test_an_attempt_that_a_busy_server_did_not_answer_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proof.run._REPEATED_AFTER_SECONDS", (0.0, 0.0))
    answers = iter([Overloaded("429"), OperationalError("database is locked")])

    def busy(_: Attempt) -> None:
        raise next(answers, None) or LookupError

    tally = Runner(NOTHING, UNCHANGED, [attack("a", busy)], seed=1).run(1, 1)
    assert tally.repeated == 2
    assert tally.failures == Counter({("a", "LookupError"): 1})


def test_a_failed_attempt_is_reported_without_its_message() -> None:
    tally = Runner(NOTHING, UNCHANGED, [attack("a", fails)], seed=1).run(3, 1)
    assert tally.failures == Counter({("a", "LookupError"): 3})

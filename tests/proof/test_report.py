"""What findings come to: leaks, broken guards, known limits, or nothing proven."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any, cast
from uuid import UUID

import pytest

from proof.attacks import attacks_on
from proof.attempt import ATTACKS, NOBODY, Finding, Target
from proof.marks import Told
from proof.report import Report, Verdict, leaks_and_guards, limits
from proof.residents import World
from proof.running import Tally

RECALL, MOVED = "recall: the words of others", "recall: moved by what others write"


class Named:
    """A world in which the owner with number n has n in its ids."""

    def named(self, number: int) -> tuple[UUID, UUID | None]:
        return UUID(int=number), None if number >= 900 else UUID(int=number)


WORLD = cast("World", Named())


def way_of(target: Target) -> str:
    return next(attack.name for attack in attacks_on("elasticsearch") if attack.tests is target)


def report_of(*findings: Finding, **changes: Any) -> Report:
    tally = Tally(Counter(dict.fromkeys(ATTACKS, 1)), Counter(findings))
    leaks, guards = leaks_and_guards(WORLD, tally)
    report = Report(
        plane="elasticsearch", database="sqlite", versions={}, seed=1, concurrency=1,
        attempts=len(ATTACKS), seconds=1.0,
        owners=2, attacks=dict(tally.attempts), leaks=leaks, guards=guards, limits=limits(tally), failures={},
        interrupted=False,
    )  # fmt: skip
    return replace(report, **changes)


def test_nothing_found_is_clean() -> None:
    assert report_of().verdict is Verdict.CLEAN


@pytest.mark.parametrize("target", [Target.SEARCH_GUARD, Target.DATABASE_GUARD])
def test_what_gets_past_one_guard_is_no_leak(target: Target) -> None:
    report = report_of(Finding(way_of(target), 1, 2, Told.TEXT))
    assert report.verdict is Verdict.GUARD_BROKEN and not report.leaks
    (broken,) = (guard for guard in report.guards if not guard.holds)
    assert broken.name == target.value and broken.broken == 1


def test_what_reaches_somebody_is_a_leak_with_both_named() -> None:
    report = report_of(Finding(RECALL, 1, 2, Told.TEXT), Finding(RECALL, 1, 900, Told.ID))
    assert report.verdict is Verdict.LEAK and report.leaked == 2
    first, second = report.leaks
    assert first.attacker == (str(UUID(int=1)), str(UUID(int=1))) and first.owner == (str(UUID(int=2)),) * 2
    assert second.owner == (str(UUID(int=900)), None)


def test_an_answer_that_moves_is_a_leak_unless_the_search_guard_is_broken() -> None:
    moved = Finding(MOVED, 1, NOBODY, Told.MOVED)
    assert report_of(moved).verdict is Verdict.LEAK
    broken = report_of(moved, Finding(way_of(Target.SEARCH_GUARD), 1, 2, Told.ID))
    assert broken.verdict is Verdict.GUARD_BROKEN and not broken.leaks


def test_what_a_cluster_is_known_to_tell_is_counted_apart() -> None:
    limit = way_of(Target.LIMIT)
    report = report_of(Finding(limit, 1, NOBODY, Told.COUNT))
    assert report.verdict is Verdict.CLEAN and report.limits[limit] == 1


@pytest.mark.parametrize("changes", [{"failures": {"a way: OSError": 1}}, {"interrupted": True}])
def test_what_was_not_tried_is_not_proven(changes: dict[str, Any]) -> None:
    assert report_of(**changes).verdict is Verdict.UNPROVEN


def test_people_are_told_each_way_once() -> None:
    report = report_of(*(Finding(RECALL, 1, owner, Told.TEXT) for owner in range(2, 30)))
    (leak,) = [sentence for sentence in report.sentences() if sentence.startswith("LEAK: ")]
    assert "28 times (28 pairs of owners)" in leak

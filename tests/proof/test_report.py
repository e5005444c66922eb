"""Findings are leaks, broken guards or known limits; attempts that failed prove nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any, cast
from uuid import UUID

import pytest

from proof.attack import ATTACKS, NOBODY, AttackFinding, Target
from proof.attacks import attacks_on
from proof.marks import Exposure
from proof.report import Conclusion, ProofReport, Tally, leaks_and_guards, limits
from proof.world import World

RECALL, MOVED = "recall: the words of others", "recall: moved by what others write"


class Named:
    """A world in which the owner with number n has n in its ids."""

    def ids_of(self, number: int) -> tuple[UUID, UUID | None]:
        return UUID(int=number), None if number >= 900 else UUID(int=number)


WORLD = cast("World", Named())


def attack_on(target: Target) -> str:
    return next(attack.name for attack in attacks_on("elasticsearch") if attack.tests is target)


def report_of(*findings: AttackFinding, **changes: Any) -> ProofReport:
    tally = Tally(Counter(dict.fromkeys(ATTACKS, 1)), Counter(findings))
    leaks, guards = leaks_and_guards(WORLD, tally)
    report = ProofReport(
        plane="elasticsearch", database="sqlite", versions={}, seed=1, concurrency=1, attempts=len(ATTACKS),
        seconds=1.0, owners=2, attacks=dict(tally.attempts), leaks=leaks, guards=guards, limits=limits(tally),
        failures={}, repeated=0, interrupted=False,
    )  # fmt: skip
    return replace(report, **changes)


def test_nothing_found_is_clean() -> None:
    assert report_of().conclusion is Conclusion.CLEAN


@pytest.mark.parametrize("target", [Target.SEARCH_GUARD, Target.DATABASE_GUARD])
def test_a_broken_guard_is_no_leak(target: Target) -> None:
    report = report_of(AttackFinding(attack_on(target), 1, 2, Exposure.TEXT))
    assert report.conclusion is Conclusion.GUARD_BROKEN and not report.leaks
    (broken,) = (guard for guard in report.guards if not guard.holds)
    assert broken.name == target.value and broken.broken == 1


def test_a_leak_names_attacker_and_owner() -> None:
    report = report_of(AttackFinding(RECALL, 1, 2, Exposure.TEXT), AttackFinding(RECALL, 1, 900, Exposure.ID))
    assert report.conclusion is Conclusion.LEAK and report.leaked == 2
    first, second = report.leaks
    assert first.attacker == (str(UUID(int=1)), str(UUID(int=1))) and first.owner == (str(UUID(int=2)),) * 2
    assert second.owner == (str(UUID(int=900)), None)


def test_an_answer_that_moves_is_a_leak_unless_the_search_guard_is_broken() -> None:
    moved = AttackFinding(MOVED, 1, NOBODY, Exposure.MOVED)
    assert report_of(moved).conclusion is Conclusion.LEAK
    broken = report_of(moved, AttackFinding(attack_on(Target.SEARCH_GUARD), 1, 2, Exposure.ID))
    assert broken.conclusion is Conclusion.GUARD_BROKEN and not broken.leaks


def test_known_limits_of_a_cluster_are_counted_apart() -> None:
    limit = attack_on(Target.LIMIT)
    report = report_of(AttackFinding(limit, 1, NOBODY, Exposure.COUNT))
    assert report.conclusion is Conclusion.CLEAN and report.limits[limit] == 1


@pytest.mark.parametrize("changes", [{"failures": {"an attack: OSError": 1}}, {"interrupted": True}])
def test_failed_attempts_prove_nothing(changes: dict[str, Any]) -> None:
    assert report_of(**changes).conclusion is Conclusion.UNPROVEN

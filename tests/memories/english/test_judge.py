from pathlib import Path

import pytest

from benchmarks.contradictions import PAIRS, read_pairs, scores
from memories.consolidation.judging import Statement, Verdict, judge_by_rules
from tests.memories.consolidation.script import load
from tests.memories.consolidation.script.played import held, played


def test_the_sets_have_two_hundred_pairs_each_and_a_third_of_them_is_held_out() -> None:
    for name in ("contradicting", "compatible"):
        pairs = read_pairs(name)
        assert len({(pair.older, pair.newer) for pair in pairs}) == 200
        assert sum(pair.part == "held out" for pair in pairs) >= 67


@pytest.mark.parametrize(
    ("part", "precision", "recall"),
    [
        pytest.param("tuned on", 1.0, 0.98, id="tuned-on"),
        pytest.param("held out", 0.98, 0.90, id="held-out"),
        pytest.param("all", 0.98, 0.95, id="all"),
    ],
)
def test_what_the_rules_find_is_right(part: str, precision: float, recall: float) -> None:
    found = scores()[part]

    assert found.precision >= precision
    assert found.recall >= recall
    assert found.hasty == 0


def test_neither_order_makes_compatible_facts_contradict_each_other() -> None:
    for pair in read_pairs("compatible"):
        assert judge_by_rules(Statement(pair.newer), Statement(pair.older)).verdict is Verdict.NEITHER, pair


def test_near_misses_are_left_alone() -> None:
    for line in (PAIRS / "near_misses.tsv").read_text(encoding="utf-8").splitlines():
        left, right = map(Statement, line.split("\t"))
        assert {judge_by_rules(left, right).verdict, judge_by_rules(right, left).verdict} == {Verdict.NEITHER}, line


def test_paraphrases_do_not_contradict_each_other() -> None:
    pairs = Path(__file__).parents[2] / "hygiene" / "pairs" / "same.tsv"
    for line in pairs.read_text(encoding="utf-8").splitlines():
        *_, left, right = line.split("\t")
        assert judge_by_rules(Statement(left), Statement(right)).verdict is Verdict.NEITHER, line


@pytest.mark.parametrize("talk", ["statements", "jonas", "priya"])
def test_what_two_years_of_talk_leave_agrees_with_itself(talk: str) -> None:
    facts = [Statement(fact.text) for fact in held(*played(load(talk), 20)) if fact.ended_in is None]

    at_odds = [(one.text, other.text) for one in facts for other in facts if judge_by_rules(one, other).reason]

    assert at_odds == []

import gc
from pathlib import Path

import pytest

from benchmarks.contradictions import PAIRS, read_pairs, scores
from memories.consolidation.rules import JudgedFact, Verdict
from memories.english.judge import Claim, cues, judge, topics
from tests.memories.english.script import load
from tests.memories.english.script.played import held, played

AT_ODDS = (Verdict.CONTRADICTION, Verdict.UPDATE)


def verdict(older: JudgedFact, newer: JudgedFact) -> Verdict:
    (judgement,) = judge([(older, newer)])
    return judgement.verdict


def test_the_sets_have_two_hundred_pairs_each_and_a_third_of_them_is_held_out() -> None:
    for name in ("contradicting", "compatible"):
        pairs = read_pairs(name)
        assert len({(pair.older, pair.newer) for pair in pairs}) == 200
        assert sum(pair.part == "held out" for pair in pairs) >= 67


@pytest.mark.parametrize(
    ("part", "precision", "recall"),
    [
        pytest.param("tuned on", 1.0, 0.80, id="tuned-on"),
        pytest.param("held out", 1.0, 0.75, id="held-out"),
        pytest.param("all", 1.0, 0.80, id="all"),
    ],
)
def test_what_the_rules_find_is_right(part: str, precision: float, recall: float) -> None:
    found = scores()[part]

    assert found.precision >= precision
    assert found.recall >= recall
    assert found.hasty == 0


def test_neither_order_makes_compatible_facts_contradict_each_other() -> None:
    for pair in read_pairs("compatible"):
        assert verdict(JudgedFact(pair.newer), JudgedFact(pair.older)) not in AT_ODDS, pair


def test_near_misses_are_left_alone() -> None:
    for line in (PAIRS / "near_misses.tsv").read_text(encoding="utf-8").splitlines():
        left, right = map(JudgedFact, line.split("\t"))
        verdicts = {verdict(left, right), verdict(right, left)}
        assert verdicts <= {Verdict.NEITHER, Verdict.SAME}, line


def test_paraphrases_do_not_contradict_each_other() -> None:
    pairs = Path(__file__).parent / "duplicates" / "same.tsv"
    for line in pairs.read_text(encoding="utf-8").splitlines():
        *_, left, right = line.split("\t")
        assert verdict(JudgedFact(left), JudgedFact(right)) in (Verdict.NEITHER, Verdict.SAME), line


@pytest.mark.parametrize("talk", ["statements", "jonas", "priya"])
def test_what_two_years_of_talk_leave_agrees_with_itself(talk: str) -> None:
    facts = [JudgedFact(fact.text) for fact in held(*played(load(talk), 20)) if fact.ended_in is None]

    at_odds = [(one.text, other.text) for one in facts for other in facts if verdict(one, other) in AT_ODDS]

    assert at_odds == []


def test_a_scan_and_a_look_by_words_find_what_contradicts() -> None:
    for pair in read_pairs("contradicting"):
        older, newer = JudgedFact(pair.older), JudgedFact(pair.newer)
        if verdict(older, newer) in AT_ODDS:
            assert topics(older) & topics(newer), pair
            assert any(part in pair.older.casefold() for part in cues(newer).parts), (pair, cues(newer))


def test_a_judgement_keeps_no_words_of_the_facts() -> None:
    wording = "Is allergic to zanzibarite"
    assert verdict(JudgedFact(wording), JudgedFact("Is not allergic to zanzibarite")) is Verdict.CONTRADICTION
    gc.collect()
    kept = [each for each in gc.get_objects() if type(each) in (Claim, JudgedFact)]
    assert not any("zanzibarite" in each.text for each in kept)


def test_the_keys_of_one_slot_are_looked_for() -> None:
    assert "city" in cues(JudgedFact("Lives in Oslo", "home_city")).keys
    older, newer = JudgedFact("Lives in Bergen", "city"), JudgedFact("Lives in Oslo", "home_city")
    assert verdict(older, newer) is Verdict.UPDATE

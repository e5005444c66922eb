"""Peers get the memories and questions that memoryhub gets, and their answers are scored alike."""

from __future__ import annotations

from benchmarks.peers.report import ablations, comparison, kinds
from benchmarks.peers.tasks import cases_of, load_of, scores_of
from memories.evaluation.cases import Form, parse_cases
from tests.memories.evaluation.test_cases import CONVERSATION, MEMBER


def test_a_turn_comes_with_its_speaker_and_what_was_shared() -> None:
    (case,) = cases_of(parse_cases([CONVERSATION], Form.LOCOMO))
    assert case["memories"] == [("D1:1", "Ana: I adopted a cat"), ("D1:2", "Ben: Look! [shares a red kite]")]


def test_superseded_memories_are_hidden_but_from_questions_about_the_past() -> None:
    (case,) = cases_of(parse_cases([MEMBER], Form.MEMORIES))
    assert case["hidden"] == ["f1"]
    assert [question["with_hidden"] for question in case["questions"]] == [False, True, False]
    assert ("c1", "Hub: Red means no network") in case["memories"]


def test_answers_are_scored_by_the_ranks_of_the_evidence() -> None:
    cases = parse_cases([MEMBER], Form.MEMORIES)
    scored = scores_of(cases, [[["c1", "f2"], ["f1"], ["f2"]]])
    assert (scored["questions"], scored["recall@1"][0], scored["recall@5"][0]) == (2, 0.5, 1.0)


def test_the_last_of_the_made_up_memories_are_timed() -> None:
    load = load_of(memories=30, writes=5, questions=2, seed=1)
    assert (len(load["before"]), len(load["timed"]), len(load["questions"])) == (25, 5, 2 + load["warm_up"])


def test_the_table_has_a_row_for_each_memory_and_says_what_did_not_run() -> None:
    found = {"everyday, held": {f"recall@{rank}": [0.5, 0.4, 0.6] for rank in (1, 5, 10)}}
    rows = [
        {"memory": "memoryhub", "version": "1", "encoder": "its own", "found": found},
        {"memory": "other", "encoder": "its own", "error": "no such file"},
    ]
    measured = {"measured": "2026-11-28", "machine": "2 cores", "memories": 10, "sets": list(found), "rows": rows}
    lines = list(comparison(measured))
    assert "| memoryhub 1 | its own | .500 / .500 / .500 |" in lines[-2]
    assert "did not run: no such file" in lines[-1]
    assert len({line.count("|") for line in lines[2:]}) == 1


def test_kinds_and_ablations_come_with_their_intervals() -> None:
    figures = {f"recall@{rank}": [0.5, 0.4, 0.6] for rank in (1, 5, 10)} | {"questions": 3}
    rows = [{"memory": "memoryhub", "found": {"a set": figures | {"by_category": {"slot": figures}}}}]
    lines = list(kinds({"rows": rows}))
    assert "| a set | slot | 3 | .500 (.400 to .600) |" in lines[-2]
    (*_, line) = ablations({"a set": {"without": {"signal date": {"recall@5": [-0.01, -0.02, 0.0]}}}})
    assert line == "| signal date | −.010 (−.020 to .000) |"

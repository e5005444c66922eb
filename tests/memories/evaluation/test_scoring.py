"""Recall@k, reciprocal rank, intervals, injections, leaks and latency, by hand."""

from __future__ import annotations

import pytest

from memories.evaluation.scoring import QuestionOutcome, gains, latency, report, scores


def outcome(category: str = "a", *ranks: int | None, took_ms: float = 1.0) -> QuestionOutcome:
    return QuestionOutcome(category, ranks, took_ms)


def test_recall_is_the_mean_share_of_evidence_in_the_first_k_and_mrr_looks_at_the_first_piece() -> None:
    assert scores([outcome("a", 4, 2), outcome("a", None)])["mrr"][0] == 0.25
    found = scores([outcome("a", 1, 7), outcome("a", None)])
    assert [found[f"recall@{k}"][0] for k in (1, 5, 10, 20)] == [0.25, 0.25, 0.5, 0.5]


def test_an_interval_is_repeatable_and_narrows_with_more_questions() -> None:
    few, many = ([outcome("a", 1), outcome("a", None)] * times for times in (10, 1_000))
    mean, low, high = scores(few)["recall@1"]
    assert low < mean < high
    assert scores(few) == scores(few)
    assert high - low == pytest.approx(0.44, abs=0.05), "1.96 times the root of p (1 - p) / 20, on either side"
    assert scores(many)["recall@1"][2] - scores(many)["recall@1"][1] < (high - low) / 5


def test_a_gain_is_paired() -> None:
    before = [outcome("a", 1), outcome("a", None)] * 50
    assert gains(before, before)["mrr"] == [0.0, 0.0, 0.0]
    after = [outcome("a", 1), outcome("a", 1)] * 50
    assert gains(before, after)["recall@1"] == [0.5, pytest.approx(0.4, abs=0.02), pytest.approx(0.6, abs=0.02)]


def test_categories_are_reported_apart() -> None:
    found = (("a", 1), ("b", None), ("b", 3))
    measured = report([outcome(category, place) for category, place in found])
    assert {name: each["questions"] for name, each in measured["by_category"].items()} == {"a": 1, "b": 2}
    assert measured["by_category"]["b"]["recall@5"][0] == 0.5


def test_questions_without_evidence_count_for_time_alone() -> None:
    measured = report([outcome("unanswerable", took_ms=30.0), outcome("a", 1, took_ms=10.0)])
    assert (measured["questions"], measured["recall@1"][0]) == (1, 1.0)
    assert measured["latency_ms"] == latency([outcome(took_ms=30.0)])


@pytest.mark.parametrize(("threshold", "injected"), [(None, 0.75), (0.5, 0.5), (2.0, 0.0)])
def test_an_unanswerable_question_is_given_what_reaches_the_threshold(threshold: float | None, injected: float) -> None:
    unknown = [QuestionOutcome("unanswerable", (), 1.0, best=best) for best in (0.2, 0.8, 1.0, None)]
    assert report(unknown, threshold=threshold)["unanswerable"]["injected"] == injected


def test_thresholds_show_what_they_let_through_and_what_they_cost() -> None:
    unknown = [QuestionOutcome("unanswerable", (), 1.0, best=best) for best in (0.2, 0.4, 0.6, 0.8)]
    known = [QuestionOutcome("a", (1,), 1.0, scores=(score,)) for score in (0.5, 0.9)]
    considered = report([*unknown, *known])["unanswerable"]["thresholds"]
    assert [(each["injected"], each["gain"][0]) for each in considered] == [
        (0.75, 0.0), (0.5, 0.0), (0.25, -0.5), (0.0, -0.5),
    ]  # fmt: skip


def test_a_threshold_lets_through_what_is_said_of_it() -> None:
    unknown = [QuestionOutcome("unanswerable", (), 1.0, best=best) for best in (0.123444, 0.2, 0.3, 0.4)]
    (first, *_) = report(unknown)["unanswerable"]["thresholds"]
    assert report(unknown, threshold=first["threshold"])["unanswerable"]["injected"] == first["injected"] == 0.75


def test_leaks_are_counted_in_every_answer() -> None:
    answers = [QuestionOutcome("leak", (), 1.0, leaked=False), QuestionOutcome("a", (1,), 1.0, leaked=True)]
    assert report([*answers, outcome("a", 1)])["leaks"] == {"questions": 2, "probes": 1, "leaked": 1}

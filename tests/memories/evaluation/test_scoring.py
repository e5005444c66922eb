"""Recall@k, reciprocal rank and latency, by hand."""

from __future__ import annotations

from memories.evaluation.runner import QuestionOutcome, report


def test_recall_is_the_mean_share_of_evidence_in_the_first_k_and_mrr_looks_at_the_first_piece() -> None:
    assert report([QuestionOutcome("a", (4, 2), 1.0), QuestionOutcome("a", (None,), 1.0)])["mrr"] == 0.25
    measured = report([QuestionOutcome("a", (1, 7), 10.0), QuestionOutcome("a", (None,), 10.0)])
    assert measured["recall"] == {"1": 0.25, "5": 0.25, "10": 0.5, "20": 0.5}


def test_categories_are_reported_apart() -> None:
    found = (("a", 1), ("b", None), ("b", 3))
    measured = report([QuestionOutcome(category, (place,), 1.0) for category, place in found])
    assert {name: scores["questions"] for name, scores in measured["by_category"].items()} == {"a": 1, "b": 2}
    assert measured["by_category"]["b"]["recall"]["5"] == 0.5


def test_questions_without_evidence_count_for_nothing_but_time() -> None:
    measured = report([QuestionOutcome("unanswerable", (), 30.0), QuestionOutcome("a", (1,), 10.0)])
    assert (measured["questions"], measured["recall"]["1"]) == (1, 1.0)
    assert measured["latency_ms"] == {"p50": 30.0, "p95": 30.0}

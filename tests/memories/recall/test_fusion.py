"""From signals to a score: each adds what its weight says, and ranks do what ranks do."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.recall.adjust import RECIPE, RRF_K
from memories.recall.late_interaction import Coverage
from memories.recall.scoring import CandidateEvidence, contributions, reciprocal_rank, total


def evidence(count: int = 1) -> CandidateEvidence:
    """Candidates of which nothing is known."""
    zeros, no = np.zeros(count, np.float32), np.zeros(count, np.bool_)
    return CandidateEvidence(
        meaning=zeros,
        session=zeros,
        alone=no,
        by_named=no,
        follows_question=no,
        first_person=no,
        month=np.zeros(count, np.int64),
        year=np.zeros(count, np.int64),
        says_when=no,
    )


def nothing_covered(count: int = 1) -> Coverage:
    zeros = np.zeros(count, np.float32)
    return Coverage(zeros, zeros, zeros, zeros)


def added(known: CandidateEvidence, covered: Coverage | None = None, **asked: object) -> dict[str, float]:
    question = {"months": frozenset[int](), "years": frozenset[int](), "asks_when": False} | asked
    parts = contributions(covered or nothing_covered(), known, **question)  # type: ignore[arg-type]  # by keyword
    return {name: round(float(values[0]), 5) for name, values in parts.items() if values[0]}


YES = np.array([True])


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({"meaning": np.array([0.5])}, {"meaning": 0.75}, id="meaning"),
        pytest.param({"session": np.array([0.4])}, {"session": 0.2}, id="session"),
        pytest.param({"alone": YES}, {"alone": 0.08}, id="alone"),
        pytest.param({"by_named": YES}, {"speaker": 0.6}, id="speaker"),
        pytest.param({"by_named": YES, "first_person": YES}, {"speaker": 0.6, "first_person": 0.15}, id="first person"),
        pytest.param({"first_person": YES}, {}, id="first person of somebody else"),
        pytest.param({"says_when": YES}, {}, id="a time nobody asked for"),
    ],
)
def test_what_is_known_adds_its_weight(changes: dict[str, object], expected: dict[str, float]) -> None:
    assert added(replace(evidence(), **changes)) == expected  # type: ignore[arg-type]  # by keyword


def test_a_named_month_counts_and_a_year_for_half() -> None:
    may = replace(evidence(), month=np.array([5]), year=np.array([2023]))
    assert added(may, months=frozenset({5}), years=frozenset({2023})) == {"date": 0.75}
    assert added(may, years=frozenset({2023})) == {"date": 0.25}
    assert added(may, months=frozenset({6})) == {}


def test_a_time_word_counts_if_the_question_asks_when() -> None:
    assert added(replace(evidence(), says_when=YES), asks_when=True) == {"when": 0.4}


def test_coverage_is_cubed_so_weak_coverage_is_mute() -> None:
    half = np.array([0.5], np.float32)
    covered = Coverage(own=half, before=half, around=half, previous=half)
    assert added(evidence(), covered) == {"words": 0.1, "words_before": 0.125, "words_around": 0.1}


def test_the_turn_before_counts_only_if_it_asks() -> None:
    covered = replace(nothing_covered(), previous=np.array([0.5], np.float32))
    assert added(replace(evidence(), follows_question=YES), covered) == {"answers": 0.125}


def test_the_score_is_the_sum_and_independent_of_the_other_candidates() -> None:
    known = replace(evidence(2), meaning=np.array([0.5, 0.9], np.float32))
    asked = {"months": frozenset[int](), "years": frozenset[int](), "asks_when": False}
    both = total(contributions(nothing_covered(2), known, **asked))  # type: ignore[arg-type]  # by keyword
    alone = total(contributions(nothing_covered(), replace(evidence(), meaning=np.array([0.5], np.float32)), **asked))  # type: ignore[arg-type]  # by keyword
    assert both[0] == alone[0] == pytest.approx(0.75)


def test_the_weights_are_the_frozen_ones() -> None:
    assert [getattr(RECIPE, field.name) for field in fields(RECIPE)] == [
        1.5, 0.8, 1.0, 0.8, 0.5, 0.08, 0.6, 1.0, 0.15, 0.5, 0.4, 3.0,
    ]  # fmt: skip
    assert RRF_K == 30


def test_reciprocal_rank_adds_over_the_legs() -> None:
    fused = reciprocal_rank({"words": np.array([3.0, 1.0, 0.0]), "meaning": np.array([0.2, 0.9, 0.1])}, k=30)
    assert fused == pytest.approx([1 / 31 + 1 / 32, 1 / 32 + 1 / 31, 1 / 33])


@given(st.permutations(range(5)))
def test_the_order_of_the_candidates_changes_no_rank(order: list[int]) -> None:
    values = np.array([0.5, 0.5, 0.1, 0.0, 0.9], np.float32)
    assert reciprocal_rank({"leg": values[order]}) == pytest.approx(reciprocal_rank({"leg": values})[order])

"""Reasons are words for people, and nobody is left without one."""

from __future__ import annotations

import pytest

from memories.recall.adjust import reasons


@pytest.mark.parametrize(
    ("signals", "expected"),
    [
        pytest.param({"coverage": 0.8}, "same words", id="words"),
        pytest.param({"cosine": 0.5}, "same meaning", id="meaning"),
        pytest.param({"answers": 0.3}, "said just after", id="an answer"),
        pytest.param({"date": 0.5}, "about that time", id="date"),
        pytest.param({"when": 0.4}, "says when", id="time"),
        pytest.param({"coverage_around": 0.7}, "same conversation", id="around"),
        pytest.param({}, "nearest in meaning", id="nothing strong"),
    ],
)
def test_a_strong_signal_is_a_reason(signals: dict[str, float], expected: str) -> None:
    assert reasons(signals) == [expected]


def test_a_named_speaker_is_a_reason() -> None:
    assert reasons({"speaker": 0.6}, speaker="Melanie") == ["said by Melanie"]


def test_a_neighbour_without_a_reason_of_its_own_stands_beside_a_hit() -> None:
    assert reasons({}, neighbour=True) == ["said beside it"]
    assert reasons({"cosine": 0.6}, neighbour=True) == ["same meaning"]


def test_the_tail_says_that_it_is_new() -> None:
    assert reasons({"cosine": 0.6}, tail=True) == ["same meaning", "just written"]

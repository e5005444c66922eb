"""Adjustments and reasons: recent, used, successful and own memories rank higher, within bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.recall.adjust import apply, bounded, parts, reasons


def of(values: object) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.atleast_1d(np.array(values, np.float32))


PLAIN = dict[str, Any](
    age_days=of(0.0), use_count=of(0), successes=of(0), failures=of(0), success_age_days=of(np.inf),
    catalog=np.array([False]), stale=np.array([False]),
)  # fmt: skip
LATELY = {"successes": of(1), "success_age_days": of(1)}
STALE, SHARED = {"stale": np.array([True])}, {"catalog": np.array([True])}


def factor(**changes: object) -> float:
    return float(bounded(parts(**PLAIN | changes))[0])


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        pytest.param({}, {"age_days": of(2_000)}, id="recent before old"),
        pytest.param({"use_count": of(9)}, {}, id="used before unused"),
        pytest.param({}, SHARED, id="own before shared"),
        pytest.param({"age_days": of(10_000)}, STALE | {"age_days": of(10_000)}, id="old before stale"),
        pytest.param(LATELY, LATELY | {"success_age_days": of(9_000)}, id="success lately before long ago"),
    ],
)
def test_what_helps_more_ranks_higher(better: dict[str, object], worse: dict[str, object]) -> None:
    assert factor(**better) > factor(**worse)


@given(st.floats(0, 10_000), st.integers(0, 10**6), st.integers(0, 1_000), st.integers(0, 1_000), st.floats(0, 10_000))
def test_together_they_stay_within_bounds(age: float, uses: int, good: int, bad: int, since: float) -> None:
    together = factor(
        age_days=of(age), use_count=of(uses), successes=of(good), failures=of(bad), success_age_days=of(since)
    )
    assert 0.7 - 1e-6 <= together <= 1.3 + 1e-6


@given(st.floats(-3, 3), st.floats(0.35, 1.3))
def test_a_factor_below_one_always_takes_away(score: float, by: float) -> None:
    adjusted = float(apply(of(score), of(by))[0])
    assert (adjusted <= score + 1e-5) if by <= 1 else (adjusted >= score - 1e-5)


@pytest.mark.parametrize(
    ("signals", "circumstances", "expected"),
    [
        pytest.param({"coverage": 0.8}, {}, ["same words"], id="words"),
        pytest.param({"answers": 0.3}, {}, ["said just after"], id="an answer"),
        pytest.param({"when": 0.4}, {}, ["says when"], id="time"),
        pytest.param({}, {}, ["nearest in meaning"], id="nothing strong"),
        pytest.param({"speaker": 0.6}, {"speaker": "Melanie"}, ["said by Melanie"], id="speaker"),
        pytest.param({}, {"neighbour": True}, ["said beside it"], id="neighbour"),
        pytest.param({"cosine": 0.6}, {"neighbour": True}, ["same meaning"], id="a neighbour with its own reason"),
        pytest.param({"cosine": 0.6}, {"tail": True}, ["same meaning", "just written"], id="tail"),
    ],
)
def test_each_strong_signal_is_a_reason_and_nobody_is_without(
    signals: dict[str, float], circumstances: dict[str, object], expected: list[str]
) -> None:
    assert reasons(signals, **circumstances) == expected  # type: ignore[arg-type]  # by keyword

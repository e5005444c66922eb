"""Adjustments: what is recent, used, successful and one's own comes up, within bounds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.recall.adjust import Circumstances, apply, decay, factors, outcomes, use


def of(values: object) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.atleast_1d(np.array(values, np.float32))


PLAIN = Circumstances(
    age_days=of(0.0),
    use_count=of(0),
    successes=of(0),
    failures=of(0),
    success_age_days=of(np.inf),
    catalog=np.array([False]),
    stale=np.array([False]),
)


def factor(**changes: object) -> float:
    return float(factors(replace(PLAIN, **changes))[0])  # type: ignore[arg-type]  # by keyword


def test_nothing_known_changes_nothing() -> None:
    assert factor() == 1.0


def test_decay_is_half_at_offset_and_scale() -> None:
    assert decay(of([0, 180, 180 + 1825, 180 + 2 * 1825])) == pytest.approx([1.0, 1.0, 0.5, 0.0625])


def test_a_time_to_come_counts_as_now() -> None:
    assert decay(of(-100)) == pytest.approx([1.0])


@given(st.floats(0, 20_000), st.floats(0, 20_000))
def test_the_older_never_counts_for_more(one: float, other: float) -> None:
    younger, older = sorted([one, other])
    assert decay(of(younger))[0] >= decay(of(older))[0]


def test_use_counts_by_its_magnitude() -> None:
    assert use(of([0, 9, 99])) == pytest.approx([1.0, 1.2, 1.4])


def test_a_playbook_that_works_gains_what_one_that_fails_loses() -> None:
    never, always = outcomes(of([0, 8]), of([8, 0]), of([np.inf, np.inf]))
    assert always - 1 == pytest.approx(1 - never)
    assert outcomes(of(0), of(0), of(np.inf)) == pytest.approx([1.0])


def test_a_recent_success_adds_a_little() -> None:
    lately, long_ago = outcomes(of([1, 1]), of([1, 1]), of([1, 9_000]))
    assert 1.0 <= long_ago < lately == pytest.approx(1.05)


def test_what_worked_often_goes_before_what_worked_once_before_what_nobody_tried() -> None:
    nine_of_ten, once, untried, failed = outcomes(of([9, 1, 0, 0]), of([1, 0, 0, 1]), of([1, 1, np.inf, np.inf]))
    assert nine_of_ten > once > untried > failed


def test_each_failure_pushes_down_even_if_it_worked_lately() -> None:
    falling = outcomes(of([1, 1, 1, 1]), of([0, 1, 2, 3]), of([1, 1, 1, 1]))
    assert [*falling] == sorted(falling, reverse=True)
    assert len({*falling}) == 4
    assert falling[-1] < 1.0


@given(st.integers(0, 500), st.integers(0, 500), st.floats(0, 5_000))
def test_another_success_never_takes_away(good: int, bad: int, since: float) -> None:
    before, after = outcomes(of([good, good + 1]), of([bad, bad]), of([since, 0.0]))
    assert after >= before - 1e-6


def test_the_catalog_steps_back() -> None:
    assert factor(catalog=np.array([True])) == pytest.approx(0.85)


@given(st.floats(0, 10_000), st.integers(0, 10**6), st.integers(0, 1_000), st.integers(0, 1_000), st.floats(0, 10_000))
def test_together_they_stay_within_bounds(age: float, uses: int, good: int, bad: int, since: float) -> None:
    together = factor(
        age_days=of(age), use_count=of(uses), successes=of(good), failures=of(bad), success_age_days=of(since)
    )
    assert 0.7 - 1e-6 <= together <= 1.3 + 1e-6


def test_stale_halves_outside_the_bounds() -> None:
    assert factor(stale=np.array([True]), age_days=of(10_000)) == pytest.approx(0.35)


@given(st.floats(-3, 3), st.floats(0.35, 1.3))
def test_a_factor_below_one_always_takes_away(score: float, by: float) -> None:
    adjusted = float(apply(of(score), of(by))[0])
    assert (adjusted <= score + 1e-5) if by <= 1 else (adjusted >= score - 1e-5)

"""The tags of templates escape what they are given and keep what they shorten."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memories.presenting.markup import duration, icon, initials, kind_mark, share, when
from memories.types import Kind


def test_a_time_keeps_its_exact_value() -> None:
    shown = when(datetime(2020, 5, 4, 12, 0, tzinfo=UTC))
    assert '<time datetime="2020-05-04T12:00:00+00:00"' in shown
    assert 'title="Monday 4 May 2020, 12:00 UTC"' in shown
    assert ">4 May 2020<" in shown


def test_no_time_is_nothing() -> None:
    assert when(None) == ""


def test_an_icon_cannot_smuggle_markup() -> None:
    assert "<script>" not in icon('"><script>')


@pytest.mark.parametrize("kind", Kind)
def test_a_kind_is_named_not_only_coloured(kind: Kind) -> None:
    assert 'class="visually-hidden"' in kind_mark(kind)


@pytest.mark.parametrize(
    ("milliseconds", "words"), [(None, ""), (40.4, "40 ms"), (812.0, "0.8 s"), (61_000.0, "61.0 s")]
)
def test_durations_are_short(milliseconds: float | None, words: str) -> None:
    assert duration(milliseconds) == words


@pytest.mark.parametrize(("name", "letters"), [("Mara Lindqvist", "ML"), ("ada", "A"), ("", ""), ("A b C", "AC")])
def test_initials_take_first_and_last(name: str, letters: str) -> None:
    assert initials(name) == letters


def test_a_share_is_a_percentage() -> None:
    assert (share(0.6), share(None)) == ("60%", "")

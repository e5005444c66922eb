"""The tags of templates escape what they are given and keep what they shorten."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memories.presenting.markup import controls_drawn, icon, kind_mark, when
from memories.types import Kind


def test_a_time_keeps_its_exact_value() -> None:
    shown = when(datetime(2020, 5, 4, 12, 0, tzinfo=UTC))
    assert '<time datetime="2020-05-04T12:00:00+00:00"' in shown
    assert 'title="Monday 4 May 2020, 12:00 UTC"' in shown


def test_an_icon_cannot_smuggle_markup() -> None:
    assert "<script>" not in icon('"><script>')


@pytest.mark.parametrize("kind", Kind)
def test_a_kind_is_named_not_only_coloured(kind: Kind) -> None:
    assert 'class="visually-hidden"' in kind_mark(kind)


def test_words_that_run_backwards_are_seen_to_do_so() -> None:
    drawn = controls_drawn("<p title='a\u202eb'>pay \u202eecila\u202c</p><textarea>\u202e</textarea>")
    assert drawn.count("\u202e") == 2, "attributes and what is edited stay as they are"
    assert ">RLO</span>ecila<span" in drawn and ">PDF</span></p>" in drawn
    assert controls_drawn("<p>\u2068Ana\u2069 \u200fעברית</p>") == "<p>\u2068Ana\u2069 \u200fעברית</p>"

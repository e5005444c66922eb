"""The boundary: limit, budget, duplicates and threshold, and the reason for each cut."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memories.recall.selection import Contender, Cut, select
from memories.types import Kind, Status


def contender(text: str = "", **changes: object) -> Contender:
    plain = Contender(kind=Kind.SEMANTIC, status=Status.ACTIVE, score=1.0, text=text, tokens=10)
    return replace(plain, **changes)  # type: ignore[arg-type]  # by keyword


@pytest.mark.parametrize("again", ["Lives in Bristol.", "lives in BRISTOL", "Oh, lives in Bristol"])
def test_near_duplicates_collapse(again: str) -> None:
    assert select([contender("Lives in Bristol"), contender(again)], limit=5) == [Cut.NO, Cut.DUPLICATE]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("Meets Bo on 3 May", "Meets Bo on 4 May", id="number"),
        pytest.param("Eats meat", "Does not eat meat", id="not"),
        pytest.param("Moved from Leeds to York", "Moved from York to Leeds", id="order"),
        pytest.param("🦆", "🦢", id="no words at all"),
    ],
)
def test_siblings_that_differ_in_a_detail_stay(one: str, other: str) -> None:
    assert select([contender(one), contender(other)], limit=5) == [Cut.NO, Cut.NO]


def test_the_same_words_of_another_kind_or_state_are_no_duplicate() -> None:
    said = contender("Lives in Bristol", kind=Kind.EPISODIC)
    before = contender("Lives in Bristol", status=Status.SUPERSEDED)
    assert select([contender("Lives in Bristol"), said, before], limit=5) == [Cut.NO, Cut.NO, Cut.NO]


def test_a_text_over_the_budget_is_passed_over_for_the_next_that_fits() -> None:
    ranked = [contender("a", tokens=60), contender("b", tokens=60), contender("c", tokens=40)]
    assert select(ranked, limit=5, token_budget=100) == [Cut.NO, Cut.BUDGET, Cut.NO]


def test_there_is_no_threshold_unless_asked_for() -> None:
    weak = contender("weak", score=-1.0)
    assert select([weak], limit=1) == [Cut.NO]
    assert select([weak], limit=1, threshold=0.5) == [Cut.THRESHOLD]


@pytest.mark.parametrize(
    ("kind", "said", "asked", "cut"),
    [
        pytest.param(Kind.EPISODIC, "Where do I live?", "Where do I live?", Cut.ASKED_BEFORE, id="the same"),
        pytest.param(Kind.EPISODIC, "so where do i live", "Where do I live?", Cut.ASKED_BEFORE, id="no mark, a filler"),
        pytest.param(Kind.EPISODIC, "Where do I live now?", "Where do I live?", Cut.NO, id="another question"),
        pytest.param(Kind.EPISODIC, "I live in Bristol", "I live in Bristol", Cut.NO, id="a statement"),
        pytest.param(Kind.SEMANTIC, "Where is home?", "Where is home?", Cut.NO, id="a fact"),
    ],
)
def test_only_an_earlier_asking_of_the_same_question_is_left_out(kind: Kind, said: str, asked: str, cut: Cut) -> None:
    assert select([contender(said, kind=kind)], limit=5, asked=asked) == [cut]

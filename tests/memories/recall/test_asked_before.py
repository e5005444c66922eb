"""A question asked again: its earlier asking is the closest match there is, and never the answer."""

from __future__ import annotations

import pytest

from memories.recall.boundary import Contender, Cut, select
from memories.recall.pipeline import recall
from memories.services.facts.remember import remember_fact
from memories.services.sessions.turns import begin_turn
from memories.types import Kind, Status
from tenants.principal import Principal


@pytest.mark.parametrize(
    ("said", "asked", "cut"),
    [
        pytest.param("Where do I live?", "Where do I live?", Cut.ASKED_BEFORE, id="the same"),
        pytest.param("so where do i live", "Where do I live?", Cut.ASKED_BEFORE, id="no mark, a filler"),
        pytest.param("Where do I live now?", "Where do I live?", Cut.NO, id="another question"),
        pytest.param("I live in Bristol", "I live in Bristol", Cut.NO, id="a statement"),
    ],
)
def test_only_the_same_question_is_left_out(said: str, asked: str, cut: Cut) -> None:
    episode = Contender("a", Kind.EPISODIC, Status.ACTIVE, 2.0, said, 5)
    assert select([episode], limit=5, asked=asked) == [cut]


def test_a_fact_in_the_words_of_the_question_stays() -> None:
    fact = Contender("a", Kind.SEMANTIC, Status.ACTIVE, 2.0, "Where is home?", 5)
    assert select([fact], limit=5, asked="Where is home?") == [Cut.NO]


@pytest.mark.django_db
def test_asking_again_brings_up_the_fact(principal: Principal) -> None:
    for _ in range(5):
        begin_turn(principal, text="Where do I live?")
    fact = remember_fact(principal, text="Lives in Edinburgh", key="home_city").memory_id
    assert [item.id for item in recall(principal, "Where do I live?", limit=5).items] == [fact]


@pytest.mark.django_db
def test_a_question_in_the_first_person_finds_a_fact_in_the_third(principal: Principal) -> None:
    for text in ("Prefers to collect the bike after four", "Lives in Edinburgh", "Has a daughter named June"):
        remember_fact(principal, text=text)
    fact = remember_fact(principal, text="Works at Skyscanner", key="workplace").memory_id
    assert recall(principal, "where do I work?").items[0].id == fact

"""“Undo that” to the English responder: what it restores, and where it changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from memories.agent.loop import run_turn
from memories.chat.history import states_of
from memories.english.responder import Responder
from memories.models import Fact, Playbook
from memories.services.choices import choose
from memories.services.facts.remember import remember_fact
from memories.types import Kind
from tenants.principal import Principal
from tests.memories.agent.conftest import started_of, text_of
from tests.memories.english.conftest import PROPOSED, Say, current

pytestmark = pytest.mark.django_db


def test_undo_brings_back_what_was_replaced(say: Say) -> None:
    say("I live in Hull")
    say("I moved to Derby")
    assert say("Undo that").startswith("Undone: I no longer hold that you live in Derby; you live in Hull")
    assert current() == {"Lives in Hull"}


@pytest.mark.parametrize("told", [["I live in Hull"], ["I live in Derby", "I moved to Hull"]])
def test_an_undo_in_words_leaves_the_history_of_the_button(principal: Principal, say: Say, told: list[str]) -> None:
    for text in told:
        say(text)
    say("Undo that")
    undone = Fact.objects.get(text="Lives in Hull")
    state = next(each for each in states_of(principal, Kind.SEMANTIC, undone.pk) if each.here)
    assert state.ending.startswith("Undone on ")
    assert state.events[-1][0] == "You took it back"
    assert [fact.restores is not None for fact in Fact.objects.current()] == [True] * (len(told) - 1)


def test_an_undo_restores_all_that_a_fact_replaced_and_is_undone_itself(principal: Principal, say: Say) -> None:
    remember_fact(principal, text="Lives in Bath", key="home_city", category="home")
    remember_fact(principal, text="Pays 700 pounds in rent", key="rent", category="home")
    say("I moved to York")
    answer = say("Undo that")
    assert "you live in Bath" in answer and "you pay 700 pounds in rent" in answer
    assert current() == {"Lives in Bath", "Pays 700 pounds in rent"}
    say("Undo that")
    assert current() == {"Lives in York"}


def test_an_undo_keeps_what_was_said_in_another_conversation_as_well(principal: Principal, say: Say) -> None:
    say("I live in Hull")
    list(run_turn(principal, text="I live in Hull", model=Responder()))
    assert say("Undo that").startswith("There is nothing in your last message that I could undo")
    assert current() == {"Lives in Hull"}


def test_an_undo_takes_back_a_how_to(say: Say) -> None:
    say("To reset the hub: hold the button for ten seconds, then wait for the light")
    assert say("Undo that") == "Undone: I no longer hold that “Reset the hub”"
    assert not Playbook.objects.current().exists()


@pytest.mark.parametrize(
    ("choice", "answer"), [({"recalls": False}, "“Recall” is off"), ({"learns": False}, "Memory is paused")]
)
def test_while_memory_is_switched_off_an_undo_changes_nothing_and_says_so(
    principal: Principal, say: Say, choice: dict[str, Any], answer: str
) -> None:
    say("I live in Hull")
    say("I moved to Derby")
    choose(principal, **choice)
    assert say("Undo that").startswith(answer)
    assert current() == {"Lives in Derby"}


def test_in_a_temporary_chat_there_is_nothing_to_undo(principal: Principal) -> None:
    session = started_of(list(run_turn(principal, text="I moved to Derby", temporary=True))).session_id
    assert text_of(run_turn(principal, text="Undo that", session_id=session)).startswith("This chat is temporary")


def test_an_undo_of_a_question_that_is_still_open_says_that_nothing_is_deleted(say: Say) -> None:
    say("I like plums")
    assert say("Forget that I like plums") == PROPOSED
    assert say("Undo that").startswith("Nothing is deleted before you press “Delete”.")

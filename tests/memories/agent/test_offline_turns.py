"""Conversations with the offline responder, end to end: real recall, real services."""

from __future__ import annotations

import pytest
from pytest_django import Settings

from memories.agent.events import Notice, NoticeKind
from memories.agent.loop import run_turn
from memories.agent.model import chat_model
from memories.llm.openai_chat import OpenAIChat
from memories.models import Episode, Fact, Message, Playbook
from memories.services.sessions.turns import begin_turn
from memories.types import Status
from tenants.principal import Principal
from tests.memories.agent.conftest import text_of

pytestmark = pytest.mark.django_db


def say(principal: Principal, text: str) -> str:
    """The answer to `text` in a conversation of its own."""
    return text_of(list(run_turn(principal, text=text)))


@pytest.mark.english
def test_a_move_is_remembered_across_conversations(principal: Principal) -> None:
    say(principal, "I live in Bristol")
    assert "It replaces “Lives in Bristol”" in say(principal, "we left Bristol, in Edinburgh now")
    told = say(principal, "Where do I live?")
    assert told.splitlines()[0].startswith("From what you told me: “Lives in Edinburgh” (learned ")
    assert Fact.objects.get(text="Lives in Bristol").status == Status.SUPERSEDED


@pytest.mark.english
def test_where_one_lived_before_is_in_the_history(principal: Principal) -> None:
    say(principal, "I live in Bristol")
    say(principal, "I moved to Edinburgh")
    assert "No longer current" in say(principal, "Where did I live before?")


def test_it_is_labelled_as_offline(principal: Principal) -> None:
    events = run_turn(principal, text="Hello")
    assert [event.kind for event in events if isinstance(event, Notice)] == [NoticeKind.OFFLINE]


@pytest.mark.english
def test_a_how_to_is_remembered_and_told(principal: Principal) -> None:
    say(principal, "To reset the hub: hold the button for ten seconds, then wait for the light")
    assert Playbook.objects.get().title == "Reset the hub"
    assert "1. Hold the button for ten seconds\n2. Wait for the light" in say(principal, "How do I reset the hub?")


@pytest.mark.english
def test_what_is_forgotten_is_gone_from_everywhere(principal: Principal) -> None:
    say(principal, "My shoe size is 42")
    assert say(principal, "Forget my shoe size") == "Erased for good: 1 fact and 1 event."
    assert not Fact.objects.exists()
    assert not Episode.objects.exists()
    assert not Message.objects.filter(text__contains="42").exists()
    assert "42" not in say(principal, "What is my shoe size?")


@pytest.mark.english
def test_what_ended_is_no_longer_told_as_true(principal: Principal) -> None:
    say(principal, "I work at Acme")
    say(principal, "I no longer work at Acme")
    assert "“No longer works at Acme”" in say(principal, "Where do I work?").splitlines()[0]
    assert Fact.objects.get(text="Works at Acme").status == Status.SUPERSEDED


@pytest.mark.parametrize("other", ["other_member", "other_tenant_member"])
def test_nobody_is_told_what_another_member_said(
    principal: Principal, request: pytest.FixtureRequest, other: str
) -> None:
    say(request.getfixturevalue(other), "My favourite colour is ultramarine")
    for question in ("What is my favourite colour?", "What is the favourite colour of Bob?", "ultramarine"):
        assert "ultramarine" not in say(principal, question).casefold().replace(question, "")


def test_a_turn_does_not_recall_itself(principal: Principal) -> None:
    assert "“What is my favourite colour" not in say(principal, "What is my favourite colour?")


@pytest.mark.english
def test_earlier_words_are_quoted_with_their_day(principal: Principal) -> None:
    begin_turn(principal, text="The spare key hangs behind the boiler in the cellar")
    assert "You said on " in say(principal, "Where is the spare key?")
    assert "behind the boiler" in say(principal, "Where is the spare key?")


def test_the_model_is_chosen_by_the_settings(settings: Settings) -> None:
    settings.MEMORYHUB_MODEL = ""
    assert chat_model().offline
    settings.MEMORYHUB_MODEL, settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY = "m", "http://127.0.0.1:9/v1", "k"
    model = chat_model()
    assert isinstance(model, OpenAIChat)
    assert (model.name, model.offline) == ("m", False)
    assert chat_model() is model
    model.close()

"""Which model answers, and the responder that knows no language."""

from __future__ import annotations

import pytest
from pytest_django import Settings

from memories.agent.events import Notice, NoticeKind
from memories.agent.loop import run_turn
from memories.agent.model import NO_MODEL, SAVED, OfflineResponder, chat_model
from memories.llm.completions import OpenAIChat
from memories.models import Fact
from memories.services.choices import choose
from memories.services.facts.remember import remember_fact
from tenants.principal import Principal
from tests.memories.agent.conftest import text_of

pytestmark = pytest.mark.django_db


def say(principal: Principal, text: str, *, temporary: bool = False) -> str:
    return text_of(list(run_turn(principal, text=text, temporary=temporary, model=OfflineResponder())))


def test_without_model_and_rules_it_says_so_and_stores_no_fact(principal: Principal) -> None:
    events = list(run_turn(principal, text="Ich wohne in Hamburg", model=OfflineResponder()))
    assert [event.kind for event in events if isinstance(event, Notice)] == [NoticeKind.OFFLINE]
    assert text_of(events) == f"{NO_MODEL} {SAVED}"
    assert not Fact.objects.exists()


def test_where_nothing_is_saved_it_does_not_say_so(principal: Principal) -> None:
    assert say(principal, "Ich wohne in Hamburg", temporary=True) == NO_MODEL
    choose(principal, learns=False)
    assert say(principal, "Ich wohne in Hamburg") == NO_MODEL


@pytest.mark.parametrize("text", ["Wohnt in Hamburg", "大阪に住んでいます"])
def test_it_quotes_what_was_recalled_by_words_of_any_script(principal: Principal, text: str) -> None:
    remember_fact(principal, text=text)
    assert say(principal, text).endswith(f"- {text}")
    assert say(principal, "xylophone") == f"{NO_MODEL} {SAVED}"


def test_it_quotes_nobody_else(principal: Principal, other_member: Principal) -> None:
    remember_fact(other_member, text="Spielt Xylophon")
    assert say(principal, "Xylophon") == f"{NO_MODEL} {SAVED}"


def test_the_model_is_chosen_by_the_settings(settings: Settings) -> None:
    settings.MEMORYHUB_MODEL = settings.MEMORYHUB_RULES = ""
    assert isinstance(chat_model(), OfflineResponder)
    settings.MEMORYHUB_RULES = "memories.english"
    assert chat_model().offline
    settings.MEMORYHUB_MODEL, settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY = "m", "http://127.0.0.1:9/v1", "k"
    model = chat_model()
    assert isinstance(model, OpenAIChat)
    assert (model.name, model.offline) == ("m", False)
    assert chat_model() is model
    model.close()

"""The chat page: turns with how they ended, the panel of one, and how much it costs."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from memories.models import MessageState
from memories.services.erasure.forget import forget
from memories.services.sessions.turns import begin_turn, finish_turn
from memories.types import Kind
from tenants.principal import Principal
from tests.memories.chat.lives import Life

pytestmark = pytest.mark.django_db


def _page(client: Client, session: object, **query: str) -> str:
    return client.get(reverse("chat:session", args=[session]), query).content.decode()


def test_the_line_under_an_answer_leads_to_its_memories(ada: Client, life: Life) -> None:
    page = _page(ada, life.session)
    assert "saved 1 · replaced 1 · 0.8 s" in page
    assert reverse("remember:memory", kwargs={"kind": Kind.SEMANTIC, "memory_id": life.edinburgh}) in page


def test_the_panel_of_an_earlier_turn_can_be_asked_for(ada: Client, life: Life, principal: Principal) -> None:
    begin_turn(principal, text="And now?", session_id=life.session)
    assert "didn’t use any memories" in _page(ada, life.session)
    assert "You live in Bristol" in _page(ada, life.session, turn="1")


@pytest.mark.parametrize(
    ("state", "words"),
    [(MessageState.CUT_OFF, "Stopped here."), (MessageState.FAILED, "is saved."), (None, "Not answered yet.")],
)
def test_an_answer_that_is_not_whole_says_so(
    ada: Client, principal: Principal, state: MessageState | None, words: str
) -> None:
    turn = begin_turn(principal, text="Hello")
    if state:
        finish_turn(principal, session_id=turn.session_id, turn=1, text="He", state=state)
    page = _page(ada, turn.session_id)
    assert words in page
    assert "Try again" in page


def test_forgotten_words_leave_a_tombstone(ada: Client, life: Life, principal: Principal) -> None:
    forget(principal, kind=Kind.EPISODIC, memory_id=life.episode)
    page = _page(ada, life.session)
    assert "You deleted this message." in page
    assert "We left Bristol" not in page


def test_long_conversations_show_their_end_first(ada: Client, principal: Principal) -> None:
    session = begin_turn(principal, text="Message 1.").session_id
    for number in range(2, 46):
        begin_turn(principal, text=f"Message {number}.", session_id=session)
    page = _page(ada, session)
    assert "Message 45." in page
    assert "Message 5." not in page
    assert "Show earlier messages (5)" in page
    assert "Message 5." in _page(ada, session, last="140")


@pytest.mark.parametrize("number", ["-1", "0", "x", "9" * 400, "²", "1.5", "\x00"])
def test_nonsense_in_the_address_is_ignored(ada: Client, life: Life, number: str) -> None:
    assert "Edinburgh it is." in _page(ada, life.session, last=number, turn=number) or number == "0"


def test_a_turn_can_be_fetched_alone(ada: Client, life: Life) -> None:
    fragment = ada.get(reverse("chat:turn", args=[life.session, 1])).json()
    assert (fragment["turn"], fragment["state"]) == (1, "complete")
    assert "Edinburgh it is." in fragment["turn_html"]
    assert "<html" not in fragment["panel_html"]


def test_a_turn_that_is_not_there_is_not_found(ada: Client, life: Life) -> None:
    for number in (0, 7, 10**30):
        assert ada.get(reverse("chat:turn", args=[life.session, number])).status_code == 404


def test_the_chat_page_costs_the_same_however_long(
    ada: Client, principal: Principal, life: Life, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(20):
        begin_turn(principal, text=f"Message {number}.", session_id=life.session)
    ada.get("/")
    with django_assert_num_queries(CHAT_QUERIES):
        _page(ada, life.session, turn="1")


CHAT_QUERIES = 17

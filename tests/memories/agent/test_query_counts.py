"""What a turn and a recall ask of the database: pinned, through the chat page and through the API."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client

from memories.models import Message
from memories.recall.pipeline import recall
from memories.search.outbox import drain
from memories.services.facts.remember import remember_fact
from memories.services.sessions.turns import begin_turn, finish_turn
from tenants.models import Membership
from tenants.principal import Principal
from tests.memories.agent.conftest import ScriptedModel, call, say
from tests.memories.api.caller import caller_of
from tests.parts import ON_ELASTICSEARCH

pytestmark = pytest.mark.django_db

# On PostgreSQL without Redis the limits take one query of a recall and three of a turn, two of them behind the answer.
IN_TABLE = connection.vendor == "postgresql" and not settings.MEMORYHUB_BROKER_URL
# Elasticsearch takes one more, for the member's search key.
TURN_QUERIES, TURN_TRANSACTIONS = (41 if IN_TABLE else 38) + ON_ELASTICSEARCH, 3
RECALL_QUERIES = 10
STREAM = {"Accept": "text/event-stream"}

# "SELECT set_config(…)" alone; the lock query, which sets the mark as well, is longer.
LONGEST_MARK = 60


@contextmanager
def counted() -> Iterator[list[str]]:
    """The statements of the thread, with the two that frame each transaction.

    A write scope takes its mark back only inside a longer transaction, such as that of a test, so that is left out.
    """
    seen: list[str] = []

    def note(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if "set_config('memoryhub.write'" not in sql or len(sql) > LONGEST_MARK:
            seen.append(sql)
        return execute(sql, *rest)

    with connection.execute_wrapper(note):
        yield seen


def transactions(statements: Sequence[str]) -> int:
    """How many transactions there are that lie in no other."""
    depth = begun = 0
    for sql in statements:
        if sql.startswith("SAVEPOINT"):
            begun += depth == 0
            depth += 1
        elif sql.startswith(("RELEASE SAVEPOINT", "ROLLBACK TO")):
            depth -= 1
    return begun


@pytest.fixture(autouse=True)
def _recorded_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recalls are recorded on a thread of their own, with its own connection, as in production."""
    monkeypatch.setattr("memories.recall.recording.record", lambda _entry: None)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> ScriptedModel:
    """The model of the site."""
    scripted = ScriptedModel(say("In Edinburgh."))
    monkeypatch.setattr("memories.agent.loop.chat_model_of", lambda *_: scripted)
    return scripted


@pytest.fixture
def session(principal: Principal) -> UUID:
    """A conversation with a past, and facts and episodes that the search plane holds."""
    remember_fact(principal, text="Lives in Edinburgh", key="home_city", pinned=True)
    remember_fact(principal, text="Has two cats called Miso and Pixel")
    turn = begin_turn(principal, text="We left Bristol for Edinburgh in May.")
    finish_turn(principal, session_id=turn.session_id, turn=1, text="Noted.")
    drain()
    recall(principal, "Where do I live?")  # finds that the search plane has no part of hers yet, and asks for it
    drain()
    return turn.session_id


@pytest.fixture
def send(membership: Membership) -> Callable[[str, UUID | None], bytes]:
    """`send(way, session)` says something and returns the answer, by `chat`, `stream` (of the API) or `api`."""
    browser, program = Client(), caller_of(membership)
    browser.force_login(membership.user)
    browser.get("/chat/all/")  # the session of a browser notes its tenant once, a token when it was last used

    def sent(way: str, session: UUID | None) -> bytes:
        said = "Where do I live?"
        if way == "chat":
            path = f"/chat/{session}/send/" if session else "/chat/send/"
            return b"".join(browser.post(path, {"message": said}, headers=STREAM))
        headers = STREAM if way == "stream" else {}
        path = f"sessions/{session}/turns/" if session else "turns/"
        return program.post(path, {"message": said}, **headers).text.encode()

    return sent


@pytest.mark.parametrize("old", [True, False], ids=["old session", "new session"])
@pytest.mark.parametrize("way", ["chat", "api", "stream"])
def test_a_turn_costs_few_queries_and_transactions(
    model: ScriptedModel, session: UUID, send: Callable[[str, UUID | None], bytes], way: str, old: bool
) -> None:
    with counted() as statements:
        answer = send(way, session if old else None)
    assert b"In Edinburgh." in answer
    assert len(statements) <= TURN_QUERIES
    assert transactions(statements) <= TURN_TRANSACTIONS


def test_a_turn_that_writes_takes_one_transaction_more(
    model: ScriptedModel, session: UUID, send: Callable[[str, UUID | None], bytes]
) -> None:
    model.script = (call("write_memory", text="Plays the cello"), say("Noted."))
    with counted() as statements:
        send("chat", session)
    assert transactions(statements) <= TURN_TRANSACTIONS  # the message; what was recalled and the memory; the answer


def test_the_page_of_a_turn_is_the_one_that_is_read_back(
    model: ScriptedModel, session: UUID, send: Callable[[str, UUID | None], bytes], membership: Membership
) -> None:
    frames = send("chat", session).decode()
    data = next(json.loads(line[6:]) for line in frames.splitlines() if '"type": "page"' in line)
    browser = Client()
    browser.force_login(membership.user)
    read = browser.get(f"/chat/{session}/turns/{data['turn']}/").json()
    assert "Edinburgh" in read["panel_html"]
    assert _bare(data["turn_html"]) == _bare(read["turn_html"])
    assert _bare(data["panel_html"]) == _bare(read["panel_html"])
    assert Message.objects.filter(session=session, turn=2).count() == 4


def _bare(html: str) -> list[str]:
    """Without the tokens, which differ in each answer."""
    return [line for line in html.splitlines() if "csrfmiddlewaretoken" not in line]


def test_a_recall_by_the_api_costs_few_queries(membership: Membership, session: UUID) -> None:
    program = caller_of(membership)
    for body in ({"query": "Where do I live?"}, {"query": "Where do I live?", "session_id": str(session)}):
        with counted() as statements:
            assert program.post("recall/", body).json["items"]
        assert len(statements) <= RECALL_QUERIES

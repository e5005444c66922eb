"""Sessions by REST."""

from __future__ import annotations

from uuid import UUID

from pytest_django import DjangoAssertNumQueries

from memories.models import Episode, Session
from memories.services.sessions.sessions import start_session
from memories.services.sessions.turns import add_tool_result, add_tool_step, begin_turn, finish_turn
from memories.types import Kind, WriteOutcome, WriteResult
from tests.memories.api.caller import Caller, Life


def said(caller: Caller, text: str, session_id: UUID | None = None, answer: str = "I see.") -> UUID:
    """A turn with its answer; returns the session."""
    turn = begin_turn(caller.principal, text=text, session_id=session_id)
    finish_turn(caller.principal, session_id=turn.session_id, turn=turn.turn, text=answer, took_ms=12.0)
    return turn.session_id


def test_a_session_is_opened_renamed_and_listed(ada: Caller) -> None:
    opened = ada.post("sessions/", {"title": "Garden"})
    assert opened.status == 201
    renamed = ada.patch(f"sessions/{opened.json['id']}/", {"title": "Garden and balcony"})
    assert renamed.status == 200
    listed = ada.get("sessions/").json
    assert listed == {"results": [renamed.json], "next_cursor": None}
    assert set(renamed.json) == {"id", "title", "external_id", "created_at", "last_turn_at", "expires_at"}


def test_a_session_is_not_renamed_to_nothing(ada: Caller, life: Life) -> None:
    assert list(ada.patch(f"sessions/{life.session}/", {"title": " "}).faults) == ["title"]
    assert list(ada.patch(f"sessions/{life.session}/", {}).faults) == ["title"]


def test_sessions_come_in_pages_latest_first(ada: Caller, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    opened = [str(start_session(ada.principal, title=f"{n}").pk) for n in range(7)]
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = ada.get(f"sessions/?limit=3&cursor={cursor}").json
        seen += [session["id"] for session in page["results"]]
        cursor = page["next_cursor"]
    assert seen == opened[::-1]
    with django_assert_num_queries(2):  # the token, the page
        ada.get("sessions/")


def test_a_transcript_shows_each_turn_with_its_memories(ada: Caller, life: Life) -> None:
    turn = begin_turn(ada.principal, text="I sold it.", session_id=life.session)
    where = {"session_id": turn.session_id, "turn": turn.turn}
    call = {"id": "1", "name": "write_memory", "arguments": {"text": "Sold it."}}
    add_tool_step(ada.principal, **where, tool_calls=[call])  # type: ignore[arg-type]  # a session and a turn
    outcome = WriteOutcome(WriteResult.SUPERSEDED, Kind.SEMANTIC, life.fact, (life.old_fact,))
    add_tool_result(ada.principal, **where, tool_call_id="1", written=[outcome])  # type: ignore[arg-type]
    finish_turn(ada.principal, **where, text="Noted.", took_ms=5.0)  # type: ignore[arg-type]
    (shown,) = ada.get(f"sessions/{life.session}/").json["turns"]
    assert (shown["message"], shown["answer"], shown["answer_state"]) == ("I sold it.", "Noted.", "complete")
    assert shown["steps"][0]["tool_calls"] == [call]
    texts = {memory["relation"]: memory["text"] for memory in shown["steps"][1]["memories"]}
    assert texts == {"wrote": "Plays the xylophone.", "replaced": "Plays no xylophone."}


def test_a_long_transcript_is_read_backwards(ada: Caller) -> None:
    session = said(ada, "turn 1")
    for number in range(2, 8):
        said(ada, f"turn {number}", session)
    seen: list[str] = []
    address: str | None = f"sessions/{session}/?last=3"
    while address is not None:
        page = ada.get(address).json
        seen = [turn["message"] for turn in page["turns"]] + seen
        earlier = page["earlier"]
        address = f"sessions/{session}/?last=3&before={earlier}" if earlier else None
    assert seen == [f"turn {number}" for number in range(1, 8)]


def test_a_long_transcript_costs_no_more_queries(
    ada: Caller, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    session = said(ada, "hello")
    ada.get("sessions/")  # notes the use of the token, once a minute
    with django_assert_num_queries(7):  # the token, the session thrice, the last turn, messages, mentions
        ada.get(f"sessions/{session}/")
    for _ in range(5):
        said(ada, "hello again", session)
    with django_assert_num_queries(7):
        assert len(ada.get(f"sessions/{session}/").json["turns"]) == 6


def test_forgetting_a_session_says_what_went(ada: Caller, life: Life) -> None:
    answer = ada.delete(f"sessions/{life.session}/?cascade=true")
    assert answer.status == 200
    erased = {each["kind"]: each["id"] for each in answer.json["erased"]}
    assert erased == {"episodic": str(life.episode), "semantic": str(life.fact)}
    assert not Session.objects.exists() and not Episode.objects.exists()
    assert ada.delete(f"sessions/{life.session}/").status == 404

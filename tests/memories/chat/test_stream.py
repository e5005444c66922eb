"""The stream of a turn: the agent's events, then the page; closing it keeps what was said until then."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC

import pytest

from memories.agent.events import Event, TurnStarted
from memories.agent.loop import run_turn
from memories.chat.frame import Reader, stream
from memories.models import MessageState
from memories.selectors.sessions import find_turn
from tenants.principal import Principal

pytestmark = pytest.mark.django_db


def _begin(principal: Principal, text: str) -> tuple[TurnStarted, Iterator[Event]]:
    events = run_turn(principal, text=text)
    started = next(events)
    assert isinstance(started, TurnStarted)
    return started, events


def test_closing_the_stream_at_once_keeps_the_question(principal: Principal) -> None:
    started, events = _begin(principal, "I live in Lisbon.")
    frames = stream(Reader(principal, UTC, "en", "token"), started, events)
    next(frames)
    frames.close()
    turn = find_turn(principal, started.session_id, 1)
    assert (turn.text, turn.answer_state) == ("I live in Lisbon.", MessageState.CUT_OFF)


def test_closing_the_stream_mid_answer_keeps_what_was_streamed(principal: Principal) -> None:
    started, events = _begin(principal, "Remember that I like rain.")
    frames = stream(Reader(principal, UTC, "en", "token"), started, events)
    sent = (frame.decode() for frame in frames if isinstance(frame, bytes))
    said = next(json.loads(frame.partition("data: ")[2]) for frame in sent if "text_delta" in frame)
    frames.close()
    turn = find_turn(principal, started.session_id, 1)
    assert turn.answer_state == MessageState.CUT_OFF
    assert turn.answer == said["text"]

"""Events on the wire: one frame each, in the documented shapes."""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any
from uuid import UUID

import pytest

from memories.agent import events
from memories.agent.events import (
    Doing,
    Event,
    ForgetProposed,
    MemoriesRecalled,
    MemoriesRetired,
    MemoryWritten,
    Notice,
    NoticeKind,
    StageBegun,
    TaskChanged,
    TextDelta,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from memories.models import Fact, MessageState
from memories.types import Kind, Recall, WriteOutcome, WriteResult
from tests.memories.agent.conftest import recalled

A, B, C = (UUID(int=number) for number in (1, 2, 3))
RECALL = Recall(A, "tea?", (recalled("Likes tea", memory_id=B, key="drink", reasons=("same words",)),), False, 2.04)
WRITTEN = WriteOutcome(WriteResult.SUPERSEDED, Kind.SEMANTIC, A, (B,), "said in chat")

SHAPES: list[tuple[Event, str, dict[str, Any]]] = [
    (
        TurnStarted(A, 1, B, None),
        "turn_started",
        {"session_id": str(A), "turn": 1, "message_id": str(B), "episode_id": None, "masked": []},
    ),
    (StageBegun(Doing.THINKING), "stage", {"doing": "thinking"}),
    (Notice(NoticeKind.DEGRADED, "Less."), "notice", {"kind": "degraded", "text": "Less."}),
    (TextDelta("Hi\n"), "text_delta", {"text": "Hi\n"}),
    (
        MemoryWritten(WRITTEN, "Lives in Oslo", "home_city", ((B, "Lives in Bergen"),)),
        "memory_written",
        {
            "result": "superseded",
            "kind": "semantic",
            "id": str(A),
            "key": "home_city",
            "text": "Lives in Oslo",
            "reason": "said in chat",
            "superseded": [{"id": str(B), "text": "Lives in Bergen"}],
        },
    ),
    (
        MemoriesRetired(Kind.SEMANTIC, ((B, "Lives in Bath"),), harsh=True),
        "memories_retired",
        {"kind": "semantic", "harsh": True, "ended": [{"id": str(B), "text": "Lives in Bath"}]},
    ),
    (
        ForgetProposed(C, (Fact(pk=A, text="Likes tea"),), (Fact(pk=B, text="Likes rain"),), ("and fog",)),
        "forget_proposed",
        {
            "proposal_id": str(C),
            "goes": [{"kind": "semantic", "id": str(A), "text": "Likes tea"}],
            "stays": [{"kind": "semantic", "id": str(B), "text": "Likes rain"}],
            "also": ["and fog"],
        },
    ),
    (
        TaskChanged("Repot the fern", 4, 1, "Buy soil"),
        "task_changed",
        {"goal": "Repot the fern", "steps": 4, "done": 1, "current": "Buy soil", "finished": False},
    ),
    (
        TurnFinished(A, MessageState.COMPLETE, 12.345, 4, 1, 1),
        "turn_finished",
        {
            "message_id": str(A),
            "state": "complete",
            "took_ms": 12.3,
            "used": 4,
            "wrote": 1,
            "replaced": 1,
            "masked": [],
        },
    ),
    (TurnFailed("No.", retryable=True), "turn_failed", {"message": "No.", "retryable": True}),
]


@pytest.mark.parametrize(("event", "name", "members"), SHAPES, ids=[name for _, name, _ in SHAPES])
def test_each_event_has_its_documented_shape(event: Event, name: str, members: dict[str, Any]) -> None:
    assert events.to_json(event) == {"type": name, **members}


def test_every_member_is_in_the_documentation() -> None:
    told = [events.to_json(event) for event, _, _ in SHAPES]
    recall = events.to_json(MemoriesRecalled(RECALL, automatic=True))
    members = {member for each in [*told, recall, *recall["items"]] for member in each}
    assert [member for member in sorted(members) if member not in (events.__doc__ or "")] == []


def test_a_frame_is_one_line_of_data_whatever_the_text() -> None:
    frame = events.frame(TextDelta('a\n\nevent: fake\r\u2028data: "x" 🍵')).decode()
    head, data, *rest = frame.split("\n")
    assert (head, rest) == ("event: text_delta", ["", ""])
    assert json.loads(data.removeprefix("data: "))["text"] == 'a\n\nevent: fake\r\u2028data: "x" 🍵'


def test_closing_the_frames_closes_the_events() -> None:
    closed: list[bool] = []

    def two() -> Generator[Event]:
        try:
            yield TextDelta("a")
            yield TextDelta("b")
        finally:
            closed.append(True)

    frames = events.frames(two())
    next(frames)
    frames.close()
    assert closed == [True]


def test_what_was_masked_comes_with_the_words_that_were_stored() -> None:
    started = events.to_json(TurnStarted(A, 1, B, None, ("payment_card",), "Mine is [payment card removed]"))
    finished = events.to_json(TurnFinished(A, MessageState.COMPLETE, 1, 0, 0, 0, ("secret",), "It is [secret removed]"))
    assert (started["masked"], started["text"]) == (["payment_card"], "Mine is [payment card removed]")
    assert (finished["masked"], finished["text"]) == (["secret"], "It is [secret removed]")

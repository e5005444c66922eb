"""Conversing by REST: whole answers and streams, over the same POST."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.http.response import StreamingHttpResponse

from memories.llm.base import ModelFault, Output, TextPiece
from memories.models import Episode, Message, MessageState, Session
from tests.memories.api.caller import Answer, Caller, Life

STREAM = {"Accept": "text/event-stream"}


class FailingModel:
    """Says a word, then fails."""

    name = "failing"
    offline = False

    def stream(self, *_: object, **__: object) -> Iterator[Output]:
        yield TextPiece("Well, ")
        raise ModelFault("The model broke off.", retryable=True)


@pytest.fixture
def failing_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memories.agent.loop.chat_model_of", lambda _tenant_id: FailingModel())


def frames(answer: Answer) -> list[tuple[str, dict[str, Any]]]:
    """The type and data of each server-sent event."""
    blocks = [block.split("\n") for block in answer.text.split("\n\n") if block]
    return [(kind.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for kind, data in blocks]


def test_a_turn_in_a_new_session_is_answered_whole(ada: Caller, life: Life) -> None:
    answer = ada.post("turns/", {"message": "Who plays the xylophone?"})
    assert answer.status == 200
    assert set(answer.json) == {
        *("session_id", "turn", "message_id", "episode_id", "answer_id", "answer", "state", "took_ms"),
        *("recalled", "written", "retired", "forget_proposals", "notices", "masked", "message"),
    }
    assert answer.json["answer"] and answer.json["state"] == "complete"
    assert Message.objects.get(pk=answer.json["answer_id"]).text == answer.json["answer"]
    assert str(life.fact) in {item["id"] for item in answer.json["recalled"]}
    assert [notice["kind"] for notice in answer.json["notices"]] == ["offline"]


@pytest.mark.english
def test_a_session_goes_on(ada: Caller) -> None:
    first = ada.post("turns/", {"message": "We moved to Leeds."}).json
    second = ada.post(f"sessions/{first['session_id']}/turns/", {"message": "Where do I live?"}).json
    assert (second["session_id"], second["turn"]) == (first["session_id"], 2)
    assert "Leeds" in second["answer"]


@pytest.mark.english
def test_what_the_agent_writes_is_in_the_answer(ada: Caller) -> None:
    (written,) = ada.post("turns/", {"message": "Remember that I live in Leeds."}).json["written"]
    assert written["kind"] == "semantic" and "Leeds" in written["text"]
    assert ada.get(f"memories/{written['id']}/").status == 200


def test_the_same_turn_sent_twice_is_stored_once(ada: Caller) -> None:
    body = {"message": "It rained.", "turn_id": str(uuid4())}
    first, second = ada.post("turns/", body).json, ada.post("turns/", body).json
    assert (first["message_id"], first["answer"]) == (second["message_id"], second["answer"])
    assert Session.objects.count() == Episode.objects.count() == 1


@pytest.mark.english
def test_a_turn_is_streamed_if_asked(ada: Caller) -> None:
    answer = ada.post("turns/", {"message": "Remember that I live in Leeds."}, **STREAM)
    assert answer.status == 200
    assert answer.response.headers["Content-Type"].startswith("text/event-stream")
    assert answer.response.headers["Cache-Control"] == "no-store"
    events = frames(answer)
    assert events[0][0] == "turn_started" and events[-1][0] == "turn_finished"
    assert "memory_written" in [kind for kind, _ in events]
    text = "".join(data["text"] for kind, data in events if kind == "text_delta")
    assert Message.objects.get(pk=events[-1][1]["message_id"]).text == text


def test_a_stream_that_nobody_reads_to_its_end_is_kept_as_cut_off(ada: Caller) -> None:
    response = ada.post("turns/", {"message": "Remember that I live in Leeds."}, **STREAM).response
    assert isinstance(response, StreamingHttpResponse)
    stream = iter(response)
    while b"text_delta" not in next(stream):
        pass
    response._iterator.close()  # type: ignore[attr-defined]  # as the server does when the caller hangs up
    assert Message.objects.order_by("step").last().state == MessageState.CUT_OFF  # type: ignore[union-attr]  # stored


@pytest.mark.usefixtures("failing_model")
def test_a_model_that_fails_leaves_the_turn_to_be_tried_again(ada: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    body = {"message": "hello", "turn_id": str(uuid4())}
    answer = ada.post("turns/", body)
    assert (answer.status, answer.problem["type"]) == (502, "urn:memoryhub:problem:model-unavailable")
    assert (answer.json["retryable"], answer.json["turn"]) == (True, 1)
    assert Episode.objects.get().session_id == Session.objects.get(pk=answer.json["session_id"]).pk
    monkeypatch.undo()
    assert ada.post("turns/", body | {"retry": True}).status == 200
    assert Episode.objects.count() == 1


@pytest.mark.usefixtures("failing_model")
def test_a_model_that_fails_ends_a_stream_with_a_failure(ada: Caller) -> None:
    events = frames(ada.post("turns/", {"message": "hello"}, **STREAM))
    assert (events[-1][0], events[-1][1]["retryable"]) == ("turn_failed", True)


def test_a_stream_is_refused_like_any_answer(ada: Caller) -> None:
    answer = ada.post(f"sessions/{uuid4()}/turns/", {"message": "hello"}, **STREAM)
    assert (answer.status, answer.problem["detail"]) == (404, "No such session.")

"""Answers in JSON against a real server: the shape that was asked for, or one clear fault that says what helps."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field

from memories.llm.base import FaultCause, Usage, answers_within, time_left
from memories.llm.json_answers import JsonAnswer, JsonAnswers, NoAnswer
from tests.memories.llm.cutting import every_few_bytes_or_all
from tests.openai_server import (
    KEY,
    PATIENCE_SECONDS,
    Call,
    Cut,
    Decline,
    HangUp,
    OpenAIServer,
    Raw,
    Refuse,
    Reply,
    Say,
    Stall,
    Whole,
    client_at,
    openai_server,
    patience,
    said_as_json,
    until,
)


class Tea(BaseModel):
    """What is in the pot."""

    model_config = ConfigDict(extra="forbid")
    kind: str = Field(max_length=10)
    cups: int = Field(ge=0)
    with_milk: bool = False


SECRET = "The neighbour's parrot is called Aldous."
MESSAGES = [{"role": "system", "content": "Say what is in the pot."}, {"role": "user", "content": SECRET}]
POT = {"kind": "oolong", "cups": 3, "with_milk": False}
GOOD = said_as_json(POT, width=9)


def asked(server: OpenAIServer, **options: Any) -> JsonAnswer[Tea]:
    return answer(server.base_url, **options)


def answer(base_url: str, times: int = 1, **options: Any) -> JsonAnswer[Tea]:
    with client_at(base_url, JsonAnswers, **options) as model:
        return [model.ask(MESSAGES, Tea, name="pot") for _ in range(times)][-1]


def fault(*script: Reply, **options: Any) -> tuple[NoAnswer, OpenAIServer]:
    with openai_server(*script) as server, pytest.raises(NoAnswer) as caught:
        asked(server, **{"stall_seconds": patience(*script)} | options)
    for seen in (str(caught.value), repr(caught.value), caught.value.message):
        assert KEY not in seen
        assert SECRET not in seen
        assert "127.0.0.1" not in seen
    return caught.value, server


def test_an_answer_comes_checked_and_as_it_came_with_its_tokens() -> None:
    with openai_server(GOOD) as server:
        assert asked(server) == JsonAnswer(Tea(kind="oolong", cups=3), POT, Usage(12, 3))


def test_the_endpoint_is_asked_for_a_strict_schema_at_no_temperature_and_with_a_bound() -> None:
    with openai_server(GOOD) as server:
        asked(server)
    (request,) = server.requests
    assert (request["temperature"], request["max_tokens"]) == (0, 8_000)
    assert request["response_format"]["type"] == "json_schema"
    schema = request["response_format"]["json_schema"]
    assert (schema["name"], schema["strict"]) == ("pot", True)
    assert schema["schema"] == {
        "type": "object",
        "properties": {"kind": {"type": "string"}, "cups": {"type": "integer"}, "with_milk": {"type": "boolean"}},
        "required": ["kind", "cups", "with_milk"],
        "additionalProperties": False,
    }
    assert "tools" not in request


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(Whole({"content": json.dumps(POT)}), id="in one piece"),
        pytest.param(Say([f"```json\n{json.dumps(POT)}\n```"]), id="in a fence"),
        pytest.param(Say(["<think>Oolong {it} is?</think>\n", json.dumps(POT)]), id="after its thoughts"),
        pytest.param(Cut(GOOD, until(GOOD, b'"usage"')), id="cut after its end"),
    ],
)
def test_a_whole_answer_is_taken_however_it_is_wrapped(reply: Reply) -> None:
    with openai_server(reply) as server:
        assert asked(server).plain == POT


UNUSABLE = [
    pytest.param(Say(["Oolong, three cups."]), "not the JSON", id="prose"),
    pytest.param(Say(['{"kind": "oolong"}']), "not of the shape", id="a member missing"),
    pytest.param(Say([json.dumps(POT | {"owner": "x"})]), "not of the shape", id="a member too many"),
    pytest.param(Say([json.dumps(POT | {"kind": "x" * 11})]), "not of the shape", id="out of bounds"),
    pytest.param(Say([json.dumps(POT)], finish="length"), "greatest length", id="whole, but out of tokens"),
    pytest.param(Say(["x" * 20_000] * 2), "too long", id="endless"),
    pytest.param(Raw(b'{"x": "' + b"x" * 400_000, "application/json"), "too long", id="endless in one piece"),
    pytest.param(Say([]), "empty answer", id="empty"),
    pytest.param(Call([("look", "{}")]), "empty answer", id="a tool that it was not offered"),
    pytest.param(Cut(GOOD, until(GOOD, b"olong"), politely=True), "broke off", id="an end that is none"),
    pytest.param(Raw(b"data: {nonsense\n\n"), "cannot be read", id="nonsense in the stream"),
    pytest.param(Raw(b"<html>Welcome</html>"), "cannot be read", id="a web page"),
    pytest.param(Raw(b"[7]", "application/json"), "cannot be read", id="JSON of another protocol"),
    pytest.param(Raw(b'{"choices": [', "application/json"), "cannot be read", id="half a body"),
    pytest.param(Refuse(400, code="json_validate_failed"), "cannot be read", id="its own check failed"),
]


@pytest.mark.parametrize(("reply", "sentence"), UNUSABLE)
def test_an_answer_of_no_use_is_one_sentence_and_is_not_asked_for_again(reply: Reply, sentence: str) -> None:
    error, server = fault(reply)
    assert sentence in error.message
    assert error.cause is FaultCause.ANSWER
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("reply", "sentence", "cause"),
    [
        pytest.param(Decline(), "declined", FaultCause.REFUSAL, id="a refusal"),
        pytest.param(Refuse(400, code="content_filter"), "content filter", FaultCause.REFUSAL, id="filtered at once"),
        pytest.param(Refuse(400, code="context_length_exceeded"), "too long", FaultCause.TOO_MUCH, id="too much"),
        pytest.param(Refuse(400), "refused the request (400)", FaultCause.TOO_MUCH, id="bad request"),
        pytest.param(Refuse(401, message=f"no {KEY}"), "OPENAI_API_KEY", FaultCause.CONFIGURATION, id="wrong key"),
        pytest.param(Refuse(403), "OPENAI_API_KEY", FaultCause.CONFIGURATION, id="not allowed"),
        pytest.param(Refuse(404), "does not know the model", FaultCause.CONFIGURATION, id="no such model"),
        pytest.param(Refuse(402), "refused the request (402)", FaultCause.CONFIGURATION, id="an account without money"),
    ],
)
def test_what_no_other_answer_helps_is_not_tried_again(reply: Reply, sentence: str, cause: FaultCause) -> None:
    error, server = fault(reply)
    assert sentence in error.message
    assert error.cause is cause
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("reply", "sentence", "times", "wait"),
    [
        pytest.param(Refuse(429, headers={"Retry-After": "0.02"}), "is busy", 3, 0.02, id="rate limit"),
        pytest.param(Refuse(503, headers={"Retry-After": "7"}), "has a fault (503)", 1, 7.0, id="overloaded"),
        pytest.param(HangUp(), "cannot be reached", 3, 0.0, id="no reply"),
        pytest.param(Stall(GOOD, 0), "stopped answering", 1, 0.0, id="stalled before the first word"),
        pytest.param(Cut(GOOD, until(GOOD, b"olong")), "broke off", 1, 0.0, id="disconnected"),
        pytest.param(Raw(b'data: {"error": {"message": "overloaded"}}\n\n'), "broke off", 1, 0.0, id="an error in it"),
    ],
)
def test_what_may_pass_says_how_long_to_wait(reply: Reply, sentence: str, times: int, wait: float) -> None:
    error, server = fault(reply)
    assert sentence in error.message
    assert (error.cause, error.retry_after) == (FaultCause.ENDPOINT, wait)
    assert len(server.requests) == times


def test_a_limit_may_end_at_a_date_and_one_that_cannot_be_read_is_none() -> None:
    at = format_datetime(datetime.now(UTC) + timedelta(seconds=80), usegmt=True)
    error, _ = fault(Refuse(429, headers={"Retry-After": at}))
    assert 75 < error.retry_after <= 80
    for other in ("soon", "nan", "-5", "Thu, 99 Foo 2026 99:99:99 GMT"):
        error, _ = fault(Refuse(429, headers={"Retry-After": other}))
        assert error.retry_after == 0


def test_a_caller_that_waits_a_moment_waits_no_longer() -> None:
    began = time.monotonic()
    with openai_server(Stall(GOOD, 1)) as server, answers_within(0.3), pytest.raises(NoAnswer) as caught:
        asked(server, stall_seconds=30)
    assert caught.value.cause is FaultCause.ENDPOINT and time.monotonic() - began < 5
    assert time_left() == math.inf


def test_a_caller_whose_time_is_over_is_not_kept_by_retries() -> None:
    began = time.monotonic()
    with openai_server(Refuse(503)) as server, answers_within(0.2), pytest.raises(NoAnswer):
        asked(server, retry_seconds=10, retries=3)
    assert len(server.requests) == 1 and time.monotonic() - began < 5


def test_a_fault_that_passes_is_not_noticed() -> None:
    with openai_server(Refuse(503), HangUp(), GOOD) as server:
        assert asked(server).plain == POT


def test_what_came_of_it_goes_on_record_and_not_into_the_message() -> None:
    error, _ = fault(Say([SECRET]))
    assert error.output == SECRET
    assert error.usage == Usage(12, 3)
    error, _ = fault(Cut(GOOD, until(GOOD, b"olong")))
    assert error.output.startswith('{"kind"')


SCHEMA = Refuse(400, message="Invalid parameter: 'response_format' of type 'json_schema' is not supported")
OBJECT = Refuse(422, message="[{'type': 'extra_forbidden', 'loc': ('body', 'response_format')}]")


@pytest.mark.parametrize(
    ("refusals", "form"),
    [
        pytest.param([SCHEMA], {"type": "json_object"}, id="no schemas"),
        pytest.param([SCHEMA, OBJECT], None, id="no formats at all"),
    ],
)
def test_an_endpoint_without_schemas_is_told_the_schema_in_words_and_remembered(
    refusals: Sequence[Refuse], form: dict[str, str] | None
) -> None:
    with openai_server(*refusals, GOOD) as server:
        assert asked(server, times=2).plain == POT
    assert len(server.requests) == len(refusals) + 2
    for request in server.requests[-2:]:
        assert request.get("response_format") == form
        instructions, said = request["messages"]
        assert instructions["content"].startswith("Say what is in the pot.")
        assert json.loads(instructions["content"].rpartition("\n")[2])["required"] == ["kind", "cups", "with_milk"]
        assert said["content"] == SECRET


@pytest.mark.parametrize(
    ("message", "name", "instead"),
    [
        pytest.param("temperature does not support 0 with this model", "temperature", None, id="temperature"),
        pytest.param("Use 'max_completion_tokens' instead of 'max_tokens'", "max_tokens", 8_000, id="bound"),
        pytest.param("Unknown parameter: stream_options", "stream_options", None, id="token counts"),
    ],
)
def test_a_parameter_that_is_refused_is_left_out_or_renamed(message: str, name: str, instead: int | None) -> None:
    with openai_server(Refuse(400, message=message), GOOD) as server:
        asked(server)
    assert name in server.requests[0]
    assert name not in server.requests[1]
    assert server.requests[1].get("max_completion_tokens") == instead


def test_an_endpoint_that_refuses_everything_is_asked_a_bounded_number_of_times() -> None:
    everything = "response_format temperature max_tokens max_completion_tokens stream_options"
    error, server = fault(Refuse(400, message=everything))
    assert error.cause is FaultCause.TOO_MUCH
    assert len(server.requests) == 7


@every_few_bytes_or_all
@pytest.mark.parametrize("politely", [False, True], ids=["disconnected", "ended"])
def test_an_answer_cut_at_any_byte_is_whole_or_none(politely: bool, step: int) -> None:
    """Whole from the byte on at which the model has said why it stops, and not before."""
    stream = Say([json.dumps(POT)])
    whole_from = until(stream, b'"stop"')
    with openai_server(stream) as server:
        model = JsonAnswers(
            name="m", base_url=server.base_url, api_key=KEY, stall_seconds=PATIENCE_SECONDS, retry_seconds=0
        )
        for size in range(int(politely), until(stream, b"[DONE]"), step):
            server.script[:] = [Cut(stream, size, politely)]
            if size > whole_from + len(b'"stop"}], "usage": null}\n\n'):
                assert model.ask(MESSAGES, Tea, name="pot").plain == POT
            elif size < whole_from:
                with pytest.raises(NoAnswer) as caught:
                    model.ask(MESSAGES, Tea, name="pot")
                assert caught.value.cause in (FaultCause.ENDPOINT, FaultCause.ANSWER)
        model.close()


def test_the_log_names_the_fault_and_never_the_key_or_the_words(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("DEBUG", logger="memories"):
        fault(Refuse(401, message=f"Incorrect API key {KEY} for {SECRET}"))
        fault(Say([SECRET]))
    assert "AuthenticationError 401" in caplog.text
    assert KEY not in caplog.text
    assert SECRET not in caplog.text

"""The endpoint client against a real server: what it yields, and one clear fault for everything that can go wrong."""

from __future__ import annotations

import socket
import time
from collections.abc import Generator
from typing import Any

import pytest

from memories.llm.base import Finished, ModelFault, Output, Silence, StopReason, TextPiece, ToolCall, Usage
from memories.llm.completions import OpenAIChat
from tests.memories.llm.cutting import every_few_bytes_or_all
from tests.openai_server import (
    IN_VAIN_SECONDS,
    KEY,
    Call,
    Cut,
    OpenAIServer,
    Raw,
    Reply,
    Say,
    Stall,
    Whole,
    client_at,
    openai_server,
    patience,
    until,
)

HELLO = Say(["Hel", "lo."])
CUT = until(HELLO, b"lo.")
OVERLOADED = b'data: {"error": {"message": "overloaded sk-test"}}\n\n'
MESSAGES = [{"role": "user", "content": "Hi"}]
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]


def ask(server: OpenAIServer, **options: Any) -> list[Output]:
    """All but the silences, of which a busy machine has some."""
    return [output for output in answer(server.base_url, **options) if not isinstance(output, Silence)]


def answer(base_url: str, *, tools: bool = False, **options: Any) -> Generator[Output]:
    with client_at(base_url, OpenAIChat, **options) as model:
        yield from model.stream(MESSAGES, TOOLS if tools else [], may_call_tools=tools)


def fault(*script: Reply, **options: Any) -> tuple[ModelFault, str, OpenAIServer]:
    """The fault of an answer, with the text that came before it."""
    texts: list[str] = []
    options = {"stall_seconds": patience(*script)} | options
    with openai_server(*script) as server, pytest.raises(ModelFault) as caught:
        texts.extend(output.text for output in answer(server.base_url, **options) if isinstance(output, TextPiece))
    assert KEY not in repr(caught.value)
    assert "127.0.0.1" not in str(caught.value)
    return caught.value, "".join(texts), server


def test_text_arrives_in_pieces_and_the_tokens_are_counted() -> None:
    with openai_server(HELLO) as server:
        assert ask(server) == [TextPiece("Hel"), TextPiece("lo."), Finished(StopReason.DONE, Usage(12, 3))]
    assert server.keys == [KEY]
    assert server.requests[0]["stream_options"] == {"include_usage": True}


def test_tool_calls_come_whole_and_in_order() -> None:
    wanted = [("look", '{"query": "tea"}'), ("look", '{"query": "milk"}')]
    with openai_server(Call(wanted, text="Let me see.")) as server:
        *outputs, finished = ask(server, tools=True)
    assert outputs == [TextPiece("Let me see."), *(ToolCall(*call) for call in wanted)]
    assert finished == Finished(StopReason.TOOL_CALLS, Usage(12, 3))
    assert server.requests[0]["tool_choice"] == "auto"


def test_calls_that_are_all_numbered_zero_are_told_apart_by_their_ids() -> None:
    calls = b"".join(
        b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"%s","function":'
        b'{"name":"look","arguments":"{}"}}]},"finish_reason":null}]}\n\n' % name
        for name in (b"a", b"b")
    )
    end = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    with openai_server(Raw(calls + end)) as server:
        assert ask(server, tools=True)[:2] == [ToolCall("look", "{}")] * 2


def test_a_truncated_answer_gives_no_tool_calls() -> None:
    with openai_server(Call([("look", '{"query": "te')], finish="length")) as server:
        assert ask(server, tools=True) == [Finished(StopReason.LENGTH, Usage(12, 3))]


def test_characters_split_between_chunks_are_joined_and_the_unstorable_replaced() -> None:
    with openai_server(Say(["Tea \ud83c", "\udf75 and\x00", " \udead end"])) as server:
        texts = [output.text for output in ask(server) if isinstance(output, TextPiece)]
    assert "".join(texts) == "Tea 🍵 and � end"


def test_what_breaks_after_the_end_takes_nothing_away() -> None:
    with openai_server(Cut(HELLO, until(HELLO, b'"usage"'))) as server:
        assert ask(server)[-1] == Finished(StopReason.DONE)


@pytest.mark.parametrize(
    ("reply", "sentence", "streamed"),
    [
        pytest.param(Cut(HELLO, CUT), "broke off", "Hel", id="cut connection"),
        pytest.param(Cut(HELLO, CUT, politely=True), "broke off", "Hel", id="an end that is none"),
        pytest.param(Stall(HELLO, 2), "stopped answering", "Hel", id="stalled"),
        pytest.param(Raw(b"data: {not json}\n\n"), "cannot be read", "", id="nonsense JSON"),
        pytest.param(Raw(b'data: {"choices": 7}\n\n'), "cannot be read", "", id="JSON of another shape"),
        pytest.param(Raw(b'data: {"choices": [{"delta": 7}]}\n\n'), "cannot be read", "", id="another delta"),
        pytest.param(Raw(b"\xff\xfe\x00data: \xff\n\n"), "cannot be read", "", id="no UTF-8"),
        pytest.param(Raw(b"<html>Welcome</html>"), "cannot be read", "", id="a web page"),
        pytest.param(Raw(OVERLOADED), "broke off", "", id="error in the stream"),
        pytest.param(Say(["x" * 20_000] * 2), "too long", "x" * 20_000, id="endless text"),
    ],
)
def test_each_fault_is_one_sentence(reply: Reply, sentence: str, streamed: str) -> None:
    error, text, server = fault(reply)
    assert sentence in error.message
    assert (error.retryable, text) == (True, streamed)
    assert len(server.requests) == 1


def test_a_stream_that_only_says_it_is_alive_ends_in_time() -> None:
    error, text, _ = fault(Stall(HELLO, 2, alive=True), answer_seconds=IN_VAIN_SECONDS)
    assert (error.message[:27], text) == ("The model stopped answering", "Hel")


def test_a_refused_connection_is_a_fault() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        with pytest.raises(ModelFault, match="cannot be reached"):
            list(answer(f"http://user:{KEY}@127.0.0.1:{free.getsockname()[1]}/v1"))


@every_few_bytes_or_all
@pytest.mark.parametrize("politely", [False, True], ids=["disconnected", "ended"])
@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        pytest.param(Say(["Hi."]), [TextPiece("Hi.")], id="text"),
        pytest.param(Call([("look", '{"query": "tea"}')]), [ToolCall("look", '{"query": "tea"}')], id="a tool call"),
        pytest.param(Whole({"content": "Hi."}), [TextPiece("Hi.")], id="in one piece"),
    ],
)
def test_an_answer_cut_at_any_byte_is_whole_or_a_fault(
    stream: Say | Call | Whole, expected: list[Output], politely: bool, step: int
) -> None:
    with openai_server(stream) as server:
        model = OpenAIChat(name="m", base_url=server.base_url, api_key=KEY, stall_seconds=5, retry_seconds=0)
        for size in range(int(politely), len(b"".join(stream.chunks())), step):
            server.script[:] = [Cut(stream, size, politely)]
            outputs: list[Output] = []
            try:
                outputs += model.stream(MESSAGES, TOOLS, may_call_tools=True)
            except ModelFault:
                assert not [output for output in outputs if isinstance(output, ToolCall | Finished)]
            else:
                *said, finished = (output for output in outputs if not isinstance(output, Silence))
                assert said == expected
                assert isinstance(finished, Finished)
        model.close()


def test_closing_the_stream_ends_the_connection() -> None:
    with openai_server(Stall(HELLO, 2)) as server:
        outputs = answer(server.base_url, stall_seconds=60)
        assert next(outputs) == TextPiece("Hel")
        started = time.monotonic()
        outputs.close()
    assert time.monotonic() - started < 30

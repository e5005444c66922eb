"""What drop-ins read of requests and answers, and what it may cost."""

from __future__ import annotations

import json
import time

import pytest

from memories.api.dropin.wires import AnswerReader, ChatWire, MessagesWire, ResponsesWire, Wire, prompt_tokens
from memories.errors import InvalidInput
from tests.memories.api.dropin import Json


def _delta(text: str) -> bytes:
    return f"data: {json.dumps({'choices': [{'index': 0, 'delta': {'content': text}}]})}\n\n".encode()


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_a_stream_is_read_wherever_it_is_cut(size: int) -> None:
    reader, stream = AnswerReader(ChatWire(), streams=True), _delta("Hel") + _delta("lo") + b"data: [DONE]\n\n"
    for start in range(0, len(stream), size):
        reader.feed(stream[start : start + size])
    assert (reader.text, reader.is_over) == ("Hello", True)


def test_a_line_that_is_too_long_is_not_kept_and_the_next_is_read() -> None:
    reader, began = AnswerReader(ChatWire(), streams=True), time.process_time()
    reader.feed(b"data: ")
    for _ in range(8 * 1024):
        reader.feed(b"x" * 1024)
    assert time.process_time() - began < 1
    reader.feed(b"\n" + _delta("Hello"))
    assert reader.text == "Hello"


@pytest.mark.parametrize(
    "body",
    [
        {"messages": [{}] * 10_001},
        {"messages": [{"role": "user", "content": [{}] * 100_001}]},
        {"tools": [[[{}] * 400] * 400]},
    ],
)
def test_a_request_of_too_many_parts_is_refused_before_they_are_walked(body: Json) -> None:
    began = time.process_time()
    with pytest.raises(InvalidInput, match="more than"):
        ChatWire().shared_state(body)
    assert time.process_time() - began < 1


def test_the_users_words_are_found_among_the_most_items_in_one_pass() -> None:
    began = time.process_time()
    spoken = ChatWire().spoken({"messages": [{"role": "user", "content": "word"}] * 10_000})
    assert spoken is not None and spoken.place == 0 and time.process_time() - began < 1


@pytest.mark.parametrize("odd", [[], {}, None, 7])
def test_a_part_of_an_odd_type_is_nobodys_words(odd: object) -> None:
    content = [{"type": odd, "text": "odd"}, {"type": "text", "text": "plain"}]
    spoken = ChatWire().spoken({"messages": [{"role": "user", "content": content}]})
    assert spoken is not None and spoken.text == "plain"


def test_halves_of_a_character_are_joined_and_what_cannot_be_stored_is_left_out() -> None:
    reader = AnswerReader(ChatWire(), streams=True)
    for text in ("a\x00", "\ud83d", "\ude00", "\ud800b"):
        reader.feed(_delta(text))
    assert reader.text == "a\U0001f600\ufffdb"


def test_a_prompt_is_estimated_from_all_of_it_and_an_image_by_its_kind() -> None:
    long = "word " * 1_000
    for body in (
        {"messages": [{"role": "tool", "content": long}]},
        {"tools": [{"function": {"description": long}}]},
        {"system": long},
        {"messages": [{"role": "assistant", "tool_calls": [{"function": {"arguments": long}}]}]},
    ):
        assert prompt_tokens(body) >= 1_000
    data = "A1" * 1_000_000
    source = {"type": "base64", "media_type": "image/png", "data": data}
    images = [{"url": f"data:image/png;base64,{data}"}, {"type": "image", "source": source}]
    assert 3_000 < prompt_tokens({"messages": images}) < 4_000


@pytest.mark.parametrize(
    ("wire", "event"),
    [
        (ChatWire(), {"choices": [{"index": 1, "delta": {"content": "word " * 100}}]}),
        (ChatWire(), {"choices": [{"delta": {"tool_calls": [{"function": {"arguments": "word " * 100}}]}}]}),
        (ResponsesWire(), {"type": "response.function_call_arguments.delta", "delta": "word " * 100}),
        (ResponsesWire(), {"output": [{"type": "function_call", "arguments": "word " * 100}]}),
        (MessagesWire(), {"type": "content_block_delta", "delta": {"partial_json": "word " * 100}}),
        (MessagesWire(), {"type": "message", "content": [{"type": "tool_use", "input": {"text": "word " * 100}}]}),
    ],
)
def test_all_choices_and_calls_of_tools_count_as_written(wire: Wire, event: Json) -> None:
    reader = AnswerReader(wire, streams=True)
    reader.feed(f"data: {json.dumps(event)}\n".encode())
    assert 100 <= reader.written <= 110 and reader.text == ""

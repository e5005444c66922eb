"""What drop-ins read of requests and answers, and what it may cost."""

from __future__ import annotations

import json
import time

import pytest

from memories.api.dropin.wires import AnswerReader, ChatWire
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

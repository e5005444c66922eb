"""A drop-in's answer is sent as it comes, and its end once it is stored."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.http import HttpResponse, StreamingHttpResponse

from memories.api.dropin.relay import Relay
from memories.api.dropin.wires import ChatWire
from memories.llm.upstream import Head, PassedRequest, Upstream

WORDS = b'data: {"choices": [{"index": 0, "delta": {"content": "Hello"}}]}\n\n'
END = b"data: [DONE]\n\n"


@pytest.mark.parametrize("came", [[WORDS + END], [WORDS, END], [WORDS + END + WORDS], [WORDS + END[:7], END[7:]]])
def test_the_beginning_of_an_answer_does_not_wait_for_its_storing(
    monkeypatch: pytest.MonkeyPatch, came: list[bytes]
) -> None:
    def heard(*_: object, **__: object) -> Iterator[Head | bytes]:
        yield Head(200, {"content-type": "text/event-stream"})
        yield from came

    stored: list[str] = []

    def store(text: str) -> bool:
        stored.append(text)
        return True

    monkeypatch.setattr("memories.api.dropin.relay.heard", heard)
    relay = Relay(
        ChatWire(),
        Upstream("http://127.0.0.1", "key"),
        PassedRequest("POST", "/", {}),
        store=store,
        spend=lambda _: None,
        prompt_tokens=lambda: 0,
        require_active=lambda: None,
    )
    sent = relay.pieces(StreamingHttpResponse(()), lambda _: HttpResponse())
    pieces = (piece for piece in sent if isinstance(piece, bytes))
    first = next(pieces)
    assert first.startswith(WORDS) and END not in first and not stored
    assert first + b"".join(pieces) == b"".join(came) and stored == ["Hello"]

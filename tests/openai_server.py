"""An HTTP server on this machine that speaks the chat-completions protocol and answers from a script of replies.

A reply is a stream (Say, Call, Decline), a whole body (Whole), part of a stream (Cut, Stall), an error (Refuse,
HangUp), or computed from the request (Made). Each request is stored and takes the next reply of the script; the last
reply repeats.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from memories.llm.completions import Completions

Client = TypeVar("Client", bound="Completions")

_USAGE = {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}
KEY = "sk-test-0123456789-never-to-be-seen"


@dataclass(frozen=True)
class Say:
    """A streamed answer."""

    pieces: Sequence[str]
    finish: str | None = "stop"

    def chunks(self) -> Iterator[bytes]:
        """The stream."""
        yield _chunk({"role": "assistant", "content": ""})
        yield from (_chunk({"content": piece}) for piece in self.pieces)
        yield from _end(self.finish)


@dataclass(frozen=True)
class Call:
    """Tool calls (name, arguments as JSON) after some text, streamed in pieces of `width` characters."""

    calls: Sequence[tuple[str, str]]
    text: str = ""
    width: int = 7
    finish: str | None = "tool_calls"

    def chunks(self) -> Iterator[bytes]:
        """The stream."""
        yield _chunk({"role": "assistant", "content": self.text or None})
        for index, (name, arguments) in enumerate(self.calls):
            yield _chunk(_tool(index, id=f"call_{index}", type="function", function={"name": name, "arguments": ""}))
            for start in range(0, len(arguments), self.width):
                yield _chunk(_tool(index, function={"arguments": arguments[start : start + self.width]}))
        yield from _end(self.finish)


@dataclass(frozen=True)
class Decline:
    """A refusal in the protocol's `refusal` field."""

    text: str = "I cannot help with that."

    def chunks(self) -> Iterator[bytes]:
        """The stream."""
        yield _chunk({"role": "assistant", "content": None})
        yield _chunk({"refusal": self.text})
        yield from _end("stop")


@dataclass(frozen=True)
class Whole:
    """A message and its finish reason in one body, although a stream was requested."""

    message: dict[str, Any]
    finish: str | None = "stop"

    def chunks(self) -> Iterator[bytes]:
        """The body in pieces, as a network may deliver it."""
        choice = {"index": 0, "message": {"role": "assistant", **self.message}, "finish_reason": self.finish}
        value = {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
        body = json.dumps(value | {"usage": _USAGE}).encode()
        yield from (body[start : start + 40] for start in range(0, len(body), 40))


@dataclass(frozen=True)
class Raw:
    """Arbitrary bytes with status 200 and a content type."""

    body: bytes
    type: str = "text/event-stream"

    def chunks(self) -> Iterator[bytes]:
        """The stream."""
        yield self.body


Stream = Say | Call | Decline | Whole


def said_as_json(value: Any, width: int = 50) -> Say:
    """`value` as JSON, streamed in pieces of `width` characters."""
    text = json.dumps(value)
    return Say([text[start : start + width] for start in range(0, len(text), width)])


@dataclass(frozen=True)
class Refuse:
    """An error status."""

    status: int
    code: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    message: str = "no"


@dataclass(frozen=True)
class Cut:
    """A stream that ends after `size` bytes: by closing the connection, or, if `politely`, as if it were complete."""

    stream: Stream
    size: int
    politely: bool = False


@dataclass(frozen=True)
class Stall:
    """A stream that stalls after `count` chunks; `alive` sends comments meanwhile."""

    stream: Stream
    count: int
    alive: bool = False


class HangUp:
    """Closes the connection without a reply."""


@dataclass(frozen=True)
class Made:
    """A reply that a function computes from the request."""

    make: Callable[[dict[str, Any]], Reply]


Reply = Stream | Raw | Refuse | Cut | Stall | HangUp | Made

# Seconds that a client waits for a chunk that will come, and for one that never will.
PATIENCE_SECONDS = 30.0
IN_VAIN_SECONDS = 2.0


def patience(*script: Reply) -> float:
    """The timeout of a client for this script."""
    return IN_VAIN_SECONDS if any(isinstance(reply, Stall) for reply in script) else PATIENCE_SECONDS


@contextmanager
def client_at(base_url: str, kind: type[Client], **options: Any) -> Iterator[Client]:
    """The real client, with long timeouts unless `options` set others; closed at the end."""
    patient = {"stall_seconds": PATIENCE_SECONDS, "answer_seconds": PATIENCE_SECONDS, "retry_seconds": 0.01}
    client = kind(name="m", base_url=base_url, api_key=KEY, **patient | options)
    try:
        yield client
    finally:
        client.close()


class OpenAIServer:
    """The server. `base_url` is its address; `requests` are the received bodies, `keys` the bearer tokens."""

    def __init__(self, script: Sequence[Reply]) -> None:
        self.script = list(script)
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.traces: list[str] = []
        self.released = threading.Event()
        self._lock = threading.Lock()
        self._http = _Http(self)
        self.base_url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def start(self) -> None:
        """Serve on a thread."""
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def stop(self) -> None:
        """Release stalled streams and stop."""
        self.released.set()
        self._http.shutdown()
        self._http.server_close()

    def next_reply(self, request: dict[str, Any], key: str) -> Reply:
        """Store a request and return its reply."""
        with self._lock:
            self.requests.append(request)
            self.keys.append(key)
            reply = self.script[min(len(self.requests), len(self.script)) - 1]
        while isinstance(reply, Made):
            reply = reply.make(request)
        return reply


def until(stream: Stream, mark: bytes) -> int:
    """The number of bytes of a stream before `mark`."""
    return b"".join(stream.chunks()).index(mark)


@contextmanager
def openai_server(*script: Reply) -> Iterator[OpenAIServer]:
    """A running server."""
    server = OpenAIServer(script)
    server.start()
    try:
        yield server
    finally:
        server.stop()


class _Http(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True

    def __init__(self, owner: OpenAIServer) -> None:
        self.owner = owner
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Http
    protocol_version = "HTTP/1.1"
    timeout = 10

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.owner.traces.append(self.headers.get("traceparent", ""))
        reply = self.server.owner.next_reply(body, self.headers.get("Authorization", "").removeprefix("Bearer "))
        self.close_connection = True
        try:
            self._answer(reply)
        except (BrokenPipeError, ConnectionResetError):
            return  # some tests disconnect the client

    def _answer(self, reply: Reply) -> None:
        match reply:
            case HangUp():
                return
            case Refuse():
                self._refuse(reply)
            case Cut():
                whole = b"".join(reply.stream.chunks())
                self._begin(_type(reply.stream))
                self._send(whole[: reply.size])
                if reply.politely:
                    self._end()
            case Stall():
                self._begin(_type(reply.stream))
                for chunk in islice(reply.stream.chunks(), reply.count):
                    self._send(chunk)
                while not self.server.owner.released.wait(0.05 if reply.alive else 10):
                    self._send(b": still here\n\n")
            case Made():
                raise AssertionError("The script makes its replies before they are sent.")
            case _:
                self._begin(_type(reply))
                for chunk in reply.chunks():
                    self._send(chunk)
                self._end()

    def _refuse(self, reply: Refuse) -> None:
        body = json.dumps({"error": {"message": reply.message, "code": reply.code or None}}).encode()
        self.send_response(reply.status)
        for name, value in {"Content-Type": "application/json", **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def _begin(self, content_type: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Connection", "close")
        self.end_headers()

    def _send(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _end(self) -> None:
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the overridden method
        """Log nothing."""


def _type(reply: Stream | Raw) -> str:
    if isinstance(reply, Raw):
        return reply.type
    return "application/json" if isinstance(reply, Whole) else "text/event-stream"


def _chunk(delta: dict[str, Any], finish: str | None = None, **members: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    value = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [choice], **members}
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def _tool(index: int, **members: Any) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, **members}]}


def _end(finish: str | None) -> Iterator[bytes]:
    if finish is not None:
        yield _chunk({}, finish)
    yield _chunk({}, choices=[], usage=_USAGE)
    yield b"data: [DONE]\n\n"

"""A receiver of webhooks on this machine that answers as it is told, and keeps what it was sent."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[["Handler"], None]


@dataclass(frozen=True)
class Got:
    """A request."""

    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]


class Handler(BaseHTTPRequestHandler):
    """Keeps the request and gives the receiver's answer."""

    receiver: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.receiver.got.append(Got({name.lower(): value for name, value in self.headers.items()}, body))
        with suppress(ConnectionError):
            self.receiver.answer(self)

    def do_GET(self) -> None:
        self.receiver.got.append(Got({}, b"GET"))
        with suppress(ConnectionError):
            self.receiver.document(self)

    def log_message(self, *_: Any) -> None:
        """Keep quiet."""


@dataclass
class Receiver:
    """What it was sent, and its next answers; `document` answers a GET."""

    answer: Answer
    got: list[Got] = field(default_factory=list)
    url: str = ""
    document: Answer = lambda handler: handler.send_error(404)

    @property
    def ids(self) -> list[str]:
        return [each.id for each in self.got]


def status(code: int, **headers: str) -> Answer:
    def answer(handler: Handler) -> None:
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


ACCEPT = status(204)


def hang(handler: Handler) -> None:
    """Answer nothing until the sender has gone."""
    handler.connection.settimeout(30)
    handler.connection.recv(1)


def drip(handler: Handler) -> None:
    """Send a header by the byte, each long before any time-out, without an end."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    for _ in range(600):
        handler.wfile.write(b"x")
        time.sleep(0.05)


def huge(handler: Handler) -> None:
    """An answer that nobody would want to read."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(10**12))
    handler.end_headers()
    for _ in range(10_000):
        handler.wfile.write(b"x" * 65_536)


@contextmanager
def receiving(answer: Answer = ACCEPT, *, port: int = 0) -> Iterator[Receiver]:
    """A receiver at `http://127.0.0.1`."""
    receiver = Receiver(answer)
    handler = type("_Handler", (Handler,), {"receiver": receiver})
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    server.daemon_threads = True
    receiver.url = f"http://127.0.0.1:{server.server_port}/hook"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

"""Clients that send or read as slowly as they can: half a header, a body by the byte, a response that nobody reads."""

from __future__ import annotations

import itertools
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from http.client import HTTPConnection

_HEAD = "Host: localhost\r\nCookie: memoryhub_csrf=abcdefghijklmnopqrstuvwxyz012345\r\n"
_FORM = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 60000\r\n\r\n"
_FILE = "GET /static/memories/fonts/inter-latin-ext.woff2 HTTP/1.1\r\n"
# What each kind sends at first; the last asks for more than any buffer takes.
KINDS = {
    "half a header": f"POST /login/ HTTP/1.1\r\n{_HEAD}X-Slow: ".encode(),
    "a body by the byte": f"POST /login/ HTTP/1.1\r\n{_HEAD}{_FORM}".encode(),
    "an unread response": f"{_FILE}{_HEAD}\r\n".encode() * 80,
}


def connect(port: int, kind: str, source: str = "127.0.0.1") -> socket.socket:
    """A connection that has begun to be slow. Raises OSError."""
    client = socket.socket()
    try:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        client.settimeout(5)
        client.bind((source, 0))
        client.connect(("127.0.0.1", port))
        client.sendall(KINDS[kind])
        client.setblocking(False)
    except OSError:
        client.close()
        raise
    return client


@contextmanager
def slow_clients(port: int, kind: str, count: int) -> Iterator[list[socket.socket]]:
    """`count` connections that are slow in this way."""
    with ExitStack() as stack:
        yield [stack.enter_context(closing(connect(port, kind))) for _ in range(count)]


def trickle(client: socket.socket) -> bool:
    """Send one byte, read nothing; whether the connection is still open."""
    try:
        client.sendall(b"x")
        return bool(client.recv(1, socket.MSG_PEEK))
    except BlockingIOError:
        return True
    except OSError:
        return False


def seconds_of(port: int, path: str) -> float:
    """How long a GET takes, until its answer of status 200 was read. AssertionError for any other answer, or none."""
    begun = time.monotonic()
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("GET", path, headers={"Host": "localhost"})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200
    finally:
        connection.close()
    return time.monotonic() - begun


def attack(port: int, count: int) -> None:
    """Keep `count` slow connections of all kinds from ten addresses until killed; each sends a byte in ten seconds."""
    kinds = itertools.cycle(KINDS)
    slots = [(next(kinds), f"127.0.1.{number % 10 + 1}") for number in range(count)]
    clients: list[socket.socket | None] = [None] * count
    reopened = 0
    while True:
        for number, (kind, source) in enumerate(slots):
            client = clients[number]
            if client is None or not trickle(client):
                reopened += client is not None
                with suppress(OSError):
                    clients[number] = connect(port, kind, source)
            time.sleep(10 / count)
        sys.stdout.write(f"{count} connections are open, {reopened} were opened again.\n")
        sys.stdout.flush()


if __name__ == "__main__":
    attack(int(sys.argv[1]), int(sys.argv[2]))

"""deploy/nginx/nginx.conf, run by nginx: requests pass whole, answers as they come, and no address takes all."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Event
from typing import ClassVar

import pytest

from tests.parts import missing_part, serving
from tests.ports import free_port
from tests.real_parts import Missing
from tests.real_parts.server import Server, program

CONFIG = Path(__file__).resolve().parents[2] / "deploy" / "nginx" / "nginx.conf"
CLIENTS = 64


class Nginx(Server):
    """nginx with the configuration of compose.yaml, but for addresses and folders."""

    name = "nginx"

    def __init__(self, upstream: int) -> None:
        super().__init__()
        self.port = free_port()
        changed = CONFIG.read_text().replace("server web:8000;", f"server 127.0.0.1:{upstream};")
        changed = changed.replace("listen 8080;", f"listen 127.0.0.1:{self.port};")
        changed = changed.replace("/tmp/", f"{self.folder}/")  # noqa: S108 - of the container
        user = "user root;\n" if os.geteuid() == 0 else ""  # whoever made the folder
        (self.folder / "nginx.conf").write_text(user + changed)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def version(self) -> str:
        return ""

    def _command(self) -> list[str]:
        nginx = program("nginx", "nginx", Path("/usr/sbin"))
        return [nginx, "-e", "stderr", "-c", f"{self.folder}/nginx.conf", "-g", "daemon off;"]

    def _answers(self) -> bool:
        try:
            return self.get("/proxy-health")[0] == 204
        except OSError:
            return False

    def get(self, path: str, headers: dict[str, str] | None = None) -> tuple[int, str]:
        """The status and text of the answer to a GET."""
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=5)) as client:
            client.request("GET", path, headers=headers or {})
            answer = client.getresponse()
            return answer.status, answer.read().decode()

    def begin(self, request: str) -> socket.socket:
        """A connection that has sent this much of a request."""
        client = socket.create_connection(("127.0.0.1", self.port), timeout=5)
        client.sendall(request.encode())
        return client


class Upstream(BaseHTTPRequestHandler):
    """Counts requests; says what it was asked, or streams one piece and waits."""

    protocol_version = "HTTP/1.1"
    seen: ClassVar[list[str]] = []
    ended: ClassVar[Event] = Event()

    def do_POST(self) -> None:
        self.seen.append(self.path)
        self._say(str(len(self.rfile.read(int(self.headers["Content-Length"])))))

    def do_GET(self) -> None:
        self.seen.append(self.path)
        if self.path != "/stream":
            self._say(" ".join(self.headers[name] for name in ("Host", "X-Forwarded-For", "X-Forwarded-Proto")))
            return
        self.send_response(200)
        self.send_header("X-Accel-Buffering", "no")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"data: 1\n\n")
        self.ended.wait(20)

    def _say(self, text: str) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *args: object) -> None: ...


@pytest.fixture(scope="module")
def nginx() -> Iterator[Nginx]:
    with serving(Upstream) as upstream:
        try:
            with Nginx(upstream) as nginx:
                yield nginx
        except Missing as error:
            missing_part(str(error))
        finally:
            Upstream.ended.set()


def test_the_server_sees_a_request_only_once_it_is_whole(nginx: Nginx) -> None:
    head = "POST /slow HTTP/1.1\r\nHost: memory.example\r\nContent-Length: 3\r\n\r\n"
    with closing(nginx.begin(head + "ab")) as client:
        time.sleep(0.3)
        assert "/slow" not in Upstream.seen
        client.sendall(b"c")
        assert client.recv(1000).endswith(b"\r\n\r\n3")


def test_the_client_is_whom_the_tls_proxy_names(nginx: Nginx) -> None:
    said = {"Host": "memory.example", "X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https"}
    assert nginx.get("/", said) == (200, "memory.example 203.0.113.9 https")
    assert nginx.get("/", {"Host": "memory.example"}) == (200, "memory.example 127.0.0.1 http")


def test_what_is_too_large_or_for_nobody_stays_outside(nginx: Nginx) -> None:
    with closing(nginx.begin("POST /large HTTP/1.1\r\nHost: a\r\nContent-Length: 1126401\r\n\r\n")) as client:
        assert client.recv(1000).startswith(b"HTTP/1.1 413 ")
    assert [nginx.get(path)[0] for path in ("/livez", "/readyz")] == [404, 404]
    assert not {"/large", "/livez", "/readyz"} & set(Upstream.seen)


def test_a_stream_passes_at_once_and_one_address_cannot_take_all(nginx: Nginx) -> None:
    with ExitStack() as stack:
        for _ in range(CLIENTS):
            stream = stack.enter_context(closing(nginx.begin("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")))
            received = b""
            while b"data: 1" not in received:
                received += stream.recv(1000)
        assert nginx.get("/")[0] == 429
        assert nginx.get("/", {"X-Forwarded-For": "203.0.113.9"})[0] == 200

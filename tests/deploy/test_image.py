"""Dockerfile and .dockerignore: what reaches the image, and who runs it."""

from __future__ import annotations

import http.server
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.ready import ready
from tests.parts import serving
from tests.real_parts.server import free_port

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
IGNORED = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
LAST_STAGE = DOCKERFILE.rsplit("\nFROM ", 1)[1]


def test_only_what_is_named_reaches_the_image() -> None:
    assert IGNORED[0] == "*"
    allowed = [line[1:] for line in IGNORED if line.startswith("!")]
    assert all((ROOT / name).exists() for name in allowed)
    assert not {"tests", "var", ".env", ".git", "benchmarks", "deploy"} & set(allowed)
    assert "**/.env*" in IGNORED


def test_the_image_runs_as_nobody_in_particular() -> None:
    assert re.search(r"^USER 10001:10001$", LAST_STAGE, re.MULTILINE)
    assert "HEALTHCHECK" in LAST_STAGE
    # What the user may not write it cannot change: nothing is handed over to it.
    assert "chown" not in DOCKERFILE


def test_no_secret_is_built_in() -> None:
    assert not re.search(r"(?m)^(ENV|ARG|RUN).*(PASSWORD|SECRET|_KEY|CREDENTIAL)", DOCKERFILE)


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers as Django does: to a host that is not served, 400."""

    def do_GET(self) -> None:
        known = self.headers["Host"] == "memory.example.org" and self.path == "/readyz"
        self.send_response(200 if known else 400)
        self.end_headers()

    def log_message(self, *args: object) -> None: ...


@pytest.fixture
def port() -> Iterator[int]:
    with serving(Handler) as port:
        yield port


def test_the_health_check_asks_by_a_name_that_is_served(port: int) -> None:
    assert ready("memory.example.org", port)
    assert not ready("127.0.0.1", port)


def test_a_server_that_does_not_answer_is_not_ready() -> None:
    assert not ready("memory.example.org", free_port())


def test_the_health_check_asks_the_listener_of_the_probes(port: int) -> None:
    environ = {"MEMORYHUB_ALLOWED_HOSTS": "memory.example.org", "MEMORYHUB_PROBES": f"0.0.0.0:{port}"}
    command = [sys.executable, str(ROOT / "deploy" / "ready.py")]
    assert subprocess.run(command, env=environ, check=False).returncode == 0  # noqa: S603 - our own interpreter

"""`manage.py demo`: seeds unless it is done, says who can sign in, serves, and never runs in production."""

from __future__ import annotations

import socket

import pytest
from django.core.management.base import CommandError
from pytest_django import Settings

from memories.demo.story import OPERATOR, PASSWORD, PEOPLE
from memories.management.commands import demo
from memoryhub.server import require_free
from tests.memories.management.conftest import Run

pytestmark = pytest.mark.django_db


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """What the command asked for, with nothing seeded or served in fact."""
    asked: dict[str, object] = {}
    monkeypatch.setattr(demo, "call_command", lambda *command, **_options: asked.update(migrated=command))
    monkeypatch.setattr(demo, "seed", lambda _step: asked.update(seeded=True))
    monkeypatch.setattr(demo, "require_free", lambda host, port: None)
    monkeypatch.setattr(
        "os.execve", lambda _program, command, environment: asked.update(serve=command[2:], environment=environment)
    )
    return asked


def test_it_prints_every_login_and_address(run: Run, done: dict[str, object]) -> None:
    printed = run("demo", "--no-serve", "--port=8123")
    assert all(person.username in printed for person in PEOPLE if person.signs_in)
    assert all(word in printed for word in (OPERATOR, PASSWORD, "VT-30977"))
    assert all(f"http://127.0.0.1:8123/{page}" in printed for page in ("admin/", "connect/", "mcp", "v1"))
    assert done == {"migrated": ("migrate",), "seeded": True}


@pytest.mark.parametrize("seeded", [True, False])
def test_it_serves_where_it_was_told_to_and_consolidates_every_turn(
    run: Run, done: dict[str, object], monkeypatch: pytest.MonkeyPatch, seeded: bool
) -> None:
    monkeypatch.setattr(demo, "is_seeded", lambda: seeded)
    monkeypatch.delenv("MEMORYHUB_CONSOLIDATE", raising=False)
    run("demo", "--host=127.0.0.9", "--port=8124")
    assert done["serve"] == ["serve", "--host=127.0.0.9", "--port=8124"]
    environment = done["environment"]
    assert isinstance(environment, dict) and environment["MEMORYHUB_CONSOLIDATE"] == "turn"


def test_a_port_in_use_is_said_before_anything_is_seeded_or_printed(
    run: Run, done: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "require_free", require_free)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CommandError, match=rf"^Port {port} is in use: .*make demo PORT=\d+"):
            run("demo", f"--port={port}")
        run("demo", f"--port={port}", "--no-serve")
    assert done == {"migrated": ("migrate",), "seeded": True}


def test_production_refuses_a_known_password(run: Run, done: dict[str, object], settings: Settings) -> None:
    settings.PRODUCTION = True
    with pytest.raises(CommandError, match="does not run with MEMORYHUB_ENV=production"):
        run("demo")
    assert "seeded" not in done

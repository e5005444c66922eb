"""`manage.py serve`: does not begin what could only answer with errors."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from pytest_django import Settings

from memories.management.commands import serve
from memoryhub.server import require_free

pytestmark = pytest.mark.django_db


class _Server:
    """Begins, and ends at once."""

    begun = 0
    workers = 0

    def __init__(self, *, workers: int, **_options: object) -> None:
        """Takes whatever a server is told."""
        _Server.workers = workers

    def run(self) -> None:
        _Server.begun += 1


@pytest.fixture(autouse=True)
def _no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "Server", _Server)
    monkeypatch.setattr(_Server, "begun", 0)
    monkeypatch.setattr(serve, "require_free", lambda host, port: None)


def test_production_without_its_static_files_is_refused(settings: Settings, tmp_path: Path) -> None:
    settings.PRODUCTION, settings.STATIC_ROOT = True, tmp_path
    with pytest.raises(CommandError, match="collectstatic --no-input"):
        call_command("serve")
    assert _Server.begun == 0
    (tmp_path / "staticfiles.json").touch()
    call_command("serve")
    assert _Server.begun == 1


@pytest.mark.parametrize("arguments", [[], ["--workers=3"]])
def test_without_a_number_sqlite_has_one_process_and_postgresql_one_for_each_core(arguments: list[str]) -> None:
    cores = 1 if connection.vendor == "sqlite" else min(len(os.sched_getaffinity(0)), serve.MOST_WORKERS)
    call_command("serve", *arguments)
    assert _Server.workers == (3 if arguments else cores)


def test_where_it_cannot_listen_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "require_free", require_free)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CommandError, match=rf"^Port {port} is in use: .*--port \d+"):
            call_command("serve", f"--port={port}")
    assert _Server.begun == 0
    call_command("serve", f"--port={port}")
    assert _Server.begun == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--port=0"], "There is no port 0: choose one from 1 to 65535."),
        (["--host=203.0.113.7"], "no address of this machine"),
        (["--threads=0"], "take numbers from 1"),
    ],
)
def test_numbers_and_addresses_that_are_none_are_refused(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.setattr(serve, "require_free", require_free)
    with pytest.raises(CommandError, match=said):
        call_command("serve", *arguments)
    assert _Server.begun == 0


@pytest.mark.skipif(connection.vendor != "sqlite", reason="other databases are made by their operators")
def test_a_first_start_says_at_once_that_it_makes_the_database(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said: list[str] = []
    monkeypatch.setattr(connection.introspection, "table_names", lambda *_: [])
    monkeypatch.setattr(serve, "call_command", lambda *_, **__: said.append(capsys.readouterr().out))
    serve.Command().check_migrations()
    assert said == ["Making the database…\n"]

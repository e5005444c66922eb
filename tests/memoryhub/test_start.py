"""Starting with a bad environment: a sentence that names the variable, never a traceback, never a value."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from memoryhub.signing.keys import new_key

ROOT = Path(__file__).resolve().parents[2]
GOOD = {
    "MEMORYHUB_ENV": "production",
    "MEMORYHUB_SECRET_KEY": "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "MEMORYHUB_ALLOWED_HOSTS": "memory.example",
}


def run(*arguments: str, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    clean = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, *arguments], cwd=ROOT, env={**clean, **environ}, capture_output=True, text=True, check=False
    )


@pytest.mark.long
@pytest.mark.parametrize(
    "arguments",
    [pytest.param(("manage.py", "check"), id="a command"), pytest.param(("-c", "import memoryhub.wsgi"), id="wsgi")],
)
def test_a_bad_variable_is_named_without_its_value(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = run(*arguments, environ={"DATABASE_URL": "mysql://u:s3cret@h/d", "MEMORYHUB_DATA_DIR": str(tmp_path)})
    assert done.returncode != 0
    assert "DATABASE_URL" in done.stderr
    assert "s3cret" not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.long
def test_a_data_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = run("manage.py", "check", environ={"MEMORYHUB_DATA_DIR": str(tmp_path / "file" / "var")})
    assert done.returncode != 0
    assert "MEMORYHUB_DATA_DIR" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.long
def test_a_database_that_cannot_be_reached_is_a_sentence(tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        url = f"postgres://u:s3cret@127.0.0.1:{listener.getsockname()[1]}/d"
        done = run("manage.py", "migrate", environ={"DATABASE_URL": url, "MEMORYHUB_DATA_DIR": str(tmp_path)})
    assert done.returncode == 1
    assert done.stderr.startswith("DATABASE_URL: ") and "refused" in done.stderr
    assert "Traceback" not in done.stderr and "s3cret" not in done.stdout + done.stderr


@pytest.mark.long
def test_a_database_without_tables_is_a_sentence(tmp_path: Path) -> None:
    done = run("manage.py", "tenant", "create", "acme", environ={"MEMORYHUB_DATA_DIR": str(tmp_path)})
    assert done.returncode == 1 and "run `manage.py migrate` first. (no such table: " in done.stderr
    assert "Traceback" not in done.stderr and "connection to the database" not in done.stderr


@pytest.mark.long
def test_a_database_that_another_process_writes_is_a_sentence(tmp_path: Path) -> None:
    asked = """
import sqlite3
from django.db import connection
connection.ensure_connection()
connection.connection.execute("PRAGMA busy_timeout = 0")
other = sqlite3.connect(connection.settings_dict["NAME"])
other.execute("BEGIN EXCLUSIVE")
with connection.cursor() as cursor:
    cursor.execute("CREATE TABLE some (id)")
"""
    done = run("manage.py", "shell", "-v", "0", "-c", asked, environ={"MEMORYHUB_DATA_DIR": str(tmp_path)})
    assert done.returncode == 1 and "The database is busy" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.long
def test_production_passes_the_deployment_checks(tmp_path: Path) -> None:
    done = run(
        *("manage.py", "check", "--deploy", "--fail-level", "WARNING"),
        environ={**GOOD, "MEMORYHUB_SIGNING_KEYS": new_key(), "MEMORYHUB_DATA_DIR": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_a_command_that_reads_no_text_loads_nothing_to_read_one(tmp_path: Path) -> None:
    program = """
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "memoryhub.settings"
import django
django.setup()
from django.core.management import call_command
call_command("check")
heavy = "openai onnxruntime elasticsearch phonenumbers redis celery memories.english".split()
print(*(name for name in heavy if name in sys.modules))
"""
    done = run("-c", program, environ={"MEMORYHUB_DATA_DIR": str(tmp_path)})
    assert (done.returncode, done.stdout) == (0, "System check identified no issues (0 silenced).\n\n")


@pytest.mark.long
def test_who_has_read_enough_of_a_command_ends_it_without_a_word(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "manage.py", "help"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "MEMORYHUB_DATA_DIR": str(tmp_path)},
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, b"")

"""SQLite's files: nobody else reads them, and after an erasure they hold none of its words."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection, connections, transaction
from django.db.utils import ConnectionHandler

from memories.services.erasure.forget import forget
from memories.services.facts.remember import remember_fact
from memories.types import Kind
from memoryhub.db.sqlite import PrivateConnection, rewrite_file, scrub_log
from tenants.principal import Principal

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif("connection.vendor != 'sqlite'", reason="only SQLite keeps its log beside the database"),
]

CANARY = "Zquaffle"


def holding(word: str) -> list[str]:
    """The database's files that hold `word`."""
    database = Path(str(connection.settings_dict["NAME"]))
    return [each.name for each in database.parent.glob(f"{database.name}*") if word.encode() in each.read_bytes()]


def test_a_forgotten_word_is_in_no_file(principal: Principal) -> None:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA secure_delete = ON")  # as the settings of the product have it
    fact = remember_fact(principal, text=f"Owns a {CANARY}").memory_id
    assert holding(CANARY)
    forget(principal, kind=Kind.SEMANTIC, memory_id=fact)
    assert holding(CANARY) == []


def test_a_log_in_use_is_left_and_reported(
    principal: Principal, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("memoryhub.db.sqlite._PATIENCE_MS", 10)
    reader = connections.create_connection("default")
    try:
        reader.ensure_connection()
        reader.cursor().execute("BEGIN DEFERRED")
        reader.cursor().execute("SELECT COUNT(*) FROM memories_fact")
        remember_fact(principal, text="Owns a kite")
        scrub_log()
    finally:
        reader.close()
    assert "could not be emptied" in caplog.text
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout")
        assert cursor.fetchone() == (30_000,)


def test_a_file_is_written_anew_outside_a_transaction(principal: Principal, caplog: pytest.LogCaptureFixture) -> None:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA secure_delete = OFF")
    fact = remember_fact(principal, text=f"Owns a {CANARY}").memory_id
    forget(principal, kind=Kind.SEMANTIC, memory_id=fact)
    with transaction.atomic():
        assert not rewrite_file()
    assert "written anew" in caplog.text
    assert rewrite_file() and scrub_log()
    assert holding(CANARY) == []
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA temp_store")
        assert cursor.fetchone() == (2,), "as the settings have it"


def test_a_new_file_is_its_owners_alone(tmp_path: Path) -> None:
    database = ConnectionHandler({"default": {**settings.DATABASES["default"], "NAME": str(tmp_path / "new.sqlite3")}})
    with closing(database["default"]) as new, new.cursor() as cursor:
        cursor.execute("CREATE TABLE kept (word text)")
        assert {each.name: oct(each.stat().st_mode & 0o777) for each in tmp_path.iterdir()} == {
            f"new.sqlite3{end}": "0o600" for end in ("", "-wal", "-shm")
        }


def test_a_second_connection_leaves_the_locks_of_the_first(tmp_path: Path) -> None:
    path = tmp_path / "database.sqlite3"
    with closing(sqlite3.connect(path, factory=PrivateConnection)) as first:
        first.execute("PRAGMA journal_mode = WAL")
        first.execute("CREATE TABLE words (word)")
        sqlite3.connect(path, factory=PrivateConnection).close()
        other = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('SELECT * FROM words')"
        subprocess.run([sys.executable, "-c", other, path], check=True)  # noqa: S603 - our own words
        assert path.with_name(f"{path.name}-wal").exists(), "another process took the first one for gone"
        first.execute("INSERT INTO words VALUES ('kept')")
        first.commit()

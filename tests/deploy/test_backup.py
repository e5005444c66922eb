"""The drill of docs/deploy.md on a real PostgreSQL: what was archived comes back, up to any moment."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.parts import missing_part
from tests.real_parts import Missing, PostgreSQL
from tests.real_parts.postgresql import ROLE

SCRIPTS = Path(__file__).resolve().parents[2] / "deploy" / "postgres"
SECONDS = 20.0


class Archiving(PostgreSQL):
    """A server that archives its log as compose.yaml has it do, and the scripts that work on it."""

    def _command(self) -> list[str]:
        archive = f'{self.folder}/archive.sh "%p" "%f"'
        return [*super()._command(), "-c", "archive_mode=on", "-c", f"archive_command={archive}"]

    def script(self, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run one of deploy/postgres as the server's user."""
        programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
        path = os.pathsep.join([*map(str, reversed(programs)), os.environ["PATH"]])
        role = {"PGHOST": str(self.folder), "PGUSER": ROLE, "MEMORYHUB_DATABASE_PASSWORD": "it's"}
        role["MEMORYHUB_APP_PASSWORD"] = "its own"
        environ = {**self.environ, **role, "PATH": path}
        command = [*self._as_user(), str(self.folder / name), *arguments]
        return subprocess.run(  # noqa: S603 - our own words
            command, env=environ, cwd=self.folder, capture_output=True, text=True, check=False
        )

    @property
    def environ(self) -> dict[str, str]:
        """Where the scripts look."""
        return {"PGDATA": str(self.folder / "data"), "BACKUP_DIR": str(self.folder / "backup")}

    def run(self, statement: str) -> list[str]:
        """First column of what a statement answers."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(statement)
            return [str(row[0]) for row in cursor] if cursor.description else []

    def archived(self) -> None:
        """Return once everything written so far is in the archive."""
        (piece,) = self.run("SELECT pg_walfile_name(pg_switch_wal())")
        deadline = time.monotonic() + SECONDS
        while not (self.folder / "backup" / "wal" / piece).exists():
            assert time.monotonic() < deadline, "the log was not archived"
            time.sleep(0.02)

    def promoted(self) -> None:
        """Return once a restored server has replayed its log; it answers questions before."""
        deadline = time.monotonic() + SECONDS
        while self.run("SELECT pg_is_in_recovery()") != ["False"]:
            assert time.monotonic() < deadline, "the log was not replayed"
            time.sleep(0.02)

    def restore(self, *moment: str) -> None:
        """Lose the server, and start it again as it was at some moment, or at the end."""
        self.archived()
        self.lose()
        assert self.script("restore.sh", *moment).returncode == 0
        self.start()
        self.promoted()

    def lose(self) -> None:
        """Pull the plug, and lose the data folder with everything in it."""
        self.stop()
        shutil.rmtree(self.folder / "data")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Archiving]:
    made = Archiving()
    for script in SCRIPTS.iterdir():
        shutil.copy(script, made.folder / script.name)
    monkeypatch.setenv("BACKUP_DIR", made.environ["BACKUP_DIR"])
    try:
        with made:
            made.run("CREATE TABLE note (text text)")
            yield made
    except Missing as error:
        missing_part(str(error))


def written(server: Archiving) -> list[str]:
    return server.run("SELECT text FROM note")


def make_a_mistake(server: Archiving) -> str:
    """The moment before it."""
    time.sleep(1.1)  # the scripts name moments to the second
    (moment,) = server.run("SELECT clock_timestamp()")
    server.run("INSERT INTO note VALUES ('a mistake')")
    return moment


def test_what_was_archived_comes_back_up_to_the_last_change_or_any_moment(server: Archiving) -> None:
    server.run("INSERT INTO note VALUES ('before the backup')")
    assert server.script("base-backup.sh").returncode == 0
    server.run("INSERT INTO note VALUES ('after it')")
    moment = make_a_mistake(server)
    server.restore()
    assert written(server) == ["before the backup", "after it", "a mistake"]
    server.restore(moment)
    assert written(server) == ["before the backup", "after it"]


@pytest.mark.long
def test_an_earlier_restore_up_to_a_moment_does_not_cut_a_later_one_short(server: Archiving) -> None:
    assert server.script("base-backup.sh").returncode == 0
    server.run("INSERT INTO note VALUES ('first')")
    server.restore(make_a_mistake(server))
    assert server.script("base-backup.sh", "1").returncode == 0
    server.run("INSERT INTO note VALUES ('after the backup')")
    server.restore()
    assert written(server) == ["first", "after the backup"]


def test_a_restore_touches_no_data_that_is_there(server: Archiving) -> None:
    assert server.script("base-backup.sh").returncode == 0
    done = server.script("restore.sh")
    assert done.returncode != 0 and "not empty" in done.stderr
    assert server.run("SELECT count(*) FROM note") == ["0"]


@pytest.mark.long
def test_old_backups_go_with_the_log_that_only_they_needed(server: Archiving) -> None:
    for _ in range(3):
        assert server.script("base-backup.sh", "1").returncode == 0
        server.archived()
        time.sleep(1.0)  # a backup's name is its second
    (left,) = (server.folder / "backup" / "base").iterdir()
    label = re.search(r"file (\w{24})", (left / "backup_label").read_text())
    pieces = [path.name for path in (server.folder / "backup" / "wal").iterdir() if len(path.name) == 24]
    assert label is not None and min(pieces) == label[1]


def test_another_piece_of_the_same_name_is_never_written_over(server: Archiving) -> None:
    first, other = server.folder / "first", server.folder / "other"
    first.write_text("one")
    other.write_text("two")
    assert server.script("archive.sh", str(first), "0001").returncode == 0
    assert server.script("archive.sh", str(first), "0001").returncode == 0
    assert server.script("archive.sh", str(other), "0001").returncode != 0
    assert (server.folder / "backup" / "wal" / "0001").read_text() == "one"


def test_one_role_owns_the_database_another_serves_and_none_is_a_superuser(server: Archiving) -> None:
    script = server.folder / "role.sh"
    script.write_text(re.sub(r"\bmemoryhub\b", "application", script.read_text()))
    server.run("CREATE ROLE postgres SUPERUSER LOGIN")
    for _ in range(2):  # also after an upgrade
        done = server.script("role.sh")
        assert done.returncode == 0, done.stderr
    rights = (
        "SELECT count(*), bool_or(rolsuper OR rolcreatedb OR rolcreaterole OR rolbypassrls) FROM pg_roles"
        " WHERE rolname = 'application' OR rolname LIKE 'memoryhub^_%' ESCAPE '^'"
    )
    assert server.run(f"SELECT r::text FROM ({rights}) r") == ["(5,f)"]  # noqa: S608 - our own words
    owner = "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = 'application'"
    assert server.run(owner) == ["application"]
    inherits = "SELECT pg_has_role('memoryhub_app', 'memoryhub_jobs', {})"
    assert [server.run(inherits.format(f"'{how}'")) for how in ("MEMBER", "USAGE")] == [["True"], ["False"]]

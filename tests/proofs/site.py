"""A throwaway site: its own folder, its own server process, which may be killed at any moment.

Invariant: a server is started in a process group of its own, and only that group is ever signalled.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Self

from tests.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 60.0
# In the folder of a site: of what was to be forgotten, a line with its id and its word.
FORGETTING = "forgetting.log"
STOP_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Person:
    """A member of the site, with their login and a token of theirs."""

    username: str
    password: str
    token: str
    tenant: str


class Site:
    """A site in `folder`, with these variables besides; use as a context manager so that no server outlives it."""

    # The interpreter, its arguments before those of a command, and the working directory.
    python = sys.executable
    entry: tuple[str, ...] = ("manage.py",)
    serve_options: tuple[str, ...] = ()
    workdir = ROOT

    def __init__(self, folder: Path, environ: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.port = free_port()
        self._server: subprocess.Popen[bytes] | None = None
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "OMP_NUM_THREADS") if name in os.environ}
        ours = {"DJANGO_SETTINGS_MODULE": "memoryhub.settings", "MEMORYHUB_DATA_DIR": str(folder)}
        ours["MEMORYHUB_LIMITS"] = "off"  # a few members do what many would
        self.environ = {**kept, **ours, **(environ or {})}

    def __enter__(self) -> Self:
        self.manage("migrate", "--verbosity", "0")
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def database(self) -> Path:
        """The SQLite file."""
        return self.folder / "memoryhub.sqlite3"

    @property
    def index(self) -> Path:
        """The folder of the embedded search plane."""
        return self.folder / "index"

    def people(self, count: int) -> list[Person]:
        """Make `count` members, two to a tenant."""
        made = self.run("-m", "tests.proofs.populate", str(count))
        return [Person(**person) for person in json.loads(made.stdout)]

    def manage(self, *arguments: str) -> str:
        """Run a management command to its end and return what it printed; AssertionError with its words if it fails."""
        return self.run(*self.entry, *arguments).stdout

    def start(self) -> None:
        """Start the server and wait until it answers."""
        with (self.folder / "server.log").open("ab") as log:
            options = ("--workers", "1", "--port", str(self.port), *self.serve_options)
            self._server = self.spawn(*self.entry, "serve", *options, stdout=log, stderr=log)
        deadline = time.monotonic() + START_SECONDS
        while not self.answers():
            assert self._server.poll() is None, f"the server did not start:\n{self.log()}"
            assert time.monotonic() < deadline, f"the server does not answer:\n{self.log()}"
            time.sleep(0.05)

    def answers(self) -> bool:
        """Whether the server answers now."""
        probes = self.environ.get("MEMORYHUB_PROBES")
        connection = HTTPConnection(probes or f"127.0.0.1:{self.port}", timeout=5)
        try:
            connection.request("GET", "/readyz" if probes else "/livez")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    def workers(self) -> list[int]:
        """The worker processes of background jobs that the server has started and that still run."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                arguments = (folder / "cmdline").read_bytes().split(b"\0")
                environment = (folder / "environ").read_bytes().split(b"\0")
            except OSError:  # it ended, or is another user's
                continue
            if b"worker" in arguments and f"MEMORYHUB_DATA_DIR={self.folder}".encode() in environment:
                found.append(int(folder.name))
        return found

    def kill(self, *, with_workers: bool = True) -> None:
        """SIGKILL to the server and all of its processes, if it runs."""
        if self._server is not None:
            workers = self.workers() if with_workers else []
            os.killpg(self._server.pid, signal.SIGKILL)
            for worker in workers:
                with suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGKILL)
            self._server.wait()
            self._server = None

    def stop(self) -> int:
        """SIGTERM to the server, as a service manager does; its exit status."""
        assert self._server is not None, "the server does not run"
        self._server.terminate()
        status = self._server.wait(STOP_SECONDS)
        self._server = None
        return status

    def spawn(self, *arguments: str, stdout: Any, stderr: Any) -> subprocess.Popen[bytes]:
        """Start Python in a process group of its own."""
        command = [self.python, *arguments]
        return subprocess.Popen(  # noqa: S603 - our own interpreter
            command, cwd=self.workdir, env=self.environ, stdout=stdout, stderr=stderr, start_new_session=True
        )

    def rows(self, query: str, *values: object) -> list[Any]:
        """What the database answers."""
        with closing(sqlite3.connect(self.database)) as database:
            return database.execute(query, values).fetchall()

    def count(self, queries: Mapping[str, str]) -> dict[str, int]:
        """Of queries by name that count something, those that found any; the database is whole."""
        assert self.rows("PRAGMA integrity_check") == [("ok",)]
        found = {name: int(self.rows(query)[0][0]) for name, query in queries.items()}
        return {name: count for name, count in found.items() if count}

    def check_index(self) -> None:
        """Once the outbox is empty, the index has what the database has."""
        report = json.loads(self.manage("index", "check", "--json"))
        assert report["ok"], report

    def log(self) -> str:
        """What the servers wrote."""
        return (self.folder / "server.log").read_text(errors="replace")

    def run(self, *arguments: str, environ: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Run Python to its end with these variables besides; AssertionError with what it printed if it fails."""
        env = {**self.environ, **(environ or {})}
        done = subprocess.run(  # noqa: S603 - our own interpreter
            [self.python, *arguments], cwd=self.workdir, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{' '.join(arguments)} failed:\n{done.stdout}{done.stderr}"
        return done

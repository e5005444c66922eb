"""A PostgreSQL cluster of a test, reached by a socket in its own folder, so it needs no port and no password."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
from pathlib import Path
from urllib.parse import quote

import psycopg

from tests.real_parts.server import DidNotStart, Missing, Server, program

ROLE = "memoryhub"
SYSTEM_USER = "postgres"  # the server refuses to run as root; the Debian package makes this user
OPTIONS = ("max_connections=200", "listen_addresses=")
# What is lost with the process is of no worth to most tests.
FORGETFUL = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")


class PostgreSQL(Server):
    """See Server. A `durable` one keeps what it acknowledged when it is killed."""

    name = "postgresql"
    stop_signal = signal.SIGINT  # without waiting for clients

    def __init__(self, *, durable: bool = False) -> None:
        super().__init__()
        self._options = OPTIONS if durable else OPTIONS + FORGETFUL

    @property
    def url(self) -> str:
        """Its maintenance database; tests make their own beside it."""
        return f"postgres://{ROLE}@{quote(str(self.folder), safe='')}/postgres"

    def version(self) -> str:
        """The version of the server that answers."""
        with psycopg.connect(self.url) as connection:
            return f"{connection.info.server_version // 10000}.{connection.info.server_version % 10000}"

    def _command(self) -> list[str]:
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)
        initdb, postgres = (program(name, "postgresql", *found) for name in ("initdb", "postgres"))
        data = self.folder / "data"
        as_user = self._as_user()
        if not data.exists():
            command = [*as_user, initdb, "-D", str(data), "-U", ROLE, "--auth=trust", "--encoding=UTF8", "--no-sync"]
            made = subprocess.run(  # noqa: S603 - our own words
                [*command, "--locale=C.UTF-8"], cwd=self.folder, capture_output=True, text=True, check=False
            )
            if made.returncode:
                raise DidNotStart(f"initdb failed:\n{made.stderr}")
        options = [part for option in self._options for part in ("-c", option)]
        return [*as_user, postgres, "-D", str(data), "-k", str(self.folder), *options]

    def _as_user(self) -> list[str]:
        """What makes the following command run as somebody who may."""
        if os.geteuid() != 0:
            return []
        try:
            user = pwd.getpwnam(SYSTEM_USER)
        except KeyError as error:
            raise Missing(
                f"Root may not run PostgreSQL, and there is no user {SYSTEM_USER}: apt-get install postgresql."
            ) from error
        shutil.chown(self.folder, user.pw_uid, user.pw_gid)
        return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--pdeathsig", "KILL"]

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

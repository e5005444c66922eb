"""One node in a folder of its own: started, asked, stopped, wiped.

Invariant: only a process whose command names this folder is ever signalled; whoever asks for the node under `locked`
finds it running or starts it, and never a second one.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from tests.elasticsearch_node.distribution import CannotBuild, cache, distribution, locked

USER = "admin"
HEAP = "768m"
START_SECONDS = 120.0
STOP_SECONDS = 30.0
_PBKDF2_ROUNDS = 10_000  # the fewest that Elasticsearch takes by default
_PBKDF2_BYTES = 32

CONFIGURATION = """\
cluster.name: memoryhub
node.portsfile: true
http.host: 127.0.0.1
http.port: {port}
transport.host: 127.0.0.1
path.data: {folder}/data
path.logs: {folder}/logs
action.auto_create_index: false
xpack.license.self_generated.type: trial
xpack.security.enabled: true
xpack.security.enrollment.enabled: false
xpack.security.http.ssl.enabled: false
xpack.security.transport.ssl.enabled: false
xpack.security.authc.api_key.enabled: true
cluster.routing.allocation.disk.threshold_enabled: false
"""
# A node of a cluster replaces these (`cluster.py`).
ALONE: Final[Mapping[str, str]] = {"node.name": "memoryhub", "discovery.type": "single-node", "transport.port": "0"}
LOGGING = """\
status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d{ISO8601}][%-5p][%c{1.}] %m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
"""


# Nodes may outlive the objects that started them; Python warns of a child that nobody holds.
_started: list[subprocess.Popen[bytes]] = []


class DidNotStart(Exception):
    """The node ended, or does not answer; the message has the end of its log."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a node answers, and its superuser, as `user:password`."""

    url: str
    credential: str = field(repr=False)

    def get(self, path: str, *, timeout: float = 30.0) -> dict[str, object]:
        """The answer to GET `path`. Raises OSError when nobody answers, or not with success."""
        parts = urlsplit(self.url)
        connection = HTTPConnection(parts.hostname or "", parts.port, timeout=timeout)
        try:
            basic = base64.b64encode(self.credential.encode()).decode()
            connection.request("GET", path, headers={"Authorization": f"Basic {basic}"})
            response = connection.getresponse()
            body = response.read()
        finally:
            connection.close()
        if not 200 <= response.status < 300:
            raise ConnectionError(f"GET {path} answered {response.status}")
        answer: dict[str, object] = json.loads(body)
        return answer

    def version(self) -> str:
        """The version of Elasticsearch that answers."""
        version = self.get("/")["version"]
        assert isinstance(version, dict)
        return str(version["number"])


class Node:
    """The node of `folder`, which holds its configuration, data and log. Default: the developer's, in the cache.

    `settings` are its name and how it finds other nodes.
    """

    def __init__(self, folder: Path | None = None, settings: Mapping[str, str] = ALONE) -> None:
        self.folder = (folder or cache() / "elasticsearch-node").absolute()
        self._settings = settings

    def start(self, *, port: int = 0, heap: str = HEAP, live_as_long_as: int = 0, short_lived: bool = False) -> Address:
        """Start the node unless it runs, and wait until it answers. Raises CannotBuild, DidNotStart.

        `port` 0 takes a free one. With `live_as_long_as` the node ends when that process has ended. One that is
        `short_lived` does a run of small tests in half the processor time, and lasting work slowly.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked(self.folder / "lock"):
            if (address := self.address()) is not None:
                return address
            programs = distribution()
            self._configure(port)
            options = [f"-Xms{heap}", f"-Xmx{heap}", "-XX:+UseSerialGC", f"-Djava.io.tmpdir={self.folder / 'tmp'}"]
            options += [f"-Des.path.home={programs.folder}", "--enable-native-access=ALL-UNNAMED"]
            options += ["--add-modules=jdk.incubator.vector"]
            if short_lived:
                # The optimising compiler takes longer than what it would speed up.
                options.append("-XX:TieredStopAtLevel=1")
            command = [*programs.command(*options), str(self.folder / "config"), str(live_as_long_as)]
            with self._log.open("wb") as log:
                process = subprocess.Popen(  # noqa: S603 - the JDK, with our own words
                    command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
                )
            _started.append(process)
            (self.folder / "pid").write_text(str(process.pid))
            return self._ready(process)

    def address(self) -> Address | None:
        """Where the node answers; None while it does not."""
        try:
            if self.pid() is None:
                return None
            host = (self.folder / "logs/http.ports").read_text().split()[0]
            address = Address(f"http://{host}", f"{USER}:{(self.folder / 'password').read_text()}")
            address.get("/_cluster/health?wait_for_status=yellow")
            address.get("/_license")  # a new cluster gives itself one a moment after it answers
        except (OSError, IndexError):
            return None
        return address

    def stop(self) -> None:
        """End the node if it runs, and wait for it."""
        deadline = time.monotonic() + STOP_SECONDS
        kind = signal.SIGTERM
        while (pid := self.pid()) is not None:
            os.kill(pid, kind)
            kind = signal.SIGKILL if time.monotonic() > deadline else signal.Signals(signal.SIGTERM)
            time.sleep(0.1)
        (self.folder / "pid").unlink(missing_ok=True)

    def kill(self) -> None:
        """End the node at once, as a machine that loses power; its data stays as it is."""
        while (pid := self.pid()) is not None:
            os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)
        (self.folder / "pid").unlink(missing_ok=True)

    def wipe_data(self) -> None:
        """End the node at once and remove its data, as a machine whose disk is lost."""
        self.kill()
        shutil.rmtree(self.folder / "data")

    def wipe(self) -> None:
        """Stop the node and remove all that it holds."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def _log(self) -> Path:
        return self.folder / "console.log"

    def _configure(self, port: int) -> None:
        for name in ("config", "data", "logs", "tmp"):
            (self.folder / name).mkdir(exist_ok=True)
        (self.folder / "logs/http.ports").unlink(missing_ok=True)
        password = self.folder / "password"
        if not password.exists():
            password.touch(mode=0o600)
            password.write_text(secrets.token_urlsafe(24))
        config = self.folder / "config"
        own = "".join(f"{name}: {value}\n" for name, value in self._settings.items())
        (config / "elasticsearch.yml").write_text(CONFIGURATION.format(port=port, folder=self.folder) + own)
        (config / "log4j2.properties").write_text(LOGGING)
        (config / "users").write_text(f"{USER}:{_hashed(password.read_text())}\n")
        (config / "users_roles").write_text(f"superuser:{USER}\n")

    def _ready(self, process: subprocess.Popen[bytes]) -> Address:
        deadline = time.monotonic() + START_SECONDS
        while (address := self.address()) is None:
            if process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise DidNotStart(f"Elasticsearch did not start:\n{self._log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.1)
        return address

    def pid(self) -> int | None:
        """The id of the node's process while it runs."""
        try:
            pid = int((self.folder / "pid").read_text())
            with_arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except (OSError, ValueError):
            return None
        return pid if str(self.folder / "config").encode() in with_arguments else None


def _hashed(password: str) -> str:
    """The form in which Elasticsearch's file of users keeps a password."""
    salt = secrets.token_bytes(_PBKDF2_BYTES)
    digest = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, _PBKDF2_ROUNDS, _PBKDF2_BYTES)
    return f"{{PBKDF2}}{_PBKDF2_ROUNDS}${base64.b64encode(salt).decode()}${base64.b64encode(digest).decode()}"


__all__ = ["Address", "CannotBuild", "DidNotStart", "Node"]

"""A real Redis as Celery's broker, for this process and for Celery processes on the same database.

`in_use` changes the broker of the whole process.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import kombu.pools
import redis
from django.conf import settings
from django.db import connection

from memoryhub.celery import app
from memoryhub.env.values import development_secret
from memoryhub.jobs import JobQueue
from tests.celery_process import CeleryProcess
from tests.real_parts import Redis


class Broker:
    """Redis as Celery's broker, initially empty."""

    def __init__(self, server: Redis) -> None:
        self.server = server
        self.url = server.url

    def messages(self, queue: JobQueue = JobQueue.CHANGES) -> list[str]:
        """The names of the tasks that wait in a queue, oldest first."""
        with self._client() as client:
            found = client.lrange(queue, 0, -1)
            assert isinstance(found, list)
            return [json.loads(message)["headers"]["task"] for message in reversed(found)]

    @contextmanager
    def away(self) -> Iterator[None]:
        """Stop the broker during the block; it restarts without its messages."""
        self.server.stop()
        try:
            yield
        finally:
            self.server.start()

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Suspend the broker during the block: it accepts connections and answers nothing."""
        assert self.server._process is not None
        self.server._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.server._process.send_signal(signal.SIGCONT)

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Send this process's messages to this broker during the block."""
        before = app.conf.broker_url
        self.point(self.url)
        try:
            yield
        finally:
            self.point(before)

    def process(self, *arguments: str, folder: Path, log_format: str = "line") -> CeleryProcess:
        """A Celery process on this test's database and index."""
        environ = {name: os.environ[name] for name in ("PATH", "HOME", "OMP_NUM_THREADS") if name in os.environ}
        environ |= {
            "DJANGO_SETTINGS_MODULE": "memoryhub.settings",
            "DATABASE_URL": _database_url(),
            "MEMORYHUB_DATA_DIR": str(folder),
            "MEMORYHUB_AUDIT_KEYS": development_secret(settings.MEMORYHUB_DATA_DIR, "audit_key"),
            "MEMORYHUB_INDEX_DIR": str(settings.MEMORYHUB_INDEX_DIR),
            "MEMORYHUB_BROKER_URL": self.url,
            "MEMORYHUB_JOBS": "celery",
            "MEMORYHUB_LOG_FORMAT": log_format,
        }
        return CeleryProcess(*arguments, environ=environ, log=folder / f"{arguments[0]}.log")

    def _client(self) -> redis.Redis:
        return redis.Redis.from_url(self.url, decode_responses=True)

    @staticmethod
    def point(url: str) -> None:
        """Send this process's messages to `url`."""
        app._after_fork()  # forgets the connections
        kombu.pools.reset()  # type: ignore[no-untyped-call]  # closes them
        app.conf.broker_url = url


def _database_url() -> str:
    """The test database as a DATABASE_URL."""
    database = connection.settings_dict
    name = str(database["NAME"])
    if connection.vendor == "sqlite":
        return f"sqlite:///{name}"
    who, where = quote(database["USER"], safe=""), quote(database["HOST"], safe="")
    secret = f":{quote(database['PASSWORD'], safe='')}" if database["PASSWORD"] else ""
    port = f":{database['PORT']}" if database["PORT"] else ""
    return f"postgres://{who}{secret}@{where}{port}/{name}"

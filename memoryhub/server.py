"""The web server: gunicorn's supervision of the web processes, configured in code, and a worker process for the jobs.

Gunicorn's workers (memoryhub/web_worker.py) load the application after the fork, because the encoder's sessions and
database connections do not survive one. Django decides the scheme of a request (MEMORYHUB_TRUST_PROXY), so gunicorn
trusts no header.
"""

from __future__ import annotations

import errno
import resource
import socket
from collections.abc import Callable
from typing import Any, Final

from django.conf import settings
from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.glogging import Logger

from memoryhub.env.values import LAST_PORT
from memoryhub.probes import ProbeListener
from memoryhub.web_worker import WebWorker
from memoryhub.worker import WorkerProcess

# More than any number of connections that a process may have; systems often begin with 1,024.
_OPEN_FILES: Final = 65_536


class AddressUnavailable(Exception):
    """The server cannot listen on the address; the message says why and what to choose."""


def require_free(host: str, port: int) -> None:
    """Raise AddressUnavailable unless gunicorn could listen on this address now."""
    if not 1 <= port <= LAST_PORT:
        raise AddressUnavailable(f"There is no port {port}: choose one from 1 to {LAST_PORT}.")
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind((host, port))
    except (OSError, UnicodeError) as error:
        raise AddressUnavailable(_why_not(host, port, getattr(error, "errno", None))) from error


def _why_not(host: str, port: int, number: int | None) -> str:
    if number == errno.EADDRINUSE:
        other = port + 1 if port < LAST_PORT else port - 1
        return f"Port {port} is in use: choose another one, such as --port {other} (make demo PORT={other})."
    if number == errno.EACCES:
        return f"Port {port} is not yours to take: choose one from 1024 to {LAST_PORT}."
    return f"{host!r} is no address of this machine: choose another one, such as --host 127.0.0.1."


class _DjangosLogger(Logger):  # type: ignore[misc]  # gunicorn publishes no types
    """Sends gunicorn's logs through the project's logging (memoryhub/observability/logs.py)."""

    def setup(self, cfg: Any) -> None:
        """Remove gunicorn's own handlers."""
        super().setup(cfg)
        for logger in (self.error_log, self.access_log):
            logger.handlers.clear()
        self.error_log.propagate = True


class _Parent(Arbiter):  # type: ignore[misc]  # gunicorn publishes no types
    """Gunicorn's parent process, which also supervises the worker process of the jobs."""

    def __init__(self, app: BaseApplication) -> None:
        self._jobs = WorkerProcess()
        super().__init__(app)

    def manage_workers(self) -> None:
        """Start missing processes; gunicorn calls this every second."""
        super().manage_workers()
        self._jobs.keep()

    def halt(self, *args: Any, **kwargs: Any) -> None:
        """End all processes."""
        try:
            super().halt(*args, **kwargs)
        finally:
            self._jobs.stop()


class Server(BaseApplication):  # type: ignore[misc]  # gunicorn publishes no types
    """Serves `memoryhub.wsgi` on `host`:`port` until a signal ends it, with a worker process for the jobs.

    Calls `ready` once it listens.
    """

    def __init__(self, *, host: str, port: int, workers: int, threads: int, ready: Callable[[], None]) -> None:
        self._settings: dict[str, Any] = {
            "bind": f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
            "worker_class": WebWorker,
            "workers": workers,
            "threads": threads,
            "keepalive": 15,
            "limit_request_line": 8190,  # gunicorn's most: lists take a query of 1,000 characters and a cursor
            "graceful_timeout": 10,
            "loglevel": "warning",
            "logger_class": _DjangosLogger,
            "forwarded_allow_ips": "",
            "control_socket_disable": True,
            "when_ready": lambda _arbiter: ready(),
        }
        self.probes: ProbeListener | None = None
        super().__init__()

    def load_config(self) -> None:
        """Use the constructor's settings only, none from files or the environment."""
        for name, value in self._settings.items():
            self.cfg.set(name, value)

    def run(self) -> None:
        """Serve until a signal ends the server. Raises OSError if the address of the probes cannot be used."""
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        files = _OPEN_FILES if most == resource.RLIM_INFINITY else min(most, _OPEN_FILES)
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, most))
        parent = _Parent(self)
        if settings.MEMORYHUB_PROBES:
            self.probes = ProbeListener(*settings.MEMORYHUB_PROBES, workers=lambda: list(parent.WORKERS))
            self.probes.start()
        parent.run()

    def load(self) -> Callable[..., Any]:
        """Load the application in the worker."""
        from memoryhub.wsgi import application  # noqa: PLC0415 - after the fork, see the module docstring

        return application

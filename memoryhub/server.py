"""The server process: gunicorn with threads, configured in code so that one command serves everywhere.

Invariant: workers load the application after the fork (sessions of the encoder and database connections do not survive
one), and the scheme of a request is Django's to decide (MEMORYHUB_TRUST_PROXY), so no header is trusted here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gunicorn.app.base import BaseApplication
from gunicorn.glogging import Logger


class _DjangosLogger(Logger):  # type: ignore[misc]  # gunicorn publishes no types
    """What gunicorn logs goes where everything else does (memoryhub/logs.py), in the same form."""

    def setup(self, cfg: Any) -> None:
        """No handlers of its own."""
        super().setup(cfg)
        for logger in (self.error_log, self.access_log):
            logger.handlers.clear()
        self.error_log.propagate = True


class Server(BaseApplication):  # type: ignore[misc]  # gunicorn publishes no types
    """Serves `memoryhub.wsgi` on `host`:`port` until a signal ends it; `ready` runs once it listens."""

    def __init__(self, *, host: str, port: int, workers: int, threads: int, ready: Callable[[], None]) -> None:
        self._settings: dict[str, Any] = {
            "bind": f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
            "worker_class": "gthread",
            "workers": workers,
            "threads": threads,
            "keepalive": 15,
            "graceful_timeout": 10,
            "loglevel": "warning",
            "logger_class": _DjangosLogger,
            "forwarded_allow_ips": "",
            "control_socket_disable": True,
            "when_ready": lambda _arbiter: ready(),
        }
        super().__init__()

    def load_config(self) -> None:
        """Take the settings of the constructor, and none from files or the environment."""
        for name, value in self._settings.items():
            self.cfg.set(name, value)

    def load(self) -> Callable[..., Any]:
        """The application, loaded in the worker."""
        from memoryhub.wsgi import application  # noqa: PLC0415 - after the fork, see above

        return application

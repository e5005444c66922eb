"""Celery's own processes, a worker or the beat, started from the command line as on a site.

Invariant: each has a process group of its own, and only that group is ever signalled.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Self

ROOT = Path(__file__).resolve().parents[1]
PATIENCE_SECONDS = 60.0


class CeleryProcess:
    """`celery -A memoryhub ARGUMENTS` with this environment, its words in `log`; use as a context manager."""

    def __init__(self, *arguments: str, environ: Mapping[str, str], log: Path) -> None:
        self._arguments = arguments
        self._environ = dict(environ)
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def running(self) -> bool:
        """Whether it runs."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it; it may take a while until it works."""
        with self._log.open("ab") as log:
            command = [sys.executable, "-m", "celery", "-A", "memoryhub", *self._arguments]
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter
                command, cwd=ROOT, env=self._environ, stdout=log, stderr=log, start_new_session=True
            )

    def wait(self) -> int:
        """Wait until it ends by itself; its exit status."""
        assert self._process is not None, "it does not run"
        status = self._process.wait(PATIENCE_SECONDS)
        self._process = None
        return status

    def words(self) -> str:
        """What it wrote."""
        return self._log.read_text(errors="replace")

    def stop(self) -> int:
        """SIGTERM, as a service manager does: it finishes the tasks in hand. Its exit status."""
        assert self._process is not None, "it does not run"
        self._process.terminate()
        return self.wait()

    def kill(self) -> None:
        """SIGKILL to it and all of its processes, if it runs."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

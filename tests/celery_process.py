"""Runs Celery processes, a worker or beat, from the command line as in production.

Each process has its own process group, and only that group receives signals.
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
    """`celery -A memoryhub ARGUMENTS` with this environment and its output in `log`; a context manager."""

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
        """Whether the process is running."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the process, without waiting until it is ready."""
        with self._log.open("ab") as log:
            command = [sys.executable, "-m", "celery", "-A", "memoryhub", *self._arguments]
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter
                command, cwd=ROOT, env=self._environ, stdout=log, stderr=log, start_new_session=True
            )

    def wait(self) -> int:
        """Wait until the process ends; returns its exit status."""
        assert self._process is not None, "it does not run"
        status = self._process.wait(PATIENCE_SECONDS)
        self._process = None
        return status

    def words(self) -> str:
        """The output of the process."""
        return self._log.read_text(errors="replace")

    def stop(self) -> int:
        """Send SIGTERM, after which Celery finishes running tasks; returns the exit status."""
        assert self._process is not None, "it does not run"
        self._process.terminate()
        return self.wait()

    def pause(self) -> None:
        """Stop all its processes where they are, until `resume`."""
        assert self._process is not None, "it does not run"
        os.killpg(self._process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let the processes go on."""
        assert self._process is not None, "it does not run"
        os.killpg(self._process.pid, signal.SIGCONT)

    def kill(self) -> None:
        """Send SIGKILL to the process group, if the process is running."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

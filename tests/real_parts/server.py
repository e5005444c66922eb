"""A server process of a test: started, awaited, stopped."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Self

START_SECONDS = 60.0
STOP_SECONDS = 30.0


class Missing(Exception):
    """A program that is not installed; the message says how to get it."""


class DidNotStart(Exception):
    """A server that ended or does not answer; the message has the end of its log."""


class Server(ABC):
    """A server in a temporary folder, which may be stopped and started again; as a context manager it is removed."""

    name: str
    stop_signal = signal.SIGTERM

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=f"{self.name}-"))
        self._process: subprocess.Popen[bytes] | None = None

    @property
    @abstractmethod
    def url(self) -> str:
        """Where it answers, as memoryhub takes it."""

    @abstractmethod
    def version(self) -> str:
        """The version of the server that answers."""

    @abstractmethod
    def _command(self) -> list[str]:
        """What starts it, after the folder was prepared. Raises Missing."""

    @abstractmethod
    def _answers(self) -> bool:
        """Whether it can be used now."""

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def start(self) -> None:
        """Start it and wait until it answers. Raises Missing, DidNotStart."""
        with_us = [program("setpriv", "util-linux"), "--pdeathsig", "KILL"]  # it must not outlive a killed test run
        command = [*with_us, *self._command()]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own words
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder, start_new_session=True
            )
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise DidNotStart(f"{self.name} did not start:\n{self._log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.02)

    def stop(self) -> None:
        """End it if it runs; its data stays."""
        if self._process is not None:
            self._process.send_signal(self.stop_signal)
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def kill(self) -> None:
        """SIGKILL to it and to its processes; its data stays as it is."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def remove(self) -> None:
        """End it and remove its folder."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def _log(self) -> Path:
        return self.folder / "log"


def program(name: str, package: str, *folders: Path) -> str:
    """The path of a program, looked for in these folders first. Raises Missing."""
    path = os.pathsep.join([*map(str, folders), os.environ.get("PATH", os.defpath)])
    found = shutil.which(name, path=path)
    if found is None:
        raise Missing(f"{name} is not installed: apt-get install {package}.")
    return found

"""The listener of `/livez` and `/readyz` in the server's parent process, which no request can keep busy.

Each web process reports through a pipe every second: its event loop, that it runs and that requests end; a thread,
whether the process can serve. A process that does not report counts as one that does not answer.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from threading import Thread
from typing import Any, Final

# How long a report holds, and how long a new process may take to report.
FRESH_SECONDS: Final = 5.0
START_SECONDS: Final = 60.0
_REQUEST_SECONDS: Final = 2.0
_REQUEST_BYTES: Final = 4096
_REASONS: Final = {200: "OK", 404: "Not Found", 503: "Service Unavailable"}


class ProbeListener:
    """Answers probes on an address of its own; make it before the processes are forked."""

    def __init__(self, host: str, port: int, workers: Callable[[], Collection[int]]) -> None:
        """`workers` returns the ids of the web processes. Raises OSError if the address cannot be used."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, port), family=family)
        self._workers = workers
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._reading, False)
        os.set_blocking(self._writing, False)
        self._rest = b""
        self._answers: dict[int, tuple[float, bool]] = {}
        self._ready: dict[int, tuple[float, bool, dict[str, str]]] = {}

    def start(self) -> None:
        """Answer on a thread."""
        Thread(target=self._run, name="probes", daemon=True).start()

    def after_fork(self) -> None:
        """Close what belongs to the parent; call it in each web process."""
        self._listener.close()
        os.close(self._reading)

    def report(self, pid: int, **said: Any) -> None:
        """Report `answers`, or `ready` and `parts`, from a web process."""
        with suppress(OSError):  # the parent ended, or does not read
            os.write(self._writing, json.dumps({"pid": pid, **said}).encode() + b"\n")

    def _run(self) -> None:
        # A signal that this thread took would not wake gunicorn's, which waits for the ends of processes.
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        asyncio.get_running_loop().add_reader(self._reading, self._receive)
        server = await asyncio.start_server(self._answer, sock=self._listener, limit=_REQUEST_BYTES)
        await server.serve_forever()

    def _receive(self) -> None:
        *lines, self._rest = (self._rest + os.read(self._reading, 65_536)).split(b"\n")
        for said in map(json.loads, lines):
            if "answers" in said:
                self._answers[said["pid"]] = (time.monotonic(), said["answers"])
            else:
                self._ready[said["pid"]] = (time.monotonic(), said["ready"], said["parts"])

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(_REQUEST_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                path = head.split(b"\r\n")[0].split(b" ")[1:2]
                answers = {b"/livez": self._livez, b"/readyz": self._readyz}
                status, text = answers.get(b"".join(path).partition(b"?")[0], lambda: (404, "not found"))()
                body = f"{text}\n".encode()
                kind = "application/json" if text.startswith("{") else "text/plain"
                headers = f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\nCache-Control: no-store"
                start = f"HTTP/1.1 {status} {_REASONS[status]}\r\nConnection: close\r\n{headers}\r\n\r\n"
                writer.write(start.encode() + (b"" if head.startswith(b"HEAD ") else body))
                await writer.drain()
        writer.close()

    def _livez(self) -> tuple[int, str]:
        """Whether every web process answers; one that starts has START_SECONDS."""
        now = time.monotonic()
        workers = list(self._workers())
        self._answers = {pid: self._answers.get(pid, (now + START_SECONDS, True)) for pid in workers}
        answering = [pid for pid, (at, well) in self._answers.items() if well and now - at < FRESH_SECONDS]
        if workers and len(answering) == len(workers):
            return 200, "ok"
        return 503, f"{len(answering)} of {len(workers)} processes answer"

    def _readyz(self) -> tuple[int, str]:
        """Whether a web process can serve, and the components as it, or else the last one, sees them."""
        now = time.monotonic()
        self._ready = {pid: said for pid, said in self._ready.items() if pid in self._workers()}
        fresh = [said for said in self._ready.values() if now - said[0] < FRESH_SECONDS]
        if not fresh:
            return 503, json.dumps({"process": "unavailable" if self._ready else "starting"})
        _, well, parts = max(fresh, key=lambda said: (said[1], said[0]))
        return 200 if well else 503, json.dumps(parts)

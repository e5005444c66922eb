"""Runs background jobs: a thread for each job in one worker process, which the server starts and supervises."""

from __future__ import annotations

import logging
import os
import subprocess
import threading
import time
from collections.abc import Callable, Sequence

from django.conf import settings
from django.db import connections

from memoryhub import observability as log_context
from memoryhub.installation import command
from memoryhub.jobs import Job, JobResult, Unavailable, table, wake_file
from memoryhub.leases import backoff

log = logging.getLogger(__name__)

STOP_SECONDS = 5.0
# The longest delay before a failed job or an ended worker process starts again, after 1, 2, 4, … seconds.
MAX_BACKOFF_SECONDS = 15.0
# The interval in which the worker process checks wake files and its parent.
TICK_SECONDS = 0.1


class JobThread:
    """A thread that runs `work` at once, every `pause` seconds and when woken, at least `rest` seconds apart.

    The thread survives errors of `work`. It logs the first of consecutive failures, and the recovery.
    """

    def __init__(
        self, name: str, work: Callable[[], object], *, pause: float | None = None, rest: float = TICK_SECONDS
    ) -> None:
        self._name = name
        self._work = work
        self._pause = pause
        self._rest = rest
        self._failures = 0
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def running(self) -> bool:
        """Whether the thread is alive."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def wake(self) -> None:
        """Run the work soon; a call during a run causes another run."""
        self._woken.set()

    def stop(self) -> None:
        """Ask the thread to end after the current run."""
        self._stopping.set()
        self._woken.set()

    def join(self, timeout: float = STOP_SECONDS) -> None:
        """Wait for the thread to end."""
        self._thread.join(timeout)

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._woken.clear()
            more = self._try()
            self._stopping.wait(backoff(self._failures - 1, MAX_BACKOFF_SECONDS) if self._failures else self._rest)
            if not more and not self._failures and not self._stopping.is_set():
                self._woken.wait(self._pause)

    def _try(self) -> bool:
        try:
            with log_context.bound(task=self._name):
                more = self._work() is JobResult.MORE
        except Exception as error:
            if not self._failures:
                expected = isinstance(error, Unavailable)
                reason = str(error) if expected else "It failed."
                log.warning("%s: %s It is tried again.", self._name, reason, exc_info=not expected)
            self._failures += 1
            return False
        else:
            if self._failures:
                log.warning("%s: it works again.", self._name)
            self._failures = 0
            return more
        finally:
            connections.close_all()


def run_worker(jobs: Sequence[Job], stopping: threading.Event, *, parent: int | None = None) -> None:
    """Run `jobs` until `stopping` is set, or until the process `parent`, which started this one, has ended."""
    threads = {job.name: JobThread(job.name, job.run, pause=job.every.total_seconds()) for job in jobs}
    seen = {name: _woken_at(name) for name in threads}
    for thread in threads.values():
        thread.start()
    while not stopping.wait(TICK_SECONDS) and (parent is None or os.getppid() == parent):
        for name, thread in threads.items():
            if (woken := _woken_at(name)) != seen[name]:
                seen[name] = woken
                thread.wake()
    for thread in threads.values():
        thread.stop()
    ends = time.monotonic() + STOP_SECONDS
    for thread in threads.values():
        thread.join(max(0.0, ends - time.monotonic()))


def wanted_jobs() -> tuple[Job, ...]:
    """The jobs that this installation needs."""
    return tuple(job for job in table() if job.when())


def _woken_at(name: str) -> int:
    try:
        return wake_file(name).stat().st_mtime_ns
    except FileNotFoundError:
        return 0


class WorkerProcess:
    """A `manage.py worker` process beside a server: restarted when it ends, stopped with the server.

    It has its own session, so that Ctrl-C reaches only the server; it ends by itself if the server is killed. Call
    `keep` in the thread that forks: a child forked while another thread starts a process would keep that process's pipe
    open.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._starts = 0
        self._not_before = 0.0

    def keep(self) -> None:
        """Start the process if it is not running and MEMORYHUB_JOBS is `worker`."""
        if settings.MEMORYHUB_JOBS != "worker" or (self._process is not None and self._process.poll() is None):
            return
        if self._process is not None:
            log.warning("The worker process ended; it is started again.")
            self._process = None
        if time.monotonic() >= self._not_before:
            self._not_before = time.monotonic() + backoff(self._starts, MAX_BACKOFF_SECONDS)
            self._starts += 1
            worker = command("worker", f"--parent={os.getpid()}")
            self._process = subprocess.Popen(worker, start_new_session=True)  # noqa: S603 - our own arguments

    def stop(self) -> None:
        """Terminate the process after its current jobs; kill it after a timeout."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(2 * STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

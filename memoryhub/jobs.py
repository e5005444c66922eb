"""The table of background jobs. Apps register their jobs; `manage.py worker` or Celery runs them.

A job may run late, twice, or at the same time on several machines: its function asks the database what is due.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum, StrEnum
from functools import partial
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.utils.module_loading import import_string

from memoryhub.db.scope import WideRole, acting_as

log = logging.getLogger(__name__)


# A job that reads every memory stops after this time and returns MORE; Celery ends it after twice the time.
RUN_SECONDS = 15 * 60.0


class JobQueue(StrEnum):
    """Celery's queues. Workers take turns between them, so a long queue delays the others by one task only."""

    # The outbox alone: whoever writes without a pause wakes it without a pause.
    CHANGES = "memoryhub.changes"
    ROUTINE = "memoryhub.routine"
    KEYS = "memoryhub.keys"
    # Webhooks alone: receivers may be slow.
    WEBHOOKS = "memoryhub.webhooks"
    # Jobs that call a model or read every memory, for minutes at worst.
    UPKEEP = "memoryhub.upkeep"


class JobResult(Enum):
    """The result of a job's function; any other value counts as DONE."""

    DONE = "done"
    MORE = "more"  # it stopped early to let others run: run it again at once


def _always() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Job:
    """A background job. `function` is a dotted path, imported on the first run; `when` can disable the job."""

    name: str
    function: str
    every: timedelta
    queue: JobQueue
    when: Callable[[], bool] = _always

    def run(self) -> JobResult:
        """Run the job once, in this thread."""
        with acting_as(WideRole.JOBS):
            return JobResult.MORE if import_string(self.function)() is JobResult.MORE else JobResult.DONE


class Unavailable(Exception):
    """A component that a job needs is down. This is expected at times, so it is logged without a traceback."""


_table: dict[str, Job] = {}
# Set in web processes when Celery runs the jobs: each sends a job's name to the broker from a thread.
_announcers: list[Callable[[str], None]] = []


def register(jobs: Iterable[Job]) -> None:
    """Add an app's jobs to the table."""
    _table.update((job.name, job) for job in jobs)


def table() -> tuple[Job, ...]:
    """All jobs."""
    return tuple(_table.values())


def wake_file(name: str) -> Path:
    """The file whose modification time tells the worker process to run a job now."""
    return Path(settings.MEMORYHUB_DATA_DIR) / "wake" / _table[name].name


def wake(name: str) -> None:
    """Run a job soon, in the process that runs jobs.

    Does not block; a lost wake-up delays the job by `every` at most.
    """
    if settings.MEMORYHUB_JOBS == "worker":
        path = wake_file(name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        except OSError as error:
            log.warning("The worker could not be woken for %s: %s", name, error.strerror)
    else:
        for announce in _announcers:
            announce(name)


def wake_on_commit(name: str) -> None:
    """Run a job soon after this transaction commits."""
    transaction.on_commit(partial(wake, name))


def announce_with(announce: Callable[[str], None]) -> None:
    """Register a function that sends the names of woken jobs."""
    _announcers.append(announce)

"""The table of background jobs. Apps register their rows; `manage.py worker` and Celery both run its rows.

A job may run late, twice, or beside itself on another machine: its function looks in the database for what is due.
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

log = logging.getLogger(__name__)


# A job that reads every memory stops after so long and returns MORE; Celery ends one that takes twice as long.
RUN_SECONDS = 15 * 60.0


class JobQueue(StrEnum):
    """Celery's queues. They take turns, so a long line in one keeps the others waiting for one task only."""

    CHANGES = "memoryhub.changes"
    KEYS = "memoryhub.keys"
    # Jobs that wait for a model or read every memory: minutes at worst.
    UPKEEP = "memoryhub.upkeep"


class JobResult(Enum):
    """What a job's function may return. Any other value counts as DONE."""

    DONE = "done"
    MORE = "more"  # it stopped early, so that others have their turn: run it again at once


def _always() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Job:
    """A row of the table. `function` is a dotted path, imported when the job first runs; `when` switches it off."""

    name: str
    function: str
    every: timedelta
    queue: JobQueue
    when: Callable[[], bool] = _always

    def run(self) -> JobResult:
        """Run the job once, in this thread."""
        return JobResult.MORE if import_string(self.function)() is JobResult.MORE else JobResult.DONE


class Unavailable(Exception):
    """A part that a job needs is away. That is expected now and then, so it is logged without a traceback."""


_table: dict[str, Job] = {}
# In a web process whose jobs Celery runs: what sends a name to the broker, on a thread of its own.
_announcers: list[Callable[[str], None]] = []


def register(jobs: Iterable[Job]) -> None:
    """Add an app's rows to the table."""
    _table.update((job.name, job) for job in jobs)


def table() -> tuple[Job, ...]:
    """All rows."""
    return tuple(_table.values())


def wake_file(name: str) -> Path:
    """The file whose modification tells the worker process to run a job now."""
    return Path(settings.MEMORYHUB_DATA_DIR) / "wake" / _table[name].name


def wake(name: str) -> None:
    """Have a job run soon, in whatever process runs the jobs. It never waits; a wake-up that is lost costs `every`."""
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
    """Have a job run soon after this transaction commits."""
    transaction.on_commit(partial(wake, name))


def announce_with(announce: Callable[[str], None]) -> None:
    """Send the names of woken jobs with `announce` from now on."""
    _announcers.append(announce)

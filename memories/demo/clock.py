"""The demo's own time: while a story is replayed, the database, its audit log and its index think that it is then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, tzinfo
from time import monotonic
from typing import Any, cast

from django.utils import timezone


@contextmanager
def set_back(to: datetime) -> Iterator[None]:
    """Let `timezone.now()`, also as the default of columns, go on from `to`. Only for a process that seeds alone."""
    began, clock = monotonic(), cast("Any", timezone)
    real: type[datetime] = clock.datetime

    class Then(datetime):
        """Tells the time of the story."""

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]  # a plain one
            """The time of the story, and what has passed since it began."""
            return datetime.fromtimestamp(to.timestamp() + monotonic() - began, tz)

    clock.datetime = Then
    try:
        yield
    finally:
        clock.datetime = real

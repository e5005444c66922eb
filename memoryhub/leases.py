"""Leases of rows that one worker at a time may process, the backoff after failures, and items that keep failing.

A lease is the time in a row's `leased_until`. Its holder is the worker that wrote this time; a dead process holds it
for LEASE at most.

No item blocks a queue. A fault that `passes` says nothing of the items: they wait for the part that is down. Any other
fault is of one of the items: what failed EQUAL_FAILURES times in the same way (`fault_of`) is halved until the item is
by itself, which its queue then sets aside where people see it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from traceback import walk_tb
from typing import Any, TypeVar

from django.db import InterfaceError, OperationalError, connections
from django.db.models import Q, QuerySet
from django.utils import timezone

from memoryhub.jobs import Unavailable

Item = TypeVar("Item")

# The longest that a dead process blocks a row; a running one extends its lease.
LEASE = timedelta(seconds=60)
EXTEND_SECONDS = 20.0
# The largest difference between the clocks of two machines.
SKEW = timedelta(seconds=60)
_LONGEST_EXPONENT = 16


def backoff(failures: int, longest: float) -> float:
    """Seconds to wait after this many earlier failures: 1, 2, 4, …, at most `longest`."""
    return min(longest, 2.0 ** min(max(failures, 0), _LONGEST_EXPONENT))


# Failures in the same way after which an item is at fault itself.
EQUAL_FAILURES = 3
_PRODUCT = frozenset({"memories", "memoryhub", "tenants"})
# Operational errors of the statement, not of the server: SQLite's general one, and PostgreSQL's class of limits.
_SQLITE_OF_STATEMENT, _POSTGRESQL_OF_STATEMENT = "SQLITE_ERROR", "54"


def passes(error: BaseException) -> bool:
    """Whether a part is down, locked or full, so that the same item may succeed later."""
    if isinstance(error, OperationalError):
        cause = error.__cause__
        of_statement = getattr(cause, "sqlite_errorname", "") == _SQLITE_OF_STATEMENT
        return not of_statement and not str(getattr(cause, "sqlstate", "")).startswith(_POSTGRESQL_OF_STATEMENT)
    return isinstance(error, (Unavailable, InterfaceError, OSError))


def fault_of(error: BaseException) -> str:
    """The type of an error and the function of this product that met it; never its message, which may quote a row."""
    place = ""
    for frame, _ in walk_tb(error.__traceback__):
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] in _PRODUCT:
            place = f" in {module}.{frame.f_code.co_name}"
    return f"{type(error).__name__}{place}"[:200]


def halved(
    items: Sequence[Item],
    work: Callable[[Sequence[Item]], object],
    set_aside: Callable[[Item, Exception], object],
    *,
    may_pass: Callable[[BaseException], bool] = passes,
) -> None:
    """Run `work` on `items`, or on halves of what it fails on; the item that fails by itself goes to `set_aside`.

    A failed `work` must leave nothing behind, or be repeatable. Raises an error that `may_pass`.
    """
    try:
        work(items)
    except Exception as error:
        if may_pass(error):
            raise
        if len(items) == 1:
            set_aside(items[0], error)
            return
        middle = len(items) // 2
        for half in (items[:middle], items[middle:]):
            halved(half, work, set_aside, may_pass=may_pass)


def due(column: str, now: datetime, longest: float) -> Q:
    """A condition for rows whose time in `column` has come; it is written at most `longest` seconds ahead.

    A later time was written by a clock since set back, and is ignored.
    """
    return Q(**{f"{column}__lte": now}) | Q(**{f"{column}__gt": now + timedelta(seconds=longest) + SKEW})


def free(now: datetime) -> Q:
    """A condition for unleased rows."""
    return Q(leased_until__isnull=True) | due("leased_until", now, longest=LEASE.total_seconds())


class LeaseLost(Exception):
    """Another worker holds the lease, or the row is not to be processed any more."""


@dataclass(slots=True)
class RowLease:
    """A lease of the one row in `rows`, a queryset that matches no row once the work must stop."""

    rows: QuerySet[Any]
    until: datetime
    renewing: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def take(cls, rows: QuerySet[Any]) -> RowLease | None:
        """Take the lease; None if another worker holds it."""
        now = timezone.now()
        until = now + LEASE
        return cls(rows, until) if rows.filter(free(now)).update(leased_until=until) else None

    def is_held(self) -> bool:
        """Whether the row still has this lease."""
        return self.rows.filter(leased_until=self.until).exists()

    def renew(self, **columns: object) -> datetime:
        """Write a new end and `columns`; returns the end, to set as `until` after the commit. Raises LeaseLost."""
        until = timezone.now() + LEASE
        if not self.rows.filter(leased_until=self.until).update(leased_until=until, **columns):
            raise LeaseLost
        return until

    def extend(self) -> None:
        """Extend the lease by LEASE. Raises LeaseLost."""
        with self.renewing:
            self.until = self.renew()

    def release(self, *, until: datetime | None = None, **columns: object) -> None:
        """End the lease, or block the row until `until`. Does nothing if the lease was lost."""
        self.rows.filter(leased_until=self.until).update(leased_until=until, **columns)


@contextmanager
def kept(extend: Callable[[], object], *, name: str, lost: Callable[[Exception], object]) -> Iterator[None]:
    """Call `extend` on a thread every EXTEND_SECONDS during the block; its first error ends it and goes to `lost`."""
    done = threading.Event()

    def keep() -> None:
        try:
            while not done.wait(EXTEND_SECONDS):
                extend()
        except Exception as error:  # noqa: BLE001 - the holder's next step in the database fails for the same reason
            lost(error)
        finally:
            connections.close_all()

    # The context carries the database scope.
    keeper = threading.Thread(target=copy_context().run, args=(keep,), name=name, daemon=True)
    keeper.start()
    try:
        yield
    finally:
        done.set()
        keeper.join()

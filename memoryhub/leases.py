"""Leases of rows that one worker at a time may work on, and how long to wait after failures.

A lease is the moment in a row's `leased_until`: whoever wrote that moment holds it, and a dead process holds it no
longer than LEASE.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import connections
from django.db.models import Q, QuerySet
from django.utils import timezone

# How long a dead process keeps others away; a living one extends its lease while it waits.
LEASE = timedelta(seconds=60)
EXTEND_SECONDS = 20.0
# How far the clocks of two machines may be apart.
SKEW = timedelta(seconds=60)
_LONGEST_EXPONENT = 16


def backoff(failures: int, longest: float) -> float:
    """Seconds to wait after so many earlier failures: 1, 2, 4, …, at most `longest`."""
    return min(longest, 2.0 ** min(max(failures, 0), _LONGEST_EXPONENT))


def free(now: datetime) -> Q:
    """Rows that nobody holds. A lease that ends later than any given now is from a clock that was set back since."""
    return Q(leased_until__isnull=True) | Q(leased_until__lte=now) | Q(leased_until__gt=now + LEASE + SKEW)


class LeaseLost(Exception):
    """Another worker holds the lease now, or the row is no longer to be worked on."""


@dataclass(slots=True)
class RowLease:
    """A held lease of the one row in `rows`, a queryset that no longer matches once the work must stop."""

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
        """Whether the row still says that this worker holds it."""
        return self.rows.filter(leased_until=self.until).exists()

    def renew(self, **columns: object) -> datetime:
        """Write a later end, and `columns`; return it, for `until` once the transaction commits. Raises LeaseLost."""
        until = timezone.now() + LEASE
        if not self.rows.filter(leased_until=self.until).update(leased_until=until, **columns):
            raise LeaseLost
        return until

    def extend(self) -> None:
        """Hold it for another while. Raises LeaseLost."""
        with self.renewing:
            self.until = self.renew()

    def release(self, *, until: datetime | None = None, **columns: object) -> None:
        """Let the next worker begin, at `until` if given. A lease that was lost stays with its new holder."""
        self.rows.filter(leased_until=self.until).update(leased_until=until, **columns)


@contextmanager
def kept(extend: Callable[[], object], *, name: str, lost: Callable[[Exception], object]) -> Iterator[None]:
    """Call `extend` on a thread again and again while the block runs. Its first error ends that, and goes to `lost`."""
    done = threading.Event()

    def keep() -> None:
        try:
            while not done.wait(EXTEND_SECONDS):
                extend()
        except Exception as error:  # noqa: BLE001 - the holder's next step in the database fails for the same reason
            lost(error)
        finally:
            connections.close_all()

    keeper = threading.Thread(target=keep, name=name, daemon=True)
    keeper.start()
    try:
        yield
    finally:
        done.set()
        keeper.join()

"""One axis of time for all states of a chain: when each was believed, and when it was true. Pure.

Invariant: numbers are thousandths of the axis, as whole numbers in words, so that no locale rewrites them; a bar is
never too short to be seen.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

LENGTH = 1000
_SHORTEST = 6
_TICKS = 4
_BY_CLOCK = timedelta(days=_TICKS)


@dataclass(frozen=True, slots=True)
class Bar:
    """Where a bar begins and how long it is; `open_start`: nobody knows when it began."""

    x: str
    width: str
    open_start: bool = False


@dataclass(frozen=True, slots=True)
class Axis:
    """From `begin` to `end`, with a few days between them to read it by."""

    begin: datetime
    end: datetime

    def bar(self, since: datetime | None, until: datetime | None) -> Bar:
        """The bar from `since` to `until`; None: as far as the axis goes."""
        left = self._place(since or self.begin)
        right = self._place(until or self.end)
        width = max(right - left, _SHORTEST)
        return Bar(str(min(left, LENGTH - width)), str(width), since is None)

    @property
    def by_clock(self) -> bool:
        """Whether days alone would not tell the ticks apart."""
        return self.end - self.begin < _BY_CLOCK

    @property
    def ticks(self) -> tuple[datetime, ...]:
        """Moments at equal distances, from its begin to its end."""
        step = (self.end - self.begin) / _TICKS
        return tuple(self.begin + number * step for number in range(_TICKS + 1))

    def _place(self, moment: datetime) -> int:
        share = (moment - self.begin) / (self.end - self.begin)
        return round(min(max(share, 0.0), 1.0) * LENGTH)


def axis_of(moments: Iterable[datetime | None], *, now: datetime) -> Axis:
    """The axis that all of these fit on; it ends now, or with what is yet to come."""
    known = [moment for moment in moments if moment is not None]
    begin, end = min([*known, now]), max([*known, now])
    return Axis(begin, max(end, begin + timedelta(minutes=1)))

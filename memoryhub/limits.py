"""Quotas of requests and model tokens, leases of places, and a fair share of a process's threads.

A quota gives `limit` units in `window` seconds by the generic cell rate algorithm (ITU-T I.371; ADR 24): all of them at
once to somebody who used none, then one each `window / limit` seconds. Its state is `used_to`, the time up to which the
quota is used: a unit moves it `step` seconds ahead, never past the present, and it lies at most `window` seconds back.

The state is shared by all processes (`memoryhub/limit_store.py`). While the store is away, nothing is refused: a memory
that does not answer because a counter is down would harm everybody, and the share of threads, which needs no store,
still holds.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar
from uuid import UUID

from memoryhub.env.limits import DAY
from memoryhub.limit_store import FOREVER, SLOT, Charge, LimitStore, StoreUnavailable, limit_store

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")
# After a failure the store is not asked for this long: seconds.
AWAY_SECONDS = 5.0
# A place is free this long after its holder's process ended; a holder renews it each KEEP_SECONDS.
PLACE_SECONDS, KEEP_SECONDS = 60, 20.0
PLACES = "places"
# By so much at most the answer to a sender is delayed who does not wait, or asks again before these seconds are over.
BACKOFF_SECONDS, WAITED_SECONDS = 3.0, 10.0
_MOST_REFUSED = 1_000


@dataclass(frozen=True, slots=True)
class Quota:
    """`limit` units in `window` seconds, for whoever `key` names, of which a request takes `units`.

    With no units, a request is refused once the quota is used up, and takes nothing.
    """

    name: str
    key: str
    limit: int
    window: int
    units: int = 1

    @property
    def step(self) -> float:
        """The seconds in which a unit becomes available."""
        return self.window / self.limit

    def charge(self, now: float, *, units: int | None = None, latest: float | None = None) -> Charge:
        """The charge of a request."""
        cost = self.step * (self.units if units is None else units)
        # Sums of floating-point seconds are inexact, so a hundredth of a unit is always there.
        end = now + self.step / 100 if latest is None else latest
        return Charge(f"{self.name}:{self.key}", cost, now - self.window, end)


@dataclass(frozen=True, slots=True)
class QuotaUse:
    """A quota after a request that it let pass, or that did not fit."""

    quota: Quota
    fits: bool
    used_to: float
    now: float

    @property
    def remaining(self) -> int:
        """The units that are left."""
        return max(0, min(self.quota.limit, math.floor((self.now - self.used_to) / self.quota.step + 0.01)))

    @property
    def seconds(self) -> int:
        """The seconds until one unit more is there, or as many as a refused request asked for; at least 1."""
        units = self.remaining + 1 if self.fits else max(self.remaining + 1, min(self.quota.units, self.quota.limit))
        return max(1, math.ceil(self.used_to + units * self.quota.step - self.now))


def take(quotas: Sequence[Quota]) -> list[QuotaUse]:
    """Take the units of a request from all the quotas, or from none; empty if the store is away."""
    now = time.time()
    found = _ask(lambda store: store.take([quota.charge(now) for quota in quotas])) or []
    uses = [QuotaUse(quota, *state, now) for quota, state in zip(quotas, found, strict=False)]
    # No request moves a quota past the present: the clock was set back.
    ahead = [use for use in uses if not use.fits and use.quota.units and use.used_to > now + use.quota.window]
    if ahead and all(map(_make_whole, ahead)):
        return take(quotas)
    return uses


def _make_whole(use: QuotaUse) -> bool | None:
    charge = use.quota.charge(use.now)
    return _ask(lambda store: store.swap(charge.key, use.used_to, charge.floor, lifetime=1))


def spend(quotas: Sequence[Quota]) -> None:
    """Take units that were used already, even if there are fewer; what is owed delays the next request."""
    now = time.time()
    charges = [quota.charge(now, units=min(quota.units, quota.limit), latest=FOREVER) for quota in quotas]
    _ask(lambda store: store.take(charges))


@dataclass(slots=True)
class Place:
    """One of a few places, held until `release`. Without `key`, the store was away and nothing is held."""

    key: str = ""
    used_to: float = 0.0

    def keep(self) -> None:
        """Renew the place if it is time."""
        now = time.time()
        if self.key and now - self.used_to > KEEP_SECONDS:
            self._swap(now)

    def release(self) -> None:
        """Free the place. Does nothing for one that was freed, or that expired and is held by another."""
        if self.key:
            self._swap(time.time() - PLACE_SECONDS)
            self.key = ""

    def _swap(self, new: float) -> None:
        if _ask(lambda store: store.swap(self.key, self.used_to, new, lifetime=PLACE_SECONDS)):
            self.used_to = new


def place_of(key: str, number: int) -> Quota:
    """A place as a quota of one unit, which its holder renews or gives back before it is whole again."""
    return Quota(PLACES, f"{key}:{number}", 1, PLACE_SECONDS)


def take_with_place(quotas: Sequence[Quota], key: str, places: Iterable[int]) -> tuple[list[QuotaUse], Place]:
    """Take all the quotas and the first free place of `key`, or nothing. The last use is that of the place."""
    uses: list[QuotaUse] = []
    for number in places:
        uses = take([*quotas, place_of(key, number)])
        if all(use.fits for use in uses):
            place = Place(uses[-1].quota.charge(0.0).key, uses[-1].used_to) if uses else Place()
            return uses, place
        if not all(use.fits for use in uses[:-1]):
            break
    return uses, Place()


_away_until = 0.0


def _ask(ask: Callable[[LimitStore], Answer]) -> Answer | None:
    """What the store answers, or None if it is away."""
    global _away_until  # noqa: PLW0603 - of this process
    if time.monotonic() < _away_until:
        return None
    try:
        return ask(limit_store())
    except StoreUnavailable as error:
        _away_until = time.monotonic() + AWAY_SECONDS
        log.warning("Nothing is limited for %g seconds: the store of limits did not answer (%s).",
                    AWAY_SECONDS, type(error.__cause__).__name__)  # fmt: skip
        return None


# Counts that the store does not have yet.
_counted: Counter[str] = Counter()
_counting = threading.Lock()


def count(name: str) -> None:
    """Count something, for all processes; while the store is away the counts wait in this process."""
    with _counting:
        _counted[name] += 1
    flush_counts()


def flush_counts() -> None:
    """Store the counts that wait."""
    with _counting:
        waiting = dict(_counted)
        _counted.clear()
    if waiting and _ask(lambda store: store.count(int(time.time() // SLOT), waiting)) is None:
        with _counting:
            _counted.update(waiting)


def counted(since: float, until: float) -> Counter[str]:
    """The counts between these times, in whole slots, by name; empty if the store is away."""
    slots = range(int(since // SLOT) + 1, int(until // SLOT) + 1)
    return _ask(lambda store: store.counts(slots)) or Counter()


def forget_unused() -> None:
    """The job that drops quotas that are whole."""
    _ask(lambda store: store.forget(time.time(), DAY))


@dataclass(slots=True)
class FairShare:
    """How many of this process's threads, or open turns, each tenant uses."""

    places: int = 32
    _used: Counter[UUID] = field(default_factory=Counter)
    _changing: threading.Lock = field(default_factory=threading.Lock)

    def enter(self, tenant_id: UUID) -> bool:
        """Use one more, unless the tenant uses half of them (rounded up) already."""
        with self._changing:
            if self._used[tenant_id] >= math.ceil(self.places / 2):
                return False
            self._used[tenant_id] += 1
            return True

    def leave(self, tenant_id: UUID) -> None:
        """Use one less."""
        with self._changing:
            self._used[tenant_id] -= 1
            if self._used[tenant_id] <= 0:
                del self._used[tenant_id]


@dataclass(slots=True)
class Backoff:
    """How much later this process answers those who do not wait after a refusal.

    The answer comes as late as its sender has gone on for, at most BACKOFF_SECONDS. The first refusals of requests that
    were sent at once are answered at once.
    """

    # By sender: since when they do not wait, and until when they should.
    _refused: dict[str, tuple[float, float]] = field(default_factory=dict)
    _changing: threading.Lock = field(default_factory=threading.Lock)

    def seconds(self, sender: str, wait: float) -> float:
        """Note a refusal that tells the sender to `wait`; the seconds by which its answer is delayed."""
        now = time.monotonic()
        with self._changing:
            since, until = self._refused.get(sender, (now, now))
            since = since if now < until else now
            delay = min(now - since, BACKOFF_SECONDS)
            if len(self._refused) >= _MOST_REFUSED:
                self._refused = {each: times for each, times in self._refused.items() if now < times[1]}
            self._refused[sender] = since, now + delay + min(wait, WAITED_SECONDS)
        return delay


fair_share = FairShare()
backoff = Backoff()
# Turns of streams hold no thread; a process has as many of them as connections.
turn_share = FairShare(1000)

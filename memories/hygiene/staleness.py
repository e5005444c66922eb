"""Staleness: how unreliable a memory has become, 0 to 1, and the status that follows. Pure.

0.4 age + 0.3 disuse + 0.3 open contradiction (the design's weights). Over 0.7 a memory is stale and ranks half, over
0.9 it is proposed for eviction. Age and disuse together never make a memory stale: that takes a contradiction. A
missed confirmation is handled by the memory's dates (`hygiene/expiry.py`). The scan reverts only what a scan did, so
it and the collection (`hygiene/endings.py`), which doubts memories of low confidence, never undo each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from memories.hygiene.expiry import About, Lifetime, lifetime_of
from memories.types import Status

AGE_WEIGHT, DISUSE_WEIGHT, CONTRADICTION_WEIGHT = 0.4, 0.3, 0.3
STALE_OVER, EVICT_OVER = 0.7, 0.9
# Stored to a hundredth: what only grew a day older is not written again every day.
DIGITS = 2
USE_WINDOW = timedelta(days=30)
# A memory that matters comes up about every second week.
EXPECTED_USES = 2
# What cannot change does not age. Everything else of lasting kind is asked about once a year (`FactClass.ENTITY`).
PERMANENT_KEYS = frozenset(
    """
    birthday birth_date date_of_birth birthplace place_of_birth birth_name native_language mother_tongue blood_type
    """.split()
)


@dataclass(frozen=True, slots=True)
class StalenessInputs:
    """What of a current memory decides. `due_at`: when it is to be confirmed at the latest; None: it does not age.

    `scanned` is the staleness that the last scan found; `uses` are those of the window, of which there can have been
    more; `asked`: whether its owner recalled anything in the window at all. `doubtful`: see `hygiene/endings.py`.
    """

    status: str
    since: datetime
    confirmed_at: datetime
    due_at: datetime | None = None
    uses: int = 0
    asked: bool = True
    contradicted: bool = False
    doubtful: bool = False
    scanned: float | None = None


def staleness(standing: StalenessInputs, *, now: datetime) -> float:
    """0 for a reliable memory, 1 for an old, unused and contradicted one; to a hundredth."""
    total = (
        AGE_WEIGHT * age(standing.confirmed_at, standing.due_at, now=now)
        + DISUSE_WEIGHT * (disuse(standing.uses, standing.since, now=now) if standing.asked else 0.0)
        + CONTRADICTION_WEIGHT * standing.contradicted
    )
    return round(total, DIGITS)


def age(confirmed_at: datetime, due_at: datetime | None, *, now: datetime) -> float:
    """0 at the confirmation, 1 from the day on which the next one is due; 0 for a memory that does not age."""
    if due_at is None or now <= confirmed_at:
        return 0.0
    if due_at <= confirmed_at:
        return 1.0
    return min(1.0, (now - confirmed_at) / (due_at - confirmed_at))


def disuse(uses: int, since: datetime, *, now: datetime) -> float:
    """The share of the expected uses that did not come; of a young memory as many are expected as it had time for."""
    had_time = min(1.0, max(0.0, (now - since) / USE_WINDOW))
    return min(1.0, max(0.0, had_time - uses / EXPECTED_USES))


def due_of_fact(
    about: About,
    rules: Mapping[str, Lifetime],
    *,
    confirmed_at: datetime,
    review_after: datetime | None,
    expires_at: datetime | None,
    valid_to: datetime | None,
    pinned: bool,
) -> datetime | None:
    """When a fact needs its next confirmation: by its own dates, else by its class; None: never.

    Pinned facts, permanent keys, and facts whose owner set an end (`valid_to`) do not age.
    """
    if pinned or valid_to is not None or about.key.casefold() in PERMANENT_KEYS:
        return None
    if review_after or expires_at:
        return review_after or expires_at
    lifetime = lifetime_of(about, rules)
    days = lifetime.soft_days or lifetime.hard_days or lifetime.review_days
    return None if days is None else confirmed_at + timedelta(days=days)


def status_after(standing: StalenessInputs, found: float) -> str:
    """The status that follows. What another hand made stale stays so until it is confirmed."""
    if found > STALE_OVER:
        return Status.STALE
    by_scan = standing.scanned is not None and standing.scanned > STALE_OVER
    if standing.status == Status.STALE and by_scan and not standing.doubtful:
        return Status.ACTIVE
    return standing.status

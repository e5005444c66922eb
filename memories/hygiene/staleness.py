"""Staleness: how far a memory is from what can be relied on, 0 to 1, and the status that follows from it. Pure.

0.4 age + 0.3 disuse + 0.3 open contradiction (the design's weights). Over 0.7 a memory is stale and ranks half, over
0.9 it is proposed for eviction. So neither age nor disuse alone makes anything stale, not even both together: somebody
has to have said otherwise. What merely was not confirmed in time is the business of its dates (`hygiene/expiry.py`).
Invariant: the scan takes back only what a scan did, so it and the collection (`hygiene/endings.py`), which doubts
memories of little confidence, never undo each other.
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
    """0 for what can be relied on, 1 for what is old, unused and contradicted; to a hundredth."""
    total = (
        AGE_WEIGHT * age(standing.confirmed_at, standing.due_at, now=now)
        + DISUSE_WEIGHT * (disuse(standing.uses, standing.since, now=now) if standing.asked else 0.0)
        + CONTRADICTION_WEIGHT * standing.contradicted
    )
    return round(total, DIGITS)


def age(confirmed_at: datetime, due_at: datetime | None, *, now: datetime) -> float:
    """0 when it was confirmed, 1 from the day on which it is to be confirmed again; 0 for what does not age."""
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
    """When a fact is to be confirmed at the latest: by its own dates, else as its class says; None: never.

    What is pinned matters for as long as it is pinned; what its owner told the end of is believed in full until then,
    and is history afterwards; what cannot change is permanent.
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

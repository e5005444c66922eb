"""Which memory ends now, how and why. Pure.

Invariant: a memory has one ending at a time, and none that leads back: what was evicted is only ever erased, so a
second look at the same moment finds nothing more to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from memories.constants import ARCHIVE_AFTER, DOUBTFUL_AFTER, DOUBTFUL_CONFIDENCE, ERASE_EVICTED_AFTER, SOFT_UNUSED
from memories.types import CURRENT, Status


class Ending(StrEnum):
    """What is done to a memory. All but the last can be undone."""

    EVICTED = "evicted"
    ARCHIVED = "archived"
    STALE = "stale"
    ERASED = "erased"


class Cause(StrEnum):
    """Why, as the audit and the report say it."""

    EXPIRED = "its time is over"
    UNUSED = "not confirmed in time, and not used"
    REPLACED = "replaced long ago"
    DOUBTFUL = "doubtful, and never confirmed"
    OVERDUE = "evicted long ago"


@dataclass(frozen=True, slots=True)
class EndingDecision:
    """One ending and its cause."""

    ending: Ending
    cause: Cause


@dataclass(frozen=True, slots=True)
class Life:
    """What of a memory decides its end. Playbooks have no confidence and no dates of expiry.

    `brought_back`: its owner took it out of the archive, where it is not put again.
    """

    status: str
    confirmed_at: datetime
    confidence: float = 1.0
    pinned: bool = False
    valid_to: datetime | None = None
    last_used_at: datetime | None = None
    review_after: datetime | None = None
    expires_at: datetime | None = None
    superseded_at: datetime | None = None
    archived_at: datetime | None = None
    evicted_at: datetime | None = None
    evicted_from: str = ""
    brought_back: bool = False


def decide(life: Life, *, now: datetime, keep_superseded: bool) -> EndingDecision | None:
    """What to do with a memory at `now`; None: leave it. `keep_superseded`: the tenant keeps what was replaced."""
    if life.status == Status.EVICTED:
        erased = may_be_erased(life, now=now, keep_superseded=keep_superseded)
        return EndingDecision(Ending.ERASED, Cause.OVERDUE) if erased else None
    if life.status == Status.SUPERSEDED:
        return None if keep_superseded else _of_superseded(life, now)
    return _of_current(life, now) if life.status in CURRENT else None


def may_be_erased(life: Life, *, now: datetime, keep_superseded: bool) -> bool:
    """Whether an evicted memory may be erased for good: the one place to ask, and where whatever holds it is obeyed."""
    if keep_superseded and life.evicted_from == Status.SUPERSEDED:
        return False
    return life.evicted_at is not None and life.evicted_at <= now - ERASE_EVICTED_AFTER


def is_doubtful(confidence: float, confirmed_at: datetime, *, pinned: bool, now: datetime) -> bool:
    """Whether a memory is believed little and was not confirmed for long; none is that somebody pinned."""
    return not pinned and confidence < DOUBTFUL_CONFIDENCE and confirmed_at <= now - DOUBTFUL_AFTER


def _of_superseded(life: Life, now: datetime) -> EndingDecision | None:
    if _is_over(life, now):
        return EndingDecision(Ending.EVICTED, Cause.EXPIRED)
    long_ago = life.superseded_at is not None and life.superseded_at <= now - ARCHIVE_AFTER
    if long_ago and life.archived_at is None and not life.brought_back:
        return EndingDecision(Ending.ARCHIVED, Cause.REPLACED)
    return None


def _of_current(life: Life, now: datetime) -> EndingDecision | None:
    if _is_over(life, now):
        return EndingDecision(Ending.EVICTED, Cause.EXPIRED)
    if life.pinned:
        return None
    if _is_unused(life, now):
        return EndingDecision(Ending.EVICTED, Cause.UNUSED)
    if life.status == Status.ACTIVE and is_doubtful(life.confidence, life.confirmed_at, pinned=life.pinned, now=now):
        return EndingDecision(Ending.STALE, Cause.DOUBTFUL)
    return None


def _is_over(life: Life, now: datetime) -> bool:
    return life.expires_at is not None and life.expires_at <= now


def _is_unused(life: Life, now: datetime) -> bool:
    """A memory that reached the end its owner stated is history, and is kept; other overdue memories are not."""
    if life.review_after is None or life.review_after > now or life.valid_to is not None:
        return False
    return (life.last_used_at or life.confirmed_at) <= now - SOFT_UNUSED

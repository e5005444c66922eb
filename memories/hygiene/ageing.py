"""Lifetimes of facts, staleness of memories, and the decision which memories end. Pure.

There are three classes of lifetime. Preferences may change (soft: they rank lower until confirmed). Learnings from a
task are useless after it (hard: they are removed). Everything else holds until changed (it is only listed for review).
A tenant's rules, by class or category, replace these. Explicit dates are kept; all others count from the last
confirmation.

Staleness is 0.4 age + 0.3 disuse + 0.3 open contradiction (the design's weights). Above 0.7 a memory is stale and ranks
half; above 0.9 it is proposed for eviction. Age and disuse together cannot exceed 0.7, so only a contradicted memory
becomes stale; a missed confirmation takes effect through the memory's dates. A scan reverts only what a scan did, so it
never conflicts with garbage collection, which marks memories of low confidence as stale.

An evicted memory can only be erased, so a second `decide` at the same moment finds nothing more to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from memories.constants import ARCHIVE_AFTER, DOUBTFUL_AFTER, DOUBTFUL_CONFIDENCE, ERASE_EVICTED_AFTER, SOFT_UNUSED
from memories.types import CURRENT, Scope, Source, Status


class FactClass(StrEnum):
    """Classes of facts with different lifetimes, used where no rule names the category."""

    PREFERENCE = "preference"
    TASK_LEARNING = "task_learning"
    ENTITY = "entity"


@dataclass(frozen=True, slots=True)
class Lifetime:
    """Days since the last confirmation, or None for never.

    Soft: ranks lower. Hard: removed. Review: listed for the owner.
    """

    soft_days: int | None = None
    hard_days: int | None = None
    review_days: int | None = None


@dataclass(frozen=True, slots=True)
class About:
    """The attributes of a fact that determine its class."""

    category: str
    key: str
    source: str
    scope: str
    text: str


@dataclass(frozen=True, slots=True)
class Dates:
    """After `review_after` a fact ranks like a stale one until it is confirmed; at `expires_at` it expires."""

    review_after: datetime | None = None
    expires_at: datetime | None = None


# The design's defaults.
DEFAULTS: Mapping[str, Lifetime] = {
    FactClass.PREFERENCE: Lifetime(soft_days=90),
    FactClass.TASK_LEARNING: Lifetime(hard_days=30),
    FactClass.ENTITY: Lifetime(review_days=365),
}

_PREFERENCE_CATEGORIES = frozenset(
    "preference preferences taste tastes food drink drinks favourite favourites favorite favorites".split()
)
_PREFERENCE_KEYS = ("favourite_", "favorite_", "preferred_", "preference")
_PREFERENCE_WORDS = ("prefers ", "would rather ")
_TASK_CATEGORIES = frozenset(("task", "tasks", "to do", "to_do", "todo"))


def class_of(about: About) -> FactClass:
    """Return the class of a fact. A memory of a task is a task learning, whatever its subject."""
    category = about.category.casefold()
    if about.scope == Scope.TASK or about.source == Source.TASK_OUTCOME or category in _TASK_CATEGORIES:
        return FactClass.TASK_LEARNING
    if (
        category in _PREFERENCE_CATEGORIES
        or about.key.casefold().startswith(_PREFERENCE_KEYS)
        or about.text.lstrip().casefold().startswith(_PREFERENCE_WORDS)
    ):
        return FactClass.PREFERENCE
    return FactClass.ENTITY


def lifetime_of(about: About, rules: Mapping[str, Lifetime]) -> Lifetime:
    """Return the lifetime of a fact: by the tenant's rule for its category, else for its class, else the default."""
    kind = class_of(about)
    return rules.get(about.category.casefold()) or rules.get(kind) or DEFAULTS[kind]


def stamp(
    about: About,
    rules: Mapping[str, Lifetime],
    *,
    confirmed_at: datetime,
    pinned: bool = False,
    valid_to: datetime | None = None,
    given: Dates = Dates(),
) -> Dates:
    """Return the dates of a fact confirmed at `confirmed_at`; `given` dates are kept.

    A pinned fact has only given dates. A fact with an end set by its owner (`valid_to`) has its full weight until then
    and is history afterwards; one that ended before it was learned does not age.
    """
    if pinned:
        return given
    if valid_to is not None:
        return Dates(given.review_after or (valid_to if valid_to > confirmed_at else None), given.expires_at)
    lifetime = lifetime_of(about, rules)
    return Dates(
        given.review_after or _after(confirmed_at, lifetime.soft_days),
        given.expires_at or _after(confirmed_at, lifetime.hard_days),
    )


def wants_review(
    about: About, rules: Mapping[str, Lifetime], *, confirmed_at: datetime, review_after: datetime | None, now: datetime
) -> bool:
    """True if the owner should be asked whether the fact still holds."""
    listed_at = review_after or _after(confirmed_at, lifetime_of(about, rules).review_days)
    return listed_at is not None and listed_at <= now


def _after(moment: datetime, days: int | None) -> datetime | None:
    return None if days is None else moment + timedelta(days=days)


AGE_WEIGHT, DISUSE_WEIGHT, CONTRADICTION_WEIGHT = 0.4, 0.3, 0.3
STALE_OVER, EVICT_OVER = 0.7, 0.9
# Rounded to hundredths, so that one more day of age rarely requires a write.
DIGITS = 2
USE_WINDOW = timedelta(days=30)
# A relevant memory is recalled about every two weeks.
EXPECTED_USES = 2
# Unchangeable facts do not age. Other lasting facts are reviewed once a year (`FactClass.ENTITY`).
PERMANENT_KEYS = frozenset(
    """
    birthday birth_date date_of_birth birthplace place_of_birth birth_name native_language mother_tongue blood_type
    """.split()
)


@dataclass(frozen=True, slots=True)
class StalenessInputs:
    """The state of a current memory that determines its staleness.

    `due_at`: when its next confirmation is due, or None if it does not age. `scanned`: its staleness in the last scan.
    `uses`: recorded uses within USE_WINDOW, perhaps incomplete. `asked`: whether its owner recalled anything in that
    time. `doubtful`: see `is_doubtful`.
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
    """Return 0 for a reliable memory, up to 1 for an old, unused and contradicted one; rounded to hundredths."""
    total = (
        AGE_WEIGHT * age(standing.confirmed_at, standing.due_at, now=now)
        + DISUSE_WEIGHT * (disuse(standing.uses, standing.since, now=now) if standing.asked else 0.0)
        + CONTRADICTION_WEIGHT * standing.contradicted
    )
    return round(total, DIGITS)


def age(confirmed_at: datetime, due_at: datetime | None, *, now: datetime) -> float:
    """Return 0 at the confirmation, rising to 1 when the next one is due; 0 for a memory that does not age."""
    if due_at is None or now <= confirmed_at:
        return 0.0
    if due_at <= confirmed_at:
        return 1.0
    return min(1.0, (now - confirmed_at) / (due_at - confirmed_at))


def disuse(uses: int, since: datetime, *, now: datetime) -> float:
    """Return the share of expected uses that did not occur; a young memory is expected to have fewer."""
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
    """Return when a fact needs its next confirmation: by its own dates, else by its class; None for never.

    Pinned facts, permanent keys, and facts with an end set by their owner (`valid_to`) do not age.
    """
    if pinned or valid_to is not None or about.key.casefold() in PERMANENT_KEYS:
        return None
    if review_after or expires_at:
        return review_after or expires_at
    lifetime = lifetime_of(about, rules)
    days = lifetime.soft_days or lifetime.hard_days or lifetime.review_days
    return None if days is None else confirmed_at + timedelta(days=days)


def status_after(standing: StalenessInputs, found: float) -> str:
    """Return the new status. Staleness that was not set by a scan remains until the memory is confirmed."""
    if found > STALE_OVER:
        return Status.STALE
    by_scan = standing.scanned is not None and standing.scanned > STALE_OVER
    if standing.status == Status.STALE and by_scan and not standing.doubtful:
        return Status.ACTIVE
    return standing.status


class Ending(StrEnum):
    """Actions that end a memory or mark it as stale. All but the last can be undone."""

    EVICTED = "evicted"
    ARCHIVED = "archived"
    STALE = "stale"
    ERASED = "erased"


class Cause(StrEnum):
    """The reason, as worded in the audit log and the report."""

    EXPIRED = "its time is over"
    UNUSED = "not confirmed in time, and not used"
    REPLACED = "replaced long ago"
    DOUBTFUL = "doubtful, and never confirmed"
    OVERDUE = "evicted long ago"


@dataclass(frozen=True, slots=True)
class EndingDecision:
    """An action and its cause."""

    ending: Ending
    cause: Cause


@dataclass(frozen=True, slots=True)
class Life:
    """The state of a memory that determines its end. Playbooks have no confidence and no expiry.

    `brought_back`: its owner restored it from the archive, so it is not archived again.
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
    """Decide what to do with a memory at `now`, or None. `keep_superseded`: the tenant keeps superseded memories."""
    if life.status == Status.EVICTED:
        erased = may_be_erased(life, now=now, keep_superseded=keep_superseded)
        return EndingDecision(Ending.ERASED, Cause.OVERDUE) if erased else None
    if life.status == Status.SUPERSEDED:
        return None if keep_superseded else _of_superseded(life, now)
    return _of_current(life, now) if life.status in CURRENT else None


def may_be_erased(life: Life, *, now: datetime, keep_superseded: bool) -> bool:
    """True if an evicted memory may be erased permanently."""
    if keep_superseded and life.evicted_from == Status.SUPERSEDED:
        return False
    return life.evicted_at is not None and life.evicted_at <= now - ERASE_EVICTED_AFTER


def is_doubtful(confidence: float, confirmed_at: datetime, *, pinned: bool, now: datetime) -> bool:
    """True for an unpinned memory of low confidence that has not been confirmed for a long time."""
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
    """True for a memory that is overdue and unused, unless its owner set its end: then it is kept as history."""
    if life.review_after is None or life.review_after > now or life.valid_to is not None:
        return False
    return (life.last_used_at or life.confirmed_at) <= now - SOFT_UNUSED

"""How long facts live, by what they are about. Pure.

Three classes: a preference may change (soft: after a while it ranks lower until it is confirmed); a learning from a
task is useless after it (hard: then it is gone); everything else holds until somebody says otherwise (it is only
listed for review). A tenant's rules, by class or by category, replace these. A given date is never moved; the others
count from the last confirmation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from memories.types import Scope, Source


class FactClass(StrEnum):
    """What decides how long a fact lives, where no rule names its category."""

    PREFERENCE = "preference"
    TASK_LEARNING = "task_learning"
    ENTITY = "entity"


@dataclass(frozen=True, slots=True)
class Lifetime:
    """Days since the last confirmation; None: never. Soft: ranks lower. Hard: removed. Review: listed for the owner."""

    soft_days: int | None = None
    hard_days: int | None = None
    review_days: int | None = None


@dataclass(frozen=True, slots=True)
class About:
    """What of a fact decides its class."""

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


# The design's defaults (days).
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
    """The class of a fact. A memory of a task is a task learning, whatever its subject."""
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
    """How long such a fact lives: by the tenant's rule for its category, else for its class, else by default."""
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
    """The dates of a fact confirmed at `confirmed_at`; `given` dates are kept.

    A pinned fact has only given dates. A fact whose owner set an end (`valid_to`) is fully believed until then and is
    history afterwards; one that had ended before it was learned does not age.
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
    """True if the owner should be asked whether it still holds."""
    listed_at = review_after or _after(confirmed_at, lifetime_of(about, rules).review_days)
    return listed_at is not None and listed_at <= now


def _after(moment: datetime, days: int | None) -> datetime | None:
    return None if days is None else moment + timedelta(days=days)

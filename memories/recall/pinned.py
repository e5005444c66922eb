"""In which order pinned facts go into the prompt, which holds only so many. Pure.

Invariant: what must hold and who somebody is come before anything else, however often that was of use.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Protocol, TypeVar

# The first group that a fact's key or category is in places it, and its place in the group orders it there.
_GROUPS: tuple[tuple[str, ...], ...] = (
    ("constraint", "constraints", "rule", "rules", "boundary", "boundaries", "must", "never", "safety"),
    (
        *("name", "preferred_name", "first_name", "full_name", "last_name", "nickname", "pronouns", "pronoun"),
        *("language", "preferred_language", "native_language", "languages", "birthday", "age", "identity"),
    ),
    (
        *("allergy", "allergies", "allergic", "medication", "medications", "condition", "health", "medical"),
        *("blood_type", "diet", "dietary", "accessibility", "emergency_contact"),
    ),
)
# "Programming language" and "company name" say nothing of who somebody is.
_IDENTITY = 1


class Pinnable(Protocol):
    """What is looked at of a fact."""

    pk: Any
    key: str
    category: str
    use_count: int
    learned_at: datetime


Fact = TypeVar("Fact", bound=Pinnable)


def foremost(facts: Iterable[Fact]) -> list[Fact]:
    """Constraints, identity, health; then the rest by use, and the newest first among those used alike."""
    return sorted(facts, key=_order)


def _order(fact: Pinnable) -> tuple[int, int, int, float, str]:
    group, place = _place(fact.key, fact.category)
    return group, place, -fact.use_count, -fact.learned_at.timestamp(), str(fact.pk)


def _place(key: str, category: str) -> tuple[int, int]:
    for named in (key.casefold(), category.casefold()):
        for group, names in enumerate(_GROUPS):
            found = _named(named, names, parts=group != _IDENTITY)
            if found is not None:
                return group, found
    return len(_GROUPS), 0


def _named(name: str, names: Sequence[str], *, parts: bool) -> int | None:
    """The place of a name: itself or, with `parts`, what it is made of ("allergy_peanuts", "food_allergies")."""
    if name in names:
        return names.index(name)
    made_of = name.split("_") if parts else []
    return next((place for place, each in enumerate(names) if each in made_of), None)

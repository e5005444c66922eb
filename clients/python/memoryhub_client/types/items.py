"""Items: the values that programs put under a namespace and a key."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Item:
    """A value under a namespace and a key. `version` grows with each put and deletion.

    `index`: which texts of the value a search with a query reads: all, none, or those at the paths.
    """

    id: str
    namespace: list[str]
    key: str
    value: Any
    version: int
    app: str
    ttl_minutes: float | None
    expires_at: datetime | None
    sensitivity: dict[str, str]
    created_at: datetime
    updated_at: datetime
    index: bool | list[str] = True  # as from a server that does not say


@dataclass(frozen=True, kw_only=True)
class FoundItem(Item):
    """An item that a search found; `score` is None if the search had no query."""

    score: float | None


@dataclass(frozen=True, kw_only=True)
class FoundItems:
    """The answer of a search. `degraded`: the search index did not respond, so better ones may be missing."""

    results: list[FoundItem]
    degraded: bool


@dataclass(frozen=True, kw_only=True)
class Namespaces:
    """Namespaces, each as a list of labels."""

    results: list[list[str]]


@dataclass(frozen=True, kw_only=True)
class ItemEvent:
    """One change of an item. `value` is what was put: None after a deletion, and once it is erased."""

    id: str
    item_id: str
    action: str
    at: datetime
    actor: str
    version: int | None
    value: Any
    erased: bool


@dataclass(frozen=True, kw_only=True)
class Deleted:
    """The result of a deletion; `deleted` is false if there was no item."""

    deleted: bool


@dataclass(frozen=True, kw_only=True)
class Erased:
    """An erased item, which cannot be brought back."""

    erased: bool

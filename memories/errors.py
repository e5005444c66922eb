"""The errors of memories: one base; a message says what was wrong and what to do, never another owner's text."""

from __future__ import annotations

from dataclasses import dataclass

from memories.types import SensitiveKind


class MemoriesError(Exception):
    """Base of all errors that the services and the recall pipeline raise on purpose."""


class InvalidInput(MemoriesError):
    """A value that cannot be stored or asked; `field` names it, `reason` says what to do. Nothing was stored."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a value lies that may not be stored: characters `start` to `end` of `field`. Never the value itself."""

    field: str
    kind: SensitiveKind
    start: int
    end: int


class Blocked(MemoriesError):
    """A memory holds values that may not be stored, at `spots`. Nothing was stored."""

    def __init__(self, spots: tuple[Spot, ...]) -> None:
        kinds = ", ".join(sorted({spot.kind.value.replace("_", " ") for spot in spots}))
        super().__init__(f"This holds what is not stored ({kinds}); take it out and send the rest.")
        self.spots = spots


class NotFound(MemoriesError):
    """No such memory, session or message *for this principal*: unknown ids and ids of others look the same."""

    def __init__(self, what: str) -> None:
        super().__init__(f"No such {what}.")
        self.what = what


class Conflict(MemoriesError):
    """The memory is no longer in the state that the request assumed (already superseded, already forgotten)."""


class SearchUnavailable(MemoriesError):
    """The search plane did not answer; callers degrade to what the database can serve."""


class SearchForbidden(MemoriesError):
    """Nothing may be searched for this principal now: their key is missing, revoked or refused. Nothing replaces it."""


class ModelUnavailable(MemoriesError):
    """The language model did not give a usable answer; what the user said is already stored."""

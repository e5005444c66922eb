"""The errors of memories, with one base.

A message says what was wrong and what to do, and never holds another owner's text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from memories.types import SensitiveKind


class MemoriesError(Exception):
    """Base of all errors that the services and the recall pipeline raise on purpose."""


class InvalidInput(MemoriesError):
    """An invalid argument: `field` names it, `reason` says what to do. Nothing was stored."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Spot:
    """The position of a forbidden value: characters `start` to `end` of `field`. The value itself is never included."""

    field: str
    kind: SensitiveKind
    start: int
    end: int


class Blocked(MemoriesError):
    """The text holds values that may not be stored, at `spots`. Nothing was stored."""

    def __init__(self, spots: tuple[Spot, ...]) -> None:
        kinds = ", ".join(sorted({spot.kind.value.replace("_", " ") for spot in spots}))
        super().__init__(f"This holds what is not stored ({kinds}); take it out and send the rest.")
        self.spots = spots


class NotFound(MemoriesError):
    """No such memory, session or message for this principal.

    Unknown ids and ids of other owners give the same error. `field` names the argument whose ids hold an unknown one.
    """

    def __init__(self, what: str, field: str = "") -> None:
        super().__init__(f"No such {what}.")
        self.what = what
        self.field = field


Row = TypeVar("Row")


def existing(row: Row | None, what: str) -> Row:
    """`row`, if there is one. Raises NotFound."""
    if row is None:
        raise NotFound(what)
    return row


class Conflict(MemoriesError):
    """The memory is no longer in the state that the request assumed, for example already superseded or erased."""


class KeyInFlight(MemoriesError):
    """The first request with this idempotency key is still being carried out."""

    def __init__(self) -> None:
        super().__init__("The first request with this Idempotency-Key is still being carried out. Ask again shortly.")


class KeyReused(MemoriesError):
    """The idempotency key came with another request before."""

    def __init__(self) -> None:
        super().__init__("This Idempotency-Key came with another request before. Take a new key for each request.")


class AnswerGone(MemoriesError):
    """The request with this idempotency key was carried out, and its answer is not kept."""

    def __init__(self) -> None:
        super().__init__(
            "The request with this Idempotency-Key was carried out, and its answer is no longer kept. Nothing was done"
            " again: read what is stored."
        )


class LimitExceeded(MemoriesError):
    """The request is beyond a limit, so nothing was done. `limits` are their names.

    `headers` tell the caller when to try again: `Retry-After`, `RateLimit`, `RateLimit-Policy`.
    """

    def __init__(self, message: str, limits: tuple[str, ...], headers: Mapping[str, str]) -> None:
        super().__init__(message)
        self.limits = limits
        self.headers = headers


class SearchUnavailable(MemoriesError):
    """The search plane did not answer. Callers fall back to the database."""


class SearchForbidden(MemoriesError):
    """The principal may not search now: their key is missing, revoked or refused. There is no fallback."""


class ModelUnavailable(MemoriesError):
    """The language model gave no usable answer. The user's message is already stored."""

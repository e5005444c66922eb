"""Outages: an agent goes on without memory. And `beginning`, which cuts a text to what the server takes."""

from __future__ import annotations

import logging
from typing import Literal, TypeVar

from memoryhub_client.errors import ApiError, ConnectionFailed, MemoryhubError
from memoryhub_client.sansio import Procedure

T = TypeVar("T")

OnOutage = Literal["continue", "raise"]

# In characters, of a message or a query that the server takes.
LONGEST = 32_000
_TOO_MANY_REQUESTS = 429
_logger = logging.getLogger(__name__)


def beginning(text: str) -> str:
    """What the server takes of a text."""
    return text[:LONGEST]


def optional(procedure: Procedure[T], on_outage: OnOutage) -> Procedure[T | None]:
    """Carry out the procedure; in an outage, log a warning and return None, or raise.

    Refusals raise in any case: a wrong key is a fault of the set-up, and no outage.
    """
    try:
        return (yield from procedure)
    except MemoryhubError as error:
        if on_outage == "raise" or not is_outage(error):
            raise
        _logger.warning("memoryhub does not answer, so the agent goes on without it: %s", error)
        return None


def is_outage(error: MemoryhubError) -> bool:
    """Whether the same call may succeed later: no whole answer in time, 429 or 5xx."""
    if isinstance(error, ApiError):
        return error.status == _TOO_MANY_REQUESTS or error.status >= 500  # noqa: PLR2004 - RFC 9110
    return isinstance(error, ConnectionFailed)

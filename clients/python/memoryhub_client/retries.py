"""When a request is sent again, and after which time. Pure: the clients send and wait."""

from __future__ import annotations

import random
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Union

import httpx

from memoryhub_client.errors import failed, refused, retry_after

# Statuses of requests that were not carried out, or that their Idempotency-Key protects.
_AGAIN = frozenset({429, 503})
# The answer to a repeated request while the first one is still carried out.
_IN_FLIGHT = "request-in-flight"

Outcome = Union[httpx.Response, httpx.TransportError, None]  # noqa: UP007 - read at run time, also by Python 3.10


@dataclass(frozen=True)
class Retries:
    """How often a request is sent again, and the times between, in seconds."""

    most: int = 3
    first: float = 0.5
    longest: float = 8.0
    # Rather than wait longer than this for the server's Retry-After, the call fails.
    patience: float = 60.0

    def delay(self, outcome: httpx.Response | httpx.TransportError, attempt: int) -> float | None:
        """Seconds to wait after this attempt (from 0); None: give up."""
        if attempt >= self.most:
            return None
        backoff = min(self.first * 2.0**attempt, self.longest) * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
        if isinstance(outcome, httpx.TransportError):
            return backoff
        if outcome.status_code not in _AGAIN and refused(outcome).type != _IN_FLIGHT:
            return None
        asked = retry_after(outcome)
        if asked is None:
            return backoff
        return None if asked > self.patience else asked


def pauses(within: float) -> Iterator[float]:
    """The seconds between looks at something that goes on in the background; none that ends after `within`."""
    end = time.monotonic() + within
    for number in count():
        pause = min(0.1 * 2.0**number, 2.0)
        if time.monotonic() + pause > end:
            return
        yield pause


def attempts(request: httpx.Request, retries: Retries) -> Generator[httpx.Request | float, Outcome, httpx.Response]:
    """Yields the request to send, or seconds to wait; returns the response. Raises MemoryhubError.

    Every request is safe or has an Idempotency-Key, so that each may be repeated, also without an answer.
    """
    for attempt in count():
        outcome = yield request
        if isinstance(outcome, httpx.Response) and not outcome.is_error:
            return outcome
        if outcome is None:
            raise TypeError("A request was answered with nothing.")
        delay = retries.delay(outcome, attempt)
        if delay is None:
            if isinstance(outcome, httpx.Response):
                raise refused(outcome)
            raise failed(outcome, request) from outcome
        yield delay
    raise AssertionError("unreachable")

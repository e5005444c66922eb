"""Calls of a JSON API that the operator named: deadlines, retries, and a pause after failures.

No error and no log holds the address, the key, or a word that was sent or received.
"""

from __future__ import annotations

import functools
import json
import logging
import ssl
import time
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import httpx

from memoryhub.jobs import Unavailable
from memoryhub.observability import tracing

log = logging.getLogger(__name__)

# A caller that somebody waits for does not ask an endpoint that failed less than this ago: seconds.
PAUSE_SECONDS = 5.0
RETRY_SECONDS = 0.5
# A longer Retry-After is not obeyed: seconds.
MAX_RETRY_AFTER_SECONDS = 20.0
CONNECT_SECONDS = 5.0
# 256 vectors of 4,096 numbers as text take 24 MB.
MAX_ANSWER_BYTES = 64 * 2**20
_MAX_FAULT_BYTES = 4_096
# With these statuses the endpoint refused what was sent; others are of the endpoint, the key or the address.
_OF_WORDS = (HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNPROCESSABLE_ENTITY)
_PASSING = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS)


class EndpointFault(Unavailable):
    """The endpoint gave no usable answer, for `reason`, a few words or a status; `retry_after` is in seconds."""

    def __init__(self, reason: str, *, may_pass: bool = True, retry_after: float = 0.0) -> None:
        super().__init__(f"The endpoint of a model gave no usable answer: {reason}.")
        self.may_pass = may_pass
        self.retry_after = retry_after


class RequestRefused(Exception):
    """The endpoint refused this request, as it would again. `said` is its answer, for the caller alone."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(f"status-{status}")
        self.said = said


class JsonEndpoint:
    """One endpoint. Safe to share between threads; it keeps its connections."""

    def __init__(self, name: str, url: str, key: str) -> None:
        self.name = name
        self._url = url.rstrip("/")
        self._headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        self._client = httpx.Client(verify=_trusted(), follow_redirects=False)
        self._away_until = 0.0

    @property
    def is_away(self) -> bool:
        """True for PAUSE_SECONDS after a failure."""
        return time.monotonic() < self._away_until

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def post(self, path: str, body: Mapping[str, Any], *, seconds: float, retries: int = 0) -> Any:
        """The JSON that the endpoint answers. One attempt takes `seconds` at most.

        Without retries somebody waits, so an endpoint that is away is not asked. Raises EndpointFault, RequestRefused.
        """
        if not retries and self.is_away:
            raise EndpointFault("away")
        for attempt in range(retries + 1):
            try:
                with tracing.span("endpoint", endpoint=self.name):
                    answer = self._once(path, body, seconds)
            except EndpointFault as fault:
                self._away_until = time.monotonic() + PAUSE_SECONDS
                log.warning("endpoint %s: %s", self.name, fault)
                pause = max(RETRY_SECONDS * 2**attempt, fault.retry_after)
                if attempt == retries or not fault.may_pass or pause > MAX_RETRY_AFTER_SECONDS:
                    raise
                time.sleep(pause)
            else:
                self._away_until = 0.0
                return answer
        raise AssertionError("The last attempt returns or raises.")

    def _once(self, path: str, body: Mapping[str, Any], seconds: float) -> Any:
        ends = time.monotonic() + seconds
        timeout = httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS))
        headers = self._headers | tracing.headers()
        sent = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        try:
            with self._client.stream(
                "POST", f"{self._url}/{path}", content=sent, headers=headers, timeout=timeout
            ) as answer:
                fine = answer.status_code == HTTPStatus.OK
                received = _received(answer, ends, MAX_ANSWER_BYTES if fine else _MAX_FAULT_BYTES)
                if not fine:
                    raise _fault_of(answer, received)
        except httpx.TimeoutException:
            raise EndpointFault("timeout") from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            raise EndpointFault(type(error).__name__) from None
        try:
            return json.loads(received)
        except (ValueError, RecursionError):
            raise EndpointFault("unreadable") from None


def _received(answer: httpx.Response, ends: float, most: int) -> bytes:
    body = bytearray()
    for piece in answer.iter_bytes():
        body += piece
        if time.monotonic() > ends:
            raise EndpointFault("timeout")
        if len(body) > most:
            if answer.status_code != HTTPStatus.OK:
                break
            raise EndpointFault("too-large", may_pass=False)
    return bytes(body)


def _fault_of(answer: httpx.Response, received: bytes) -> EndpointFault | RequestRefused:
    status = answer.status_code
    if status in _OF_WORDS:
        return RequestRefused(status, received.decode("utf-8", "replace"))
    may_pass = status in _PASSING or status >= HTTPStatus.INTERNAL_SERVER_ERROR
    told = answer.headers.get("retry-after", "")
    wait = float(told) if told.isascii() and told.isdigit() else 0.0
    return EndpointFault(f"status-{status}", may_pass=may_pass, retry_after=wait)


@functools.cache
def _trusted() -> ssl.SSLContext:
    return httpx.create_ssl_context()

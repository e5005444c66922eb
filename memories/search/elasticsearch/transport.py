"""Calls to the cluster: what may go wrong, in the words of the search plane; when to try again, and when not to ask.

Invariants: no error repeats what the cluster said, for it may quote a query; a cluster that fails costs each request at
most one try and one retry, and a cluster that keeps failing is left alone for a while.

The lifecycle policy of the cluster that the archive's index may be under: whether it is there and can be used.

Invariant: no policy is used that would remove the archive or close it to writes, for the database is the record, and
what is forgotten has to leave every index.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from django.conf import settings
from elastic_transport import TransportError
from elasticsearch import ApiError, Elasticsearch

from memories.errors import SearchForbidden, SearchUnavailable
from memoryhub.elasticsearch import NoCredential

log = logging.getLogger(__name__)
Answer = TypeVar("Answer")

UNAUTHORIZED, FORBIDDEN, MISSING, CONFLICT = 401, 403, 404, 409
_BUSY = frozenset({429, 502, 503, 504})

NO_ANSWER = "The search cluster does not answer."
NO_INDEX = "The search index is missing; `manage.py index rebuild` makes it."
REFUSED = "The search cluster refused this credential."
NO_LICENCE = "The licence of the search cluster has no document-level security, so it searches for nobody."
SERVICE_REFUSED = "The search cluster refused a service identity; `manage.py elasticsearch check` says which."


class Circuit:
    """Opens after `failures` in a row, and lets one call a `pause` (seconds) through until one succeeds.

    pybreaker was not taken: it holds a lock while it calls, so that one search would run at a time.
    """

    def __init__(self, failures: int = 5, pause: float = 2.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._failures = failures
        self._pause = pause
        self._clock = clock
        self._lock = threading.Lock()
        self._failed = 0
        self._closed_until = 0.0

    @property
    def open(self) -> bool:
        """Whether the cluster has failed so often that it is left alone."""
        return self._failed >= self._failures

    def enter(self) -> None:
        """Raise SearchUnavailable unless a call may be made now."""
        with self._lock:
            if self.open:
                if self._clock() < self._closed_until:
                    raise SearchUnavailable(NO_ANSWER)
                self._closed_until = self._clock() + self._pause  # this call tries; the others wait for it

    def succeeded(self) -> None:
        """The cluster answered, whatever it said."""
        if self._failed:
            with self._lock:
                if self.open:
                    log.warning("The search cluster answers again.")
                self._failed = 0

    def failed(self) -> None:
        """The cluster did not answer, or was too busy to."""
        with self._lock:
            self._failed += 1
            if self._failed == self._failures:
                log.warning("The search cluster does not answer; it is asked again every %g s.", self._pause)
            self._closed_until = self._clock() + self._pause


class RetryBudget:
    """Lets one in `calls` be tried again, so that retries never double the load of a cluster in trouble.

    `saved` is how many retries may be saved up by calls that needed none.
    """

    def __init__(self, calls: int = 10, saved: int = 10) -> None:
        self._price = calls
        self._most = calls * saved
        self._left = self._most
        self._lock = threading.Lock()

    def earn(self) -> None:
        """A call was made."""
        with self._lock:
            self._left = min(self._most, self._left + 1)

    def spend(self) -> bool:
        """Whether there may be a retry; it is counted."""
        with self._lock:
            if self._left < self._price:
                return False
            self._left -= self._price
            return True


class Calls:
    """How one process asks the cluster for candidates: behind a circuit, with a budget of retries."""

    def __init__(self) -> None:
        self.circuit = Circuit()
        self._budget = RetryBudget()

    def make(self, call: Callable[[], Answer]) -> Answer:
        """The answer of `call`. Raises SearchUnavailable, SearchForbidden."""
        self.circuit.enter()
        self._budget.earn()
        try:
            answer = self._tried(call)
        except SearchUnavailable:
            self.circuit.failed()
            raise
        except SearchForbidden:
            self.circuit.succeeded()
            raise
        self.circuit.succeeded()
        return answer

    def _tried(self, call: Callable[[], Answer]) -> Answer:
        try:
            return answered(call)
        except SearchUnavailable as error:
            # A call that took its whole time would take it twice.
            if isinstance(error, TimedOut) or not self._budget.spend():
                raise
            return answered(call)


class TimedOut(SearchUnavailable):
    """The cluster took too long."""


class Unlicensed(SearchForbidden):
    """The cluster would limit nobody's search now, so it refuses them all."""


def translated(call: Callable[[], Answer]) -> Answer:
    """The answer of `call`, by an identity of the application's, once. Raises SearchUnavailable.

    A cluster that has just started refuses these, for it cannot read yet who they are; to the work it makes no
    difference whether that or a wrong password keeps it waiting.
    """
    try:
        return answered(call)
    except SearchForbidden:
        raise SearchUnavailable(SERVICE_REFUSED) from None


def answered(call: Callable[[], Answer]) -> Answer:
    """The answer of `call`, once. Raises SearchUnavailable, SearchForbidden; other errors are faults of ours."""
    try:
        return call()
    except ApiError as error:
        raise _of(error) from None
    except TransportError as error:
        kind = TimedOut if "Timeout" in type(error).__name__ else SearchUnavailable
        raise kind(NO_ANSWER) from None
    except NoCredential as error:
        raise SearchUnavailable(str(error)) from None


def _of(error: ApiError) -> SearchUnavailable | SearchForbidden:
    return SearchUnavailable(NO_ANSWER) if _could_not_look(error) else of_status(error.meta.status)


def _could_not_look(error: ApiError) -> bool:
    """Whether the cluster did not know the key because it could not read its keys, as in the seconds after a start.

    Of a key that is unknown, ended or expired it says so.
    """
    if error.meta.status != UNAUTHORIZED or not isinstance(error.body, dict):
        return False
    cause = error.body.get("error")
    said = cause.get("additional_unsuccessful_credentials", "") if isinstance(cause, dict) else ""
    return str(said).endswith("encountered a failure")


def of_status(status: int) -> SearchUnavailable | SearchForbidden:
    """What an error status means for the one who asked."""
    if status in {UNAUTHORIZED, FORBIDDEN}:
        return SearchForbidden(REFUSED)
    if status == MISSING:
        return SearchUnavailable(NO_INDEX)
    if status not in _BUSY:
        log.error("The search cluster answered %d to a request of ours.", status)
    return SearchUnavailable(NO_ANSWER)


# What a policy may do: where and with which priority an index lies. It stays one index, under its name, open to writes.
HARMLESS = frozenset({"allocate", "migrate", "set_priority", "wait_for_snapshot"})
LIFECYCLE = "index.lifecycle.name"


def lifecycle_settings() -> dict[str, str]:
    """What an archive's index is told of the policy; nothing where there is none."""
    name = settings.ELASTICSEARCH_ARCHIVE_POLICY
    return {LIFECYCLE: name} if name else {}


def trouble(manager: Elasticsearch) -> str:
    """Why the policy cannot be used, in a sentence; empty if it can, or if none is wanted. Raises TransportError."""
    name = settings.ELASTICSEARCH_ARCHIVE_POLICY
    if not name:
        return ""
    try:
        found = manager.ilm.get_lifecycle(name=name).body.get(name)
    except ApiError as error:
        return _policy_of(error, name)
    if found is None:
        return _absent(name)
    phases = found["policy"].get("phases", {}).values()
    harmful = sorted({action for phase in phases for action in phase.get("actions", {})} - HARMLESS)
    if harmful:
        return (
            f"The lifecycle policy {name} would remove the archive's index, put another in its place or close it to"
            f" writes ({', '.join(harmful)}); name one that only {', '.join(sorted(HARMLESS))}."
        )
    return ""


def _policy_of(error: ApiError, name: str) -> str:
    if error.meta.status == MISSING:
        return _absent(name)
    if error.meta.status == FORBIDDEN:
        return "The manager may not read lifecycle policies; `manage.py elasticsearch setup` allows it."
    if "no handler found" in str(error.body):
        return "The search cluster has no lifecycle policies; leave ELASTICSEARCH_ARCHIVE_POLICY empty."
    return f"The search cluster answered with error {error.meta.status} when asked for the lifecycle policy."


def _absent(name: str) -> str:
    return f"The search cluster has no lifecycle policy {name}, which ELASTICSEARCH_ARCHIVE_POLICY names."

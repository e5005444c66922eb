"""Calls to the cluster: error translation, retries, the circuit breaker, and the archive's lifecycle policy.

No error repeats the cluster's message, because it may quote the query. A failing cluster costs each request at most one
attempt and one retry; if it keeps failing, no request waits for it. Then some searches are repeated behind their
answers, with time enough for a cluster that has just started: its first searches take seconds, and it would have to
begin them again and again if they were ended after SEARCH_SECONDS.

A lifecycle policy that would delete the archive or make it read-only is rejected, because forgotten memories must be
removable from every index.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from django.conf import settings
from elastic_transport import TransportError
from elasticsearch import ApiError, Elasticsearch

from memories.errors import SearchForbidden, SearchUnavailable
from memoryhub.elasticsearch import SEARCH_SECONDS, NoCredential
from memoryhub.installation import PROGRAM

log = logging.getLogger(__name__)
Answer = TypeVar("Answer")

UNAUTHORIZED, FORBIDDEN, MISSING, CONFLICT = 401, 403, 404, 409
_BUSY = frozenset({429, 502, 503, 504})

NO_ANSWER = "The search cluster does not answer."
NO_INDEX = f"The search index is missing; `{PROGRAM} index rebuild` makes it."
REFUSED = "The search cluster refused this credential."
NO_LICENCE = "The licence of the search cluster has no document-level security, so it searches for nobody."
SERVICE_REFUSED = f"The search cluster refused a service identity; `{PROGRAM} elasticsearch check` says which."


class Circuit:
    """A circuit breaker: opens after `failures` in a row, then allows one probe at a time, `pause` seconds apart.

    Unlike pybreaker it holds no lock during a call, so searches run in parallel.
    """

    def __init__(self, failures: int = 5, pause: float = 2.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._failures = failures
        self._pause = pause
        self._clock = clock
        self._lock = threading.Lock()
        self._failed = 0
        self._closed_until = 0.0
        self._probing = False

    @property
    def open(self) -> bool:
        """True after enough failures in a row."""
        return self._failed >= self._failures

    def may_probe(self) -> bool:
        """Whether the caller shall make a probe now; it ends with `probed`."""
        with self._lock:
            if self._probing or self._clock() < self._closed_until:
                return False
            self._probing = True
            return True

    def probed(self) -> None:
        """Record the end of a probe. One that neither succeeded nor failed was too slow: another may follow at once."""
        self._probing = False

    def succeeded(self) -> None:
        """Record a response, even an error caused by the request."""
        if self._failed:
            with self._lock:
                if self.open:
                    log.warning("The search cluster answers again.")
                self._failed = 0

    def failed(self) -> None:
        """Record a failure of the cluster."""
        with self._lock:
            self._failed += 1
            if self._failed == self._failures:
                log.warning("The search cluster does not answer; it is asked again every %g s.", self._pause)
            self._closed_until = self._clock() + self._pause


class Calls:
    """Candidate searches of one process, sharing one circuit breaker."""

    def __init__(self) -> None:
        self.circuit = Circuit()

    def make(self, call: Callable[[], Answer], *, patiently: Callable[[], object]) -> Answer:
        """Return the result of `call`, retried once. Raises SearchUnavailable or SearchForbidden.

        `patiently` is the same with a longer time limit, for probes.
        """
        if self.circuit.open:
            if self.circuit.may_probe():
                threading.Thread(target=self._probe, args=(patiently,), name="search-probe", daemon=True).start()
            raise SearchUnavailable(NO_ANSWER)
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

    def _probe(self, call: Callable[[], object]) -> None:
        """Close the circuit if the cluster answers as fast as a recall needs it."""
        began = time.monotonic()
        try:
            with suppress(SearchForbidden), member_errors():
                call()
            if time.monotonic() - began < SEARCH_SECONDS:
                self.circuit.succeeded()
        except SearchUnavailable:
            self.circuit.failed()
        finally:
            self.circuit.probed()

    def _tried(self, call: Callable[[], Answer]) -> Answer:
        try:
            with member_errors():
                return call()
        except TimedOut:
            raise  # a retry would take the full timeout again
        except SearchUnavailable:
            pass
        with member_errors():
            return call()


class TimedOut(SearchUnavailable):
    """The cluster did not respond within the request timeout."""


class Unlicensed(SearchForbidden):
    """The cluster's licence lacks document-level security, so it refuses every member search."""


@contextmanager
def cluster_errors() -> Iterator[None]:
    """Translate errors of calls by a service identity to SearchUnavailable.

    This includes refusals, because a cluster that has just started cannot authenticate anybody yet.
    """
    try:
        with member_errors():
            yield
    except SearchForbidden:
        raise SearchUnavailable(SERVICE_REFUSED) from None


@contextmanager
def member_errors() -> Iterator[None]:
    """Translate errors of calls with a member's key to SearchUnavailable or SearchForbidden."""
    try:
        yield
    except ApiError as error:
        raise SearchUnavailable(NO_ANSWER) if _could_not_look(error) else of_status(error.meta.status) from None
    except TransportError as error:
        kind = TimedOut if "Timeout" in type(error).__name__ else SearchUnavailable
        raise kind(NO_ANSWER) from None
    except NoCredential as error:
        raise SearchUnavailable(str(error)) from None


def _could_not_look(error: ApiError) -> bool:
    """True if the cluster could not read its API keys, as in the seconds after a start.

    For an unknown, invalidated or expired key the cluster reports that reason instead.
    """
    if error.meta.status != UNAUTHORIZED or not isinstance(error.body, dict):
        return False
    cause = error.body.get("error")
    said = cause.get("additional_unsuccessful_credentials", "") if isinstance(cause, dict) else ""
    return str(said).endswith("encountered a failure")


def of_status(status: int) -> SearchUnavailable | SearchForbidden:
    """Return the search plane's error for an HTTP status."""
    if status in {UNAUTHORIZED, FORBIDDEN}:
        return SearchForbidden(REFUSED)
    if status == MISSING:
        return SearchUnavailable(NO_INDEX)
    if status not in _BUSY:
        log.error("The search cluster answered %d to a request of ours.", status)
    return SearchUnavailable(NO_ANSWER)


# Lifecycle actions that keep the index under its name and writable.
HARMLESS = frozenset({"allocate", "migrate", "set_priority", "wait_for_snapshot"})
LIFECYCLE = "index.lifecycle.name"


def lifecycle_settings() -> dict[str, str]:
    """Return the lifecycle setting of the archive's index; empty without a policy."""
    name = settings.ELASTICSEARCH_ARCHIVE_POLICY
    return {LIFECYCLE: name} if name else {}


def trouble(manager: Elasticsearch) -> str:
    """Return why the configured lifecycle policy is unusable, or an empty string. Raises TransportError."""
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
        return f"The manager may not read lifecycle policies; `{PROGRAM} elasticsearch setup` allows it."
    if "no handler found" in str(error.body):
        return "The search cluster has no lifecycle policies; leave ELASTICSEARCH_ARCHIVE_POLICY empty."
    return f"The search cluster answered with error {error.meta.status} when asked for the lifecycle policy."


def _absent(name: str) -> str:
    return f"The search cluster has no lifecycle policy {name}, which ELASTICSEARCH_ARCHIVE_POLICY names."

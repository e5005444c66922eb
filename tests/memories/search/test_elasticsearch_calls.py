"""When the cluster is asked, asked again, and left alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from elastic_transport import ApiResponseMeta, ConnectionTimeout, HttpHeaders, NodeConfig
from elastic_transport import ConnectionError as ConnectionBroke
from elasticsearch import ApiError

from memories.errors import SearchForbidden, SearchUnavailable
from memories.search.elasticsearch.transport import Calls, Circuit, cluster_errors, member_errors

SECRET = "what a query may quote"


class Clock:
    """A time that passes when it is told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def status(code: int, credential: str = "") -> ApiError:
    """The cluster's answer with this status, which quotes the request; `credential` is what it says of a key."""
    node = NodeConfig("http", "127.0.0.1", 9200)
    meta = ApiResponseMeta(code, "1.1", HttpHeaders(), 0.1, node)
    return ApiError(SECRET, meta, {"error": {"reason": SECRET, "additional_unsuccessful_credentials": credential}})


def raising(*errors: Exception, then: str = "answer") -> Callable[[], str]:
    """A call that fails in these ways, one after the other, and then succeeds."""
    left: Iterator[Exception] = iter(errors)

    def call() -> str:
        for error in left:
            raise error
        return then

    return call


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (status(401), SearchForbidden),
        (status(401, "API key: api key [id] has been invalidated"), SearchForbidden),
        (status(401, "API key: unable to find apikey with id id"), SearchForbidden),
        (status(401, "API key: api key is expired"), SearchForbidden),
        (status(401, "API key: apikey authentication for id id encountered a failure"), SearchUnavailable),
        (status(403), SearchForbidden),
        (status(404), SearchUnavailable),
        (status(429), SearchUnavailable),
        (status(503), SearchUnavailable),
        (status(400), SearchUnavailable),
        (ConnectionBroke(SECRET), SearchUnavailable),
        (ConnectionTimeout(SECRET), SearchUnavailable),
    ],
)
def test_an_error_says_what_to_do_and_quotes_nothing(error: Exception, expected: type[Exception]) -> None:
    with pytest.raises(expected) as caught, member_errors():
        raise error
    assert SECRET not in f"{caught.value}{caught.value.__cause__}"


@pytest.mark.parametrize("code", [401, 403])
def test_an_identity_of_the_application_that_is_refused_has_to_wait(code: int) -> None:
    with pytest.raises(SearchUnavailable), cluster_errors():
        raise status(code)


def never() -> None:
    pytest.fail("Nobody probes a cluster that answers.")


def test_a_connection_that_breaks_once_is_tried_again() -> None:
    assert Calls().make(raising(ConnectionBroke("reset")), patiently=never) == "answer"


def test_a_call_that_took_its_whole_time_is_not_made_twice() -> None:
    with pytest.raises(SearchUnavailable):
        Calls().make(raising(ConnectionTimeout("slow")), patiently=never)


def test_a_refused_key_is_not_tried_again_and_opens_no_circuit() -> None:
    calls = Calls()
    for _ in range(20):
        with pytest.raises(SearchForbidden):
            calls.make(raising(status(401)), patiently=never)
    assert not calls.circuit.open


class Probed:
    """Calls whose circuit is open; a probe takes `seconds` of the clock, and may fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock, self.seconds, self.made = Clock(), 0.1, 0
        self.error: Exception | None = None
        self.ended = threading.Event()
        self.calls = Calls()
        self.calls.circuit = Circuit(failures=1, pause=2.0, clock=self.clock)
        monkeypatch.setattr("memories.search.elasticsearch.transport.time.monotonic", self.clock)
        monkeypatch.setattr(self.calls.circuit, "probed", self._probed)
        self.calls.circuit.failed()

    def asked_at(self, now: float) -> int:
        """Ask, wait for the probe if there is one, and return how many there were."""
        self.clock.now, before = now, self.made
        self.ended.clear()
        with pytest.raises(SearchUnavailable):
            self.calls.make(never, patiently=self._probe)
        if self.calls.circuit._probing or self.made > before:
            assert self.ended.wait(10)
        return self.made

    def _probe(self) -> None:
        self.made += 1
        self.clock.now += self.seconds
        if self.error is not None:
            raise self.error

    def _probed(self) -> None:
        self.calls.circuit._probing = False
        self.ended.set()


def test_an_open_circuit_lets_nobody_wait_and_closes_when_a_probe_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    probed = Probed(monkeypatch)
    assert probed.asked_at(1.0) == 0
    probed.error = ConnectionBroke("away")
    assert probed.asked_at(2.0) == 1
    assert probed.asked_at(3.0) == 1, "two seconds after a failure"
    probed.error = None
    assert probed.asked_at(5.0) == 2
    assert not probed.calls.circuit.open
    assert probed.calls.make(lambda: "answer", patiently=never) == "answer"


def test_a_probe_that_answers_late_warms_the_cluster_and_another_follows_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    probed = Probed(monkeypatch)
    probed.seconds = 5.0
    assert [probed.asked_at(2.0), probed.asked_at(7.0)] == [1, 2] and probed.calls.circuit.open
    probed.seconds = 0.5
    assert probed.asked_at(12.0) == 3 and not probed.calls.circuit.open


def test_a_probe_that_is_refused_says_that_the_cluster_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    probed = Probed(monkeypatch)
    probed.error = status(403)
    assert probed.asked_at(2.0) == 1 and not probed.calls.circuit.open


def test_failures_that_are_not_in_a_row_open_nothing() -> None:
    circuit = Circuit(failures=2)
    for _ in range(5):
        circuit.failed()
        circuit.succeeded()
    assert not circuit.open

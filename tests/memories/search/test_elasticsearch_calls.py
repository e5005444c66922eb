"""When the cluster is asked, asked again, and left alone."""

from __future__ import annotations

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


def test_a_connection_that_breaks_once_is_tried_again() -> None:
    assert Calls().make(raising(ConnectionBroke("reset"))) == "answer"


def test_a_call_that_took_its_whole_time_is_not_made_twice() -> None:
    with pytest.raises(SearchUnavailable):
        Calls().make(raising(ConnectionTimeout("slow")))


def test_a_refused_key_is_not_tried_again_and_opens_no_circuit() -> None:
    calls = Calls()
    for _ in range(20):
        with pytest.raises(SearchForbidden):
            calls.make(raising(status(401)))
    assert not calls.circuit.open


def test_a_circuit_opens_after_failures_in_a_row_and_lets_one_call_try() -> None:
    clock = Clock()
    circuit = Circuit(failures=3, pause=2.0, clock=clock)
    for _ in range(3):
        circuit.enter()
        circuit.failed()
    with pytest.raises(SearchUnavailable):
        circuit.enter()
    clock.now = 2.0
    circuit.enter()
    with pytest.raises(SearchUnavailable):
        circuit.enter()
    circuit.succeeded()
    circuit.enter()
    assert not circuit.open


def test_failures_that_are_not_in_a_row_open_nothing() -> None:
    circuit = Circuit(failures=2)
    for _ in range(5):
        circuit.failed()
        circuit.succeeded()
    assert not circuit.open

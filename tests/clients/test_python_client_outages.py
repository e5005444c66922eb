"""Agents go on without memory in an outage, and not after a refusal."""

from __future__ import annotations

import logging
from typing import Any

import httpx
import pytest

from memoryhub_client import Client, ConnectionFailed, MemoryhubError, NotAuthenticated, Retries, Unavailable
from memoryhub_client.outages import LONGEST, beginning, optional
from memoryhub_client.sansio import Procedure, root, run
from tests.ports import free_port

ONCE = Retries(most=0)


def asked() -> Procedure[Any]:
    return (yield root.context("Where do I live?"))


def answering(status: int) -> Client:
    """A client of a server that answers with this status."""
    transport = httpx.MockTransport(lambda _: httpx.Response(status))
    return Client("http://memoryhub.test", token="mh_test", retries=ONCE, transport=transport)


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_an_outage_is_logged_and_passed_over(caplog: pytest.LogCaptureFixture, status: int) -> None:
    with caplog.at_level(logging.WARNING), answering(status) as client:
        assert run(client, optional(asked(), "continue")) is None
    assert f"goes on without it: {status}" in caplog.text


def test_a_dead_port_is_an_outage(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), Client(f"http://127.0.0.1:{free_port()}", token="t", retries=ONCE) as client:
        assert run(client, optional(asked(), "continue")) is None
        assert "goes on without it: No answer" in caplog.text
        with pytest.raises(ConnectionFailed):
            run(client, optional(asked(), "raise"))


@pytest.mark.parametrize(
    ("status", "on_outage", "error"),
    [(503, "raise", Unavailable), (401, "continue", NotAuthenticated), (400, "continue", MemoryhubError)],
)
def test_a_refusal_raises_and_so_does_an_outage_if_it_is_asked_to(
    status: int, on_outage: Any, error: type[MemoryhubError]
) -> None:
    with answering(status) as client, pytest.raises(error):
        run(client, optional(asked(), on_outage))


def test_a_long_text_is_cut_to_what_the_server_takes() -> None:
    assert beginning("ab" * LONGEST) == "ab" * (LONGEST // 2)
    assert beginning("short") == "short"

"""The real server process: it answers, refuses hosts that are not its own, and ends when told to."""

from __future__ import annotations

import json
import socket
from contextlib import closing
from http.client import HTTPConnection
from typing import Any

import pytest

from tests.proofs.site import Site

ACCESS_LOG = "memoryhub.middleware"


def lines(site: Site) -> list[dict[str, Any]]:
    """The log of a site that writes JSON, without what it says to whoever started it."""
    told = ("Making the database", "Serving on ")
    return [json.loads(line) for line in site.log().splitlines() if not line.startswith(told)]


def status_of(site: Site, path: str, host: str = "localhost") -> int:
    """How the server answers a GET."""
    with closing(HTTPConnection("127.0.0.1", site.port, timeout=10)) as connection:
        connection.request("GET", path, headers={"Host": host})
        return connection.getresponse().status


@pytest.mark.long
def test_it_serves_this_host_only_and_ends_when_told_to(site: Site) -> None:
    assert status_of(site, "/readyz") == 200
    assert status_of(site, "/login/", host="evil.example") == 400
    assert status_of(site, "/heliotrope") == 404
    with socket.create_connection(("127.0.0.1", site.port), timeout=10) as connection:
        connection.sendall(b"GET /heliotrope HTTP/heliotrope\r\n\r\n")
        assert b"400" in connection.recv(1000)
    assert site.stop() == 0
    assert not site.answers()
    written = lines(site)
    requests = [(line["route"], line["status"]) for line in written if line["logger"] == ACCESS_LOG]
    assert requests == [("-", 400), ("-", 404)]
    assert "gunicorn.error" in {line["logger"] for line in written}
    assert not [line for line in written if "exception" in line or "heliotrope" in str(line)]

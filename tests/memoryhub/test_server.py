"""The real server process: it answers, refuses hosts that are not its own, and ends when told to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.proofs.site import Site


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A site of its own that answers."""
    with Site(tmp_path) as site:
        site.start()
        yield site


def status_of(site: Site, path: str, host: str = "localhost") -> int:
    """How the server answers a GET."""
    with closing(HTTPConnection("127.0.0.1", site.port, timeout=10)) as connection:
        connection.request("GET", path, headers={"Host": host})
        return connection.getresponse().status


def test_it_serves_this_host_only_and_ends_when_told_to(site: Site) -> None:
    assert status_of(site, "/readyz") == 200
    assert status_of(site, "/login/", host="evil.example") == 400
    assert site.stop() == 0
    assert not site.answers()
    log = site.log()
    assert all(word not in log for word in ("Traceback", "terminate called", "SIGABRT"))

"""Optional servers of tests, the choice of the search plane, and small HTTP servers."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NoReturn

import pytest

REQUIRE_SERVICES = "MEMORYHUB_REQUIRE_SERVICES"

# The whole suite runs on either search plane (docs/development.md); few tests need a certain one.
ON_ELASTICSEARCH = os.environ.get("MEMORYHUB_SEARCH") == "elasticsearch"
about_the_embedded_plane = pytest.mark.skipif(ON_ELASTICSEARCH, reason="about the embedded search plane")
# Tests that take minutes and do not depend on the database run once, in `make test-real`.
left_to_the_real_parts = pytest.mark.skipif(not ON_ELASTICSEARCH, reason="long, and run by make test-real")


def missing_part(reason: str) -> NoReturn:
    """Skip the test, or fail it if MEMORYHUB_REQUIRE_SERVICES is set."""
    if os.environ.get(REQUIRE_SERVICES):
        pytest.fail(reason)
    pytest.skip(reason)


def eventually(happened: Callable[[], bool], *, seconds: float = 60.0) -> bool:
    """Poll until `happened` is true; False after `seconds`."""
    deadline = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    """The port of a server on this machine with this handler."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()

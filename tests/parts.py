"""Real parts that a test needs and a machine may lack: a browser, a server; and which of them this run is on."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import NoReturn

import pytest

REQUIRE_SERVICES = "MEMORYHUB_REQUIRE_SERVICES"

# The whole suite runs on either search plane (docs/development.md); few tests are about one of them.
ON_ELASTICSEARCH = os.environ.get("MEMORYHUB_SEARCH") == "elasticsearch"
about_the_embedded_plane = pytest.mark.skipif(ON_ELASTICSEARCH, reason="about the embedded search plane")
# What takes minutes and is the same whatever the database is run once, where everything is real.
left_to_the_real_parts = pytest.mark.skipif(not ON_ELASTICSEARCH, reason="long, and run by make test-real")


def missing_part(reason: str) -> NoReturn:
    """Skip the test, or fail it where every part must be there (MEMORYHUB_REQUIRE_SERVICES)."""
    if os.environ.get(REQUIRE_SERVICES):
        pytest.fail(reason)
    pytest.skip(reason)


def eventually(happened: Callable[[], bool], *, seconds: float = 60.0) -> bool:
    """Whether it happens in time."""
    deadline = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True

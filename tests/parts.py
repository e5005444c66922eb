"""Real parts that a test needs and a machine may lack: a browser, a server."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

REQUIRE_SERVICES = "MEMORYHUB_REQUIRE_SERVICES"


def missing_part(reason: str) -> NoReturn:
    """Skip the test, or fail it where every part must be there (MEMORYHUB_REQUIRE_SERVICES)."""
    if os.environ.get(REQUIRE_SERVICES):
        pytest.fail(reason)
    pytest.skip(reason)

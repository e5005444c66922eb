"""A server of a test ends with the test run, and says what it lacks."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.parts import missing_part
from tests.real_parts import Missing, Redis
from tests.real_parts.server import program

ROOT = Path(__file__).resolve().parents[2]
STARTING = """
from tests.real_parts import Redis
server = Redis()
server.start()
print(server._port, server.folder, flush=True)
input()
"""


@pytest.fixture(scope="module", autouse=True)
def _redis_is_installed() -> None:
    try:
        program("redis-server", "redis-server")
    except Missing as error:
        missing_part(str(error))


def test_a_server_ends_with_whoever_started_it_even_if_that_is_killed() -> None:
    command = [sys.executable, "-c", STARTING]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as starter:  # noqa: S603 - our own interpreter
        assert starter.stdout is not None
        port, folder = starter.stdout.readline().split()
        left = Redis()
        left._port = int(port)
        assert left._answers()
        starter.kill()

    deadline = time.monotonic() + 10
    while left._answers() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not left._answers()
    shutil.rmtree(folder)
    left.remove()


def test_what_is_not_installed_is_named_with_its_package() -> None:
    with pytest.raises(Missing, match="apt-get install nosuch-package"):
        program("no-such-program", "nosuch-package")

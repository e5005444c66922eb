"""Hundreds of slow connections: probes answer at once, and a member's recalls take no more than twice as long."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from statistics import quantiles

from tests.parts import eventually
from tests.ports import free_port
from tests.proofs.site import ROOT, Person, Site
from tests.slow_clients import seconds_of

MEMORIES = 50
QUIET_RECALLS = 300


def call(site: Site, person: Person, path: str, body: dict[str, str]) -> float:
    """The seconds that a POST to the API takes."""
    begun = time.monotonic()
    connection = HTTPConnection("127.0.0.1", site.port, timeout=60)
    headers = {"Authorization": f"Bearer {person.token}", "Content-Type": "application/json", "Host": "localhost"}
    connection.request("POST", f"/api/v1/{path}", json.dumps(body), headers)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    assert answer.status in (200, 201), text
    return time.monotonic() - begun


def p95(seconds: list[float]) -> float:
    """The 95th percentile."""
    return quantiles(seconds, n=20)[-1]


def repeated(do: Callable[[], float], pause: float, ended: threading.Event, found: list[float]) -> None:
    """Do it until `ended`, once every `pause` seconds; a failure is as good as for ever."""
    while not ended.wait(pause):
        try:
            found.append(do())
        except (OSError, AssertionError):
            found.append(float("inf"))


def test_slow_connections_stop_nobody(
    tmp_path: Path, slow: int, slow_seconds: int, record_property: Callable[[str, object], None]
) -> None:
    port = free_port()
    with Site(tmp_path, {"MEMORYHUB_PROBES": f"127.0.0.1:{port}", "MEMORYHUB_JOBS": "off"}) as site:
        (person, *_) = site.people(2)
        site.start()
        for number in range(MEMORIES):
            call(site, person, "memories/", {"text": f"Box {number} in the cellar holds the tools of decade {number}"})

        def recall() -> float:
            return call(site, person, "recall/", {"query": "What is in the cellar?"})

        for _ in range(20):
            recall()
        quiet = [recall() for _ in range(QUIET_RECALLS)]
        ended = threading.Event()
        lives: list[float] = []
        pages: list[float] = []
        recalls: list[float] = []
        threads = [
            threading.Thread(target=repeated, args=(lambda: seconds_of(port, "/livez"), 0.2, ended, lives)),
            threading.Thread(target=repeated, args=(lambda: seconds_of(site.port, "/login/"), 1.0, ended, pages)),
            threading.Thread(target=repeated, args=(recall, 0.05, ended, recalls)),
        ]
        command = [sys.executable, "-m", "tests.slow_clients", str(site.port), str(slow)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as attacker:  # noqa: S603 - our own
            assert attacker.stdout is not None
            said = [attacker.stdout.readline()]  # all are open now
            for thread in threads:
                thread.start()
            assert not eventually(lambda: attacker.poll() is not None, seconds=slow_seconds)
            ended.set()
            for thread in threads:
                thread.join()
            attacker.terminate()
            said += attacker.stdout.readlines()
        assert f"{slow} connections" in said[-1]
        found = (
            f"{said[-1].strip()} /livez: {len(lives)} answers, the slowest {max(lives):.3f} s. "
            f"/login/: {len(pages)}, the slowest {max(pages):.3f} s. "
            f"Recall p95: {p95(quiet) * 1000:.1f} ms quiet, {p95(recalls) * 1000:.1f} ms meanwhile ({len(recalls)})."
        )
        record_property("found", found)
        sys.stdout.write(f"\n{found}\n")
        assert max(lives) < 0.5
        assert p95(recalls) <= 2 * p95(quiet)
        assert "WORKER TIMEOUT" not in site.log()

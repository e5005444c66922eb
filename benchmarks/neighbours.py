"""`python -m benchmarks.neighbours`: what one member at full speed costs a member of another tenant.

A server on SQLite serves two tenants. A member of one recalls, alone at first; then a member of the other sends the
worst texts known, over several connections, and never waits when refused. Prints both 95th percentiles, their ratio,
and what became of the sender's requests. Exits with 1 if the ratio is above the bound.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Event
from pathlib import Path

import httpx

from benchmarks import use_sqlite

BOUND = 1.5
LONGEST = 32_000
# The slowest that were found to scan, judge or parse (ADR 24).
WORST = ("GB82 ", "1. ", "my dog is called Rex, ", "I don't ", "sure, ", "%20", "3/3/2020 ", "[", "4111111111111111\n")
QUESTIONS = ("Where did I go last spring?", "What did I say about the boiler?", "Do I still play the cello?")
_ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Measure and print; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.neighbours", description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="length of each half (default: %(default)s)")
    parser.add_argument("--connections", type=int, default=6, help="of the sender (default: %(default)s)")
    parser.add_argument("--memories", type=int, default=200, help="of the one who recalls (default: %(default)s)")
    parser.add_argument("--port", type=int, default=8765)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memoryhub-bench-") as folder:
        use_sqlite(folder, MEMORYHUB_JOBS="off", MEMORYHUB_BROKER_URL="", MEMORYHUB_MODEL="")
        victim, sender = _populated(options.memories)
        with server(options.port) as url:
            _recalls(url, victim, 3.0)  # warm up
            quiet = _recalls(url, victim, options.seconds)
            # In a process of its own, or it would take the interpreter from the one who measures.
            context = multiprocessing.get_context("spawn")
            stop, told = context.Event(), context.SimpleQueue()
            process = context.Process(target=_send_all, args=(url, sender, options.connections, stop, told))
            process.start()
            time.sleep(2.0)
            loud = _recalls(url, victim, options.seconds)
            stop.set()
            answers: Counter[int] = told.get()
            process.join()
    ratio = _p95(loud) / _p95(quiet)
    sys.stdout.write(
        f"recall p95: {_p95(quiet):.3f} s quiet ({len(quiet)} recalls), {_p95(loud):.3f} s beside the sender"
        f" ({len(loud)}); ratio {ratio:.2f}, bound {BOUND}\nthe sender got {dict(sorted(answers.items()))}\n"
    )
    return 0 if ratio <= BOUND else 1


def _populated(memories: int) -> tuple[str, str]:
    """The tokens of the one who recalls and of the sender."""
    import django  # noqa: PLC0415 - after the environment is set

    django.setup()
    from django.core.management import call_command  # noqa: PLC0415

    from benchmarks.texts import Writer  # noqa: PLC0415
    from memories.search.outbox import drain  # noqa: PLC0415
    from memories.services.facts.remember import remember_fact  # noqa: PLC0415
    from tenants.principals import system_principal  # noqa: PLC0415
    from tenants.services import add_member, create_tenant, create_user, issue_token  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    members = [
        add_member(tenant=create_tenant(name=name, slug=name), user=create_user(username=name, display_name=name))
        for name in ("quiet", "loud")
    ]
    writer = Writer(7919)
    for _ in range(memories):
        remember_fact(system_principal(members[0]), text=writer.fact())
    while drain(limit=256).delivered:
        pass
    return issue_token(members[0], name="bench")[1], issue_token(members[1], name="bench")[1]


@contextmanager
def server(port: int, workers: int = 1) -> Iterator[str]:
    """Serve the site of the environment, at this address of its API."""
    command = [sys.executable, "manage.py", "serve", "--port", str(port), "--workers", str(workers)]
    process = subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                if httpx.get(f"{url}/readyz", timeout=5.0).status_code == httpx.codes.OK:
                    break
            except httpx.HTTPError:
                time.sleep(0.2)
        else:
            raise RuntimeError("The server does not become ready.")
        yield f"{url}/api/v1"
    finally:
        process.terminate()
        process.wait(30)


def _recalls(url: str, token: str, seconds: float) -> list[float]:
    """The durations of recalls, one after the other with a pause of a tenth of a second."""
    taken: list[float] = []
    ends = time.monotonic() + seconds
    with httpx.Client(headers={"Authorization": f"Bearer {token}"}, timeout=60.0) as client:
        while time.monotonic() < ends:
            began = time.perf_counter()
            answer = client.post(f"{url}/recall/", json={"query": QUESTIONS[len(taken) % len(QUESTIONS)]})
            taken.append(time.perf_counter() - began)
            if answer.status_code != httpx.codes.OK:
                raise RuntimeError(f"A recall was answered with {answer.status_code}: {answer.text[:200]}")
            time.sleep(0.1)
    return taken


def _send_all(url: str, token: str, connections: int, stop: Event, told: SimpleQueue[Counter[int]]) -> None:
    answers = Counter[int]()
    with ThreadPoolExecutor(connections) as pool:
        for number in range(connections):
            pool.submit(_send, url, token, number, stop, answers)
    told.put(answers)


def _send(url: str, token: str, number: int, stop: Event, answers: Counter[int]) -> None:
    """Send turns of the worst texts without a pause."""
    with httpx.Client(headers={"Authorization": f"Bearer {token}"}, timeout=120.0) as client:
        while not stop.is_set():
            text = WORST[number % len(WORST)]
            number += 1
            try:
                status = client.post(f"{url}/turns/", json={"message": text * (LONGEST // len(text))}).status_code
            except httpx.HTTPError:
                status = 0
            answers[status] += 1


def _p95(taken: list[float]) -> float:
    return statistics.quantiles(taken, n=20)[-1]


if __name__ == "__main__":
    sys.exit(main())

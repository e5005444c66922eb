"""Taking the ways in: as many attempts as asked for, on so many threads, chosen by a seed.

Invariant: the seed alone decides which ways are taken, in which order, and every choice within one; only how threads
meet does not. Each way is taken once before any is taken twice.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from django.db import connections

from memories.isolation.attempt import Attempt, Finding, Way
from memories.isolation.baseline import Baseline
from memories.isolation.residents import World


@dataclass(slots=True)
class Tally:
    """What came of the attempts, by way: how many there were, what they found, and what kept them from finding out."""

    attempts: Counter[str] = field(default_factory=Counter)
    findings: Counter[Finding] = field(default_factory=Counter)
    failures: Counter[tuple[str, str]] = field(default_factory=Counter)
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))


class Runner:
    """Runs attempts until all are made, or `stop` is called."""

    def __init__(self, world: World, baseline: Baseline, ways: Sequence[Way], *, seed: int) -> None:
        self._world = world
        self._baseline = baseline
        self._ways = ways
        self._seed = seed
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self.tally = Tally()

    def run(self, attempts: int, concurrency: int, advance: Callable[[], None] = lambda: None) -> Tally:
        """Make the attempts; `advance` is called for each, on the thread that made it."""
        plan = enumerate(chosen(self._ways, attempts, self._seed))
        threads = [
            threading.Thread(target=self._work, args=(plan, advance), name=f"attacker-{number}", daemon=True)
            for number in range(concurrency)
        ]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                while thread.is_alive():
                    thread.join(0.5)  # so that Ctrl-C is noticed
        finally:
            self._stopping.set()
            for thread in threads:
                thread.join()
        return self.tally

    def _work(self, plan: Iterator[tuple[int, Way]], advance: Callable[[], None]) -> None:
        try:
            while not self._stopping.is_set():
                with self._lock:
                    number, way = next(plan, (-1, None))
                if way is None:
                    return
                self._attempt(number, way)
                advance()
        finally:
            connections.close_all()

    def _attempt(self, number: int, way: Way) -> None:
        chance = random.Random(f"{self._seed}:{number}")  # noqa: S311 - chance that can be repeated
        attempt = Attempt(self._world, self._baseline, way, chance)
        began = time.perf_counter()
        failure = ""
        try:
            way.attack(attempt)
        except Exception as error:  # noqa: BLE001 - an attempt that fails proves nothing, and is reported as that
            failure = _named(error)
        with self._lock:
            self.tally.attempts[way.name] += 1
            self.tally.seconds[way.name] += time.perf_counter() - began
            self.tally.findings.update(attempt.findings)
            if failure:
                self.tally.failures[way.name, failure] += 1


def chosen(ways: Sequence[Way], attempts: int, seed: int) -> Iterator[Way]:
    """The ways to take, in order: each once, then by weight."""
    chance = random.Random(seed)  # noqa: S311 - chance that can be repeated
    yield from list(ways)[:attempts]
    weights = [way.weight for way in ways]
    for _ in range(attempts - len(ways)):
        yield chance.choices(ways, weights)[0]


def _named(error: Exception) -> str:
    """What kind of failure it was; a message may hold a text, so only that of our own `Failed` is kept."""
    name = type(error).__name__
    return f"{name} {error}" if name == "Failed" else name

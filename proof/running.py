"""Taking the attacks: as many attempts as asked for, on so many threads, chosen by a seed.

Invariant: the seed alone decides which attacks are taken, in which order, and every choice within one; only how threads
meet does not. Each attack is taken once before any is taken twice.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from django.db import connections

from proof.attempt import Attack, Attempt, Finding
from proof.baseline import Baseline
from proof.residents import World


@dataclass(slots=True)
class Tally:
    """The attempts of each attack, their findings, their failures and their seconds."""

    attempts: Counter[str] = field(default_factory=Counter)
    findings: Counter[Finding] = field(default_factory=Counter)
    failures: Counter[tuple[str, str]] = field(default_factory=Counter)
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))


class Runner:
    """Runs attempts until all are made, or `stop` is called."""

    def __init__(self, world: World, baseline: Baseline, attacks: Sequence[Attack], *, seed: int) -> None:
        self._world = world
        self._baseline = baseline
        self._attacks = attacks
        self._seed = seed
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self.tally = Tally()

    def run(self, attempts: int, concurrency: int, advance: Callable[[], None] = lambda: None) -> Tally:
        """Make the attempts; `advance` is called for each, on the thread that made it."""
        plan = enumerate(chosen(self._attacks, attempts, self._seed))
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

    def _work(self, plan: Iterator[tuple[int, Attack]], advance: Callable[[], None]) -> None:
        try:
            while not self._stopping.is_set():
                with self._lock:
                    number, attack = next(plan, (-1, None))
                if attack is None:
                    return
                self._attempt(number, attack)
                advance()
        finally:
            connections.close_all()

    def _attempt(self, number: int, attack: Attack) -> None:
        chance = random.Random(f"{self._seed}:{number}")  # noqa: S311 - chance that can be repeated
        attempt = Attempt(self._world, self._baseline, attack, chance)
        began = time.perf_counter()
        failure = ""
        try:
            attack.run(attempt)
        except Exception as error:  # noqa: BLE001 - an attempt that fails proves nothing, and is reported as that
            failure = _named(error)
        with self._lock:
            self.tally.attempts[attack.name] += 1
            self.tally.seconds[attack.name] += time.perf_counter() - began
            self.tally.findings.update(attempt.findings)
            if failure:
                self.tally.failures[attack.name, failure] += 1


def chosen(attacks: Sequence[Attack], attempts: int, seed: int) -> Iterator[Attack]:
    """The attacks to take, in order: each once, then by weight."""
    chance = random.Random(seed)  # noqa: S311 - chance that can be repeated
    yield from list(attacks)[:attempts]
    weights = [attack.weight for attack in attacks]
    for _ in range(attempts - len(attacks)):
        yield chance.choices(attacks, weights)[0]


def _named(error: Exception) -> str:
    """What kind of failure it was; a message may hold a text, so only that of our own `Failed` is kept."""
    name = type(error).__name__
    return f"{name} {error}" if name == "Failed" else name

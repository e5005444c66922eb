"""Runs the whole proof: create tenants, record the baseline, attack on many threads, compare, erase, report.

The seed decides the attacks, their order and every choice within them; only the interleaving of threads differs between
runs. Each attack is made once before any is repeated.
"""

from __future__ import annotations

import logging
import platform
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

import django
from django.db import OperationalError, connection, connections
from django.test.utils import override_settings
from django.utils import timezone
from elasticsearch import TransportError

from memories.errors import MemoriesError, SearchUnavailable
from memories.search import outbox, search_plane
from memories.types import Owner
from memoryhub.db import advisory_lock
from memoryhub.db.scope import WideRole, acting_as
from proof import building, cluster, erasure
from proof.attack import NOBODY, Attack, AttackFinding, Attempt
from proof.attacks import attacks_on
from proof.baseline import Baseline, measured
from proof.marks import Exposure
from proof.report import ProofReport, Tally, leaks_and_guards, limits
from proof.requests import Failed, Overloaded
from proof.world import World
from tenants.errors import SearchKeysUnavailable

AFTERWARDS: Final = "afterwards: rows that nobody may have changed"
_DELIVERED_WITHIN_SECONDS = 120.0
# A busy database or cluster answers later; an attempt that it did not answer is made again after these waits.
_PASSING = (Overloaded, SearchUnavailable, SearchKeysUnavailable, OperationalError, TransportError)
_REPEATED_AFTER_SECONDS = (1.0, 3.0, 9.0, 20.0)
# A proof causes thousands of refusals, which would flood the log.
_QUIETED = (
    "django.request",
    "django.security",
    "elastic_transport",
    "memories.search.elasticsearch",
    "memoryhub.middleware",
    "memoryhub.observability.logs",
)


class NotReady(MemoriesError):
    """The installation cannot be attacked now; the message says what to do."""


class AlreadyRunning(MemoriesError):
    """Another proof is running on this installation."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Callbacks of a proof: `stage` receives each stage's name and number of steps, `advance` is called per step."""

    stage: Callable[[str, int], None] = lambda _name, _steps: None
    advance: Callable[[], None] = lambda: None


@contextmanager
def one_proof() -> Iterator[None]:
    """Hold the proof's lock, since a second proof would erase the first's tenants. Raises AlreadyRunning."""
    with ExitStack() as held:
        try:
            held.enter_context(advisory_lock.advisory_lock("isolation-proof"))
        except advisory_lock.LockTaken:
            raise AlreadyRunning("Another proof of isolation is running on this installation.") from None
        yield


def prove(
    *, attempts: int, concurrency: int, seed: int, beside_real_tenants: bool = False, progress: Progress | None = None
) -> ProofReport:
    """Attack this installation and report. Erases everything it created, also after Ctrl-C.

    Raises AlreadyRunning, KeysMissing, NotOurs, NotReady, RealTenants, SearchUnavailable, SearchKeysUnavailable.
    """
    watched = progress or Progress()
    began = time.monotonic()
    # No text of the proof goes to the configured model, which may be remote and charge for it. Limits would refuse most
    # attacks before the guards see them.
    with one_proof(), _quietly(), override_settings(MEMORYHUB_MODEL="", MEMORYHUB_LIMITS={}):
        if not beside_real_tenants:
            erasure.require_no_real_tenant()
        _erase(watched)
        try:
            watched.stage("Making tenants", building.steps())
            world = building.build(random.Random(seed), watched.advance)  # noqa: S311 - reproducible by its seed
            erasure.require_ours([each.membership for each in world.residents])
            if search_plane().name == cluster.PLANE:
                world = cluster.with_keys(world)
            _deliver(world)
            baseline = measured(world, timezone.now())
            watched.stage("Attacking", attempts)
            runner = Runner(world, baseline, attacks_on(search_plane().name), seed=seed)
            interrupted = False
            try:
                runner.run(attempts, concurrency, watched.advance)
            except KeyboardInterrupt:
                interrupted = True
            for id_ in baseline.changed(world):
                owner = world.marks.owner_of(id_)
                changed = AttackFinding(AFTERWARDS, NOBODY, NOBODY if owner is None else owner, Exposure.STATE)
                runner.tally.findings[changed] += 1
            seconds = time.monotonic() - began
            return _report(world, runner.tally, seed, concurrency, seconds, interrupted=interrupted)
        finally:
            _erase(watched)


class Runner:
    """Makes attempts on several threads until all are made or the caller is interrupted."""

    def __init__(self, world: World, baseline: Baseline, attacks: Sequence[Attack], *, seed: int) -> None:
        self._world = world
        self._baseline = baseline
        self._attacks = attacks
        self._seed = seed
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self.tally = Tally()

    def run(self, attempts: int, concurrency: int, advance: Callable[[], None] = lambda: None) -> Tally:
        """Make the attempts; `advance` is called after each, on its thread."""
        plan = enumerate(chosen(self._attacks, attempts, self._seed))
        threads = [
            # The scope of jobs shows the rows of all, so the database does not hide that a query lacks its filter.
            threading.Thread(
                target=acting_as(WideRole.JOBS)(self._work),
                args=(plan, advance),
                name=f"attacker-{number}",
                daemon=True,
            )
            for number in range(concurrency)
        ]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                while thread.is_alive():
                    thread.join(0.5)  # wakes up for Ctrl-C
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
        failure, passing = "", False
        findings: list[AttackFinding] = []
        for wait in (*_REPEATED_AFTER_SECONDS, None):
            chance = random.Random(f"{self._seed}:{number}")  # noqa: S311 - reproducible by its seed
            attempt = Attempt(self._world, self._baseline, attack, chance)
            try:
                attack.run(attempt)
                failure = ""
            except Exception as error:  # noqa: BLE001 - a failed attempt proves nothing, and the report counts it
                # Messages may hold texts; only a status is kept.
                name = type(error).__name__
                failure = f"{name} {error}" if isinstance(error, Failed | Overloaded) else name
                passing = isinstance(error, _PASSING)
            findings += attempt.findings
            if not failure or not passing or wait is None or self._stopping.wait(wait):
                break
            with self._lock:
                self.tally.repeated += 1
        with self._lock:
            self.tally.attempts[attack.name] += 1
            self.tally.findings.update(findings)
            if failure:
                self.tally.failures[attack.name, failure] += 1


def chosen(attacks: Sequence[Attack], attempts: int, seed: int) -> Iterator[Attack]:
    """The attacks in order: each once, then at random by weight."""
    chance = random.Random(seed)  # noqa: S311 - reproducible by its seed
    yield from list(attacks)[:attempts]
    weights = [attack.weight for attack in attacks]
    for _ in range(attempts - len(attacks)):
        yield chance.choices(attacks, weights)[0]


def _erase(progress: Progress) -> None:
    progress.stage("Erasing", 1)
    erasure.erase_leftovers()
    progress.advance()


def _deliver(world: World) -> None:
    """Index everything, so that comparisons do not see delayed writes. Raises NotReady."""
    owners = [Owner(each.principal.tenant_id, each.principal.user_id) for each in world.residents]
    owners += [Owner(company.tenant.pk, None) for company in world.companies]
    deadline = time.monotonic() + _DELIVERED_WITHIN_SECONDS
    while any(outbox.pending(owner).exists() for owner in owners):
        for owner in owners:
            outbox.drain(owner=owner)
        if time.monotonic() > deadline:
            raise NotReady("The search plane does not take what is written; see `manage.py index check`.")
    search_plane().settle()


def _report(
    world: World, tally: Tally, seed: int, concurrency: int, seconds: float, *, interrupted: bool
) -> ProofReport:
    leaks, guards = leaks_and_guards(world, tally)
    versions = {"python": platform.python_version(), "django": django.get_version()}
    versions[connection.vendor] = ".".join(map(str, connection.get_database_version()))
    if search_plane().name == cluster.PLANE:
        versions["elasticsearch"] = cluster.version()
    return ProofReport(
        plane=search_plane().name,
        database=connection.vendor,
        versions=versions,
        seed=seed,
        concurrency=concurrency,
        attempts=sum(tally.attempts.values()),
        seconds=round(seconds, 1),
        owners=len(world.residents),
        attacks=dict(sorted(tally.attempts.items())),
        leaks=leaks,
        guards=guards,
        limits=limits(tally),
        repeated=tally.repeated,
        failures={f"{name}: {error}": count for (name, error), count in sorted(tally.failures.items())},
        interrupted=interrupted,
    )


@contextmanager
def _quietly() -> Iterator[None]:
    levels = {name: logging.getLogger(name).level for name in _QUIETED}
    for name in _QUIETED:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)

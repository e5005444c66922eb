"""The whole proof: make the tenants, note how things are, attack, compare, erase, report.

One proof at a time: a second one would take the first one's tenants for leftovers, and erase them.
"""

from __future__ import annotations

import logging
import platform
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

import django
from django.db import connection
from django.test.utils import override_settings
from django.utils import timezone

from memories.errors import MemoriesError
from memories.search import outbox, search_plane
from memories.types import Owner
from memoryhub.db import advisory_lock
from proof import building, cluster, erasing
from proof.attacks import attacks_on
from proof.attempt import NOBODY, Finding
from proof.baseline import Baseline, taken
from proof.marks import Told
from proof.report import Report, leaks_and_guards, limits
from proof.residents import World
from proof.running import Runner, Tally


class AlreadyRunning(MemoriesError):
    """Another proof runs on this installation."""


@contextmanager
def alone() -> Iterator[None]:
    """Hold the lock of the proof; it goes with the process, however that ends. Raises AlreadyRunning."""
    with ExitStack() as held:
        try:
            held.enter_context(advisory_lock.advisory_lock("isolation-proof"))
        except advisory_lock.LockTaken:
            raise AlreadyRunning("Another proof of isolation is running on this installation.") from None
        yield


AFTERWARDS: Final = "afterwards: what nobody may have changed"
_DELIVERED_WITHIN_SECONDS = 120.0
_QUIETED = (
    "django.request",
    "django.security",
    "elastic_transport",
    "memories.search.elasticsearch",
    "memoryhub.middleware.access_log",
    "memoryhub.observability.logs",
)


class NotReady(MemoriesError):
    """The installation cannot be attacked as it is; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a long proof stands: `stage` begins with what it is called and how many steps it has."""

    stage: Callable[[str, int], None] = lambda _name, _steps: None
    advance: Callable[[], None] = lambda: None


def prove(
    *, attempts: int, concurrency: int, seed: int, beside_real_tenants: bool = False, progress: Progress | None = None
) -> Report:
    """Attack this installation and report. All rows that the proof makes are erased again, also after Ctrl-C.

    Raises AlreadyRunning, NotOurs, NotReady, RealTenants (unless `beside_real_tenants`), SearchUnavailable.
    """
    watched = progress or Progress()
    began = time.monotonic()
    # No text of the proof goes to a model that is configured: it may be far away, and paid for.
    with alone(), _quietly(), override_settings(MEMORYHUB_MODEL=""):
        if not beside_real_tenants:
            erasing.require_no_real_tenants()
        _erase(watched)
        try:
            watched.stage("Making tenants", building.steps())
            world = building.build(random.Random(seed), watched.advance)  # noqa: S311 - chance that can be repeated
            erasing.require_ours(building.members_of(world))
            if search_plane().name == cluster.PLANE:
                world = cluster.prepared(world)
            _deliver(world)
            baseline = taken(world, timezone.now())
            watched.stage("Attacking", attempts)
            runner = Runner(world, baseline, attacks_on(search_plane().name), seed=seed)
            interrupted = False
            try:
                runner.run(attempts, concurrency, watched.advance)
            except KeyboardInterrupt:
                interrupted = True
            _compare(world, baseline, runner.tally)
            taken_seconds = time.monotonic() - began
            return _report(world, runner.tally, seed, concurrency, taken_seconds, interrupted=interrupted)
        finally:
            _erase(watched)


def _erase(progress: Progress) -> None:
    progress.stage("Erasing", 1)
    erasing.erase_leftovers()
    progress.advance()


def _deliver(world: World) -> None:
    """Have the search plane hold everything, so that what is compared later is not what was still on its way."""
    owners = [Owner(each.principal.tenant_id, each.principal.user_id) for each in world.residents]
    owners += [Owner(company.tenant.pk, None) for company in world.companies]
    deadline = time.monotonic() + _DELIVERED_WITHIN_SECONDS
    while any(outbox.pending(owner).exists() for owner in owners):
        for owner in owners:
            outbox.drain(owner=owner)
        if time.monotonic() > deadline:
            raise NotReady("The search plane does not take what is written; see `manage.py index check`.")
    search_plane().settle()


def _compare(world: World, baseline: Baseline, tally: Tally) -> None:
    """Whatever belongs to those who changed nothing must be as it was."""
    for id_ in baseline.changed(world):
        owner = world.marks.owner_of(id_)
        tally.findings[Finding(AFTERWARDS, NOBODY, NOBODY if owner is None else owner, Told.STATE)] += 1


def _report(world: World, tally: Tally, seed: int, concurrency: int, seconds: float, *, interrupted: bool) -> Report:
    leaks, guards = leaks_and_guards(world, tally)
    return Report(
        plane=search_plane().name,
        database=connection.vendor,
        versions=_versions(),
        seed=seed,
        concurrency=concurrency,
        attempts=sum(tally.attempts.values()),
        seconds=round(seconds, 1),
        owners=len(world.residents),
        attacks=dict(sorted(tally.attempts.items())),
        leaks=leaks,
        guards=guards,
        limits=limits(tally),
        failures=dict(
            Counter({f"{attack}: {error}": count for (attack, error), count in sorted(tally.failures.items())})
        ),
        interrupted=interrupted,
    )


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "django": django.get_version()}
    found[connection.vendor] = ".".join(map(str, connection.get_database_version()))
    return found | ({"elasticsearch": cluster.version()} if search_plane().name == cluster.PLANE else {})


@contextmanager
def _quietly() -> Iterator[None]:
    """Thousands of refusals are what is asked for here; none of them belongs in a log."""
    levels = {name: logging.getLogger(name).level for name in _QUIETED}
    for name in _QUIETED:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)

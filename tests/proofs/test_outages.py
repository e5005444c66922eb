"""Elasticsearch, Redis or the workers go away while people talk: no request fails, and nothing said is lost."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from rich.progress import track

from tests.parts import eventually
from tests.proofs.real_site import Parts, RealSite, real_parts
from tests.proofs.test_kills import TORN
from tests.proofs.writers import Promise, Promises, Regulars

PEOPLE = 3
CALM_SECONDS = 4.0
LATELY_SECONDS = 15.0
# A part that goes takes with it what it was just answering; after this long every answer knows that it is gone.
NOTICE_SECONDS = 1.0
# Everything is searchable within a minute of the return of what was away, also what a killed worker had leased.
RETURN_SECONDS = 60.0
KILLS_SHARE = 5
# A drain takes milliseconds, so a kill may come after it.
MOST_MISSED = 50


@pytest.fixture(scope="module")
def parts() -> Iterator[Parts]:
    """PostgreSQL, Redis and Elasticsearch for the proofs of this module."""
    with real_parts() as made:
        yield made


class Life:
    """People who talk to a site, and what they were promised."""

    def __init__(self, site: RealSite) -> None:
        self._site = site
        self._promises = Promises()
        self.people = Regulars(site, site.people(PEOPLE), self._promises)

    def is_whole_within(self, seconds: float) -> None:
        """They go on; everything is searchable and answered for in this time. Then they stop, and all is checked."""
        began = time.monotonic()
        returned = str(self._site.value("SELECT now()"))

        def delivered() -> bool:
            self._site.start_what_ended()
            count = "SELECT count(*) FROM memories_outboxentry WHERE created_at < %s"
            return int(self._site.value(count, returned)) == 0

        try:
            assert eventually(delivered, seconds=seconds), self._site.words()
            assert eventually(self.is_healthy, seconds=seconds), self._site.words()
            print(f"  all searchable {time.monotonic() - began:.1f} s after the return")  # noqa: T201 - the finding
        finally:
            self.people.end()
        assert not self.people.errors, f"{self.people.errors[:3]}\n{self._site.faults()}"
        check(self._site, self._promises.take())

    def is_healthy(self) -> bool:
        """Whether they were answered of late, and none of the latest answers was degraded."""
        recent = self.people.degraded(since=time.monotonic() - LATELY_SECONDS)[-2 * PEOPLE :]
        return len(recent) == 2 * PEOPLE and not any(recent)


@contextmanager
def talking(site: RealSite) -> Iterator[Life]:
    """People talk, at first to a site in health."""
    life = Life(site)
    life.people.begin()
    try:
        began = time.monotonic()
        time.sleep(CALM_SECONDS)
        assert eventually(life.is_healthy, seconds=RETURN_SECONDS), (life.people.errors[:3], site.words())
        assert any(not degraded for degraded in life.people.degraded(since=began))
        yield life
    finally:
        life.people.end()


def check(site: RealSite, promises: list[Promise]) -> None:
    """What was acknowledged is there; nothing is torn; trail, chains and index are whole."""
    assert len(promises) > 10 * PEOPLE, "hardly anything was acknowledged: the proof proves nothing"
    assert not [promise for promise in promises if not site.keeps(promise)]
    assert eventually(lambda: site.waiting() == 0, seconds=RETURN_SECONDS), site.words()
    assert not {what: count for what, query in TORN.items() if (count := site.value(query))}
    site.manage("verify_audit")
    site.manage("verify_chains")
    site.check_index()


def test_elasticsearch_goes_away_and_comes_back(site: RealSite, outage: int) -> None:
    with talking(site) as life:
        site.parts.cluster.stop()
        gone = time.monotonic()
        try:
            time.sleep(outage)
            answers = life.people.degraded(since=gone + NOTICE_SECONDS)
        finally:
            site.parts.cluster.start()
        assert len(answers) > PEOPLE
        assert all(answers), f"{answers.count(False)} of {len(answers)} answers did not say that they are degraded"
        life.is_whole_within(RETURN_SECONDS)


def test_redis_goes_away_and_comes_back(site: RealSite, outage: int) -> None:
    with talking(site) as life:
        site.parts.redis.stop()
        try:
            time.sleep(outage)
            assert site.waiting() > 0
        finally:
            site.parts.redis.start()
        life.is_whole_within(RETURN_SECONDS)
    assert site.log().count("The broker took no message") <= 2, "an outage is logged once, not for each try"


def test_indices_that_are_deleted_under_load_are_rebuilt(site: RealSite) -> None:
    with talking(site) as life:
        gone = time.monotonic()
        assert site.parts.cluster.remove(f"{site.prefix}-*") > 0
        time.sleep(CALM_SECONDS)
        answers = life.people.degraded(since=gone + NOTICE_SECONDS)
        assert answers and all(answers)
        site.manage("index", "rebuild")
        life.is_whole_within(RETURN_SECONDS)


def test_workers_that_are_killed_in_the_middle_lose_nothing(site: RealSite, kills: int) -> None:
    chance = random.Random(kills)
    with talking(site) as life:
        for _ in track(range(max(2, kills // KILLS_SHARE)), description="kills of workers"):
            assert any(killed_in_a_drain(site, chance) for _ in range(MOST_MISSED)), "no kill came during a drain"
        life.is_whole_within(RETURN_SECONDS)


def killed_in_a_drain(site: RealSite, chance: random.Random) -> bool:
    """Kill the worker once it has entries in hand that no killed one had, and start another; False if it was done."""
    began = str(site.value("SELECT now()"))
    assert eventually(lambda: site.leased(since=began) > 0, seconds=RETURN_SECONDS), site.words()
    time.sleep(chance.uniform(0.0, 0.02))
    site.worker.kill()
    caught = site.leased(since=began) > 0
    site.worker.start()
    return caught

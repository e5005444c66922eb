"""Quotas, places and counts on every store: a limit holds exactly, between threads and over time."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, connections
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.test import RequestFactory
from pytest_django import Settings

from memoryhub import limit_store, limits
from memoryhub.limit_store import FileStore, LimitStore, StoreUnavailable
from memoryhub.limits import BACKOFF_SECONDS, WAITED_SECONDS, Backoff, FairShare, Place, Quota
from memoryhub.middleware import AdmissionMiddleware

pytestmark = pytest.mark.django_db
DAY = 24 * 60 * 60


@pytest.fixture(params=["database", pytest.param("redis", marks=pytest.mark.long)])
def store(request: pytest.FixtureRequest, settings: Settings) -> LimitStore:
    """The store of an installation without Redis, and of one with it."""
    settings.MEMORYHUB_BROKER_URL = request.getfixturevalue("redis").url if request.param == "redis" else ""
    return limit_store.limit_store()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, in a list of one."""
    now = [1_800_000_000.0]
    monkeypatch.setattr("memoryhub.limits.time.time", lambda: now[0])
    return now


def quota(limit: int, window: int = 60, **more: Any) -> Quota:
    return Quota("member_reads", uuid4().hex, limit, window, **more)


def hold(key: str, places: int) -> Place | None:
    """One of the places of `key`, or None."""
    uses, place = limits.take_with_place([], key, range(places))
    return place if all(use.fits for use in uses) else None


def taken(*quotas: Quota) -> list[bool]:
    return [use.fits for use in limits.take(quotas)]


def test_the_store_is_the_one_of_the_installation(store: LimitStore, settings: Settings) -> None:
    on_postgresql = connection.vendor == "postgresql"
    expected = "RedisStore" if settings.MEMORYHUB_BROKER_URL else "TableStore" if on_postgresql else "FileStore"
    assert type(store).__name__ == expected


@pytest.mark.parametrize(("limit", "window"), [(1, 60), (7, 60), (600, 60), (12_000, 60), (500, DAY)])
def test_exactly_the_limit_passes_at_once_and_then_one_a_step(
    store: LimitStore, clock: list[float], limit: int, window: int
) -> None:
    one = quota(limit, window, units=max(1, limit // 10))
    assert [taken(one) for _ in range(limit // one.units + 1)] == [[True]] * (limit // one.units) + [[False]]
    (use,) = limits.take([one])
    clock[0] += one.units * one.step
    assert use.remaining < one.units
    assert (taken(one), taken(one)) == ([True], [False])


@pytest.mark.django_db(transaction=True)
def test_exactly_the_limit_passes_between_threads(store: LimitStore) -> None:
    member, tenant = quota(20, DAY), quota(1_000, DAY)
    barrier = threading.Barrier(8)

    def hammer(_: int) -> int:
        barrier.wait()
        try:
            return sum(taken(member, tenant) == [True, True] for _ in range(10))
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(hammer, range(8))) == 20
    assert limits.take([tenant])[0].remaining == 1_000 - 21, "a refused request takes nothing of the tenant's"


def test_a_quota_is_whole_again_after_its_window(store: LimitStore, clock: list[float]) -> None:
    one = quota(3)
    assert [taken(one) for _ in range(4)][-1] == [False]
    clock[0] += 60
    assert limits.take([one])[0].remaining == 2


def test_what_was_used_anyway_delays_the_next(store: LimitStore, clock: list[float]) -> None:
    budget = quota(1_000, DAY, units=0)
    limits.spend([Quota(budget.name, budget.key, 1_000, DAY, units=999)])
    assert taken(budget) == [True]
    limits.spend([Quota(budget.name, budget.key, 1_000, DAY, units=1_000_000)])
    (use,) = limits.take([budget])
    assert not use.fits and use.seconds <= DAY, "a debt is a window at most"


def test_a_clock_that_was_set_back_locks_nobody_out(store: LimitStore, clock: list[float]) -> None:
    one = quota(1)
    assert taken(one) == [True]
    clock[0] -= 3_600
    assert (taken(one), taken(one)) == ([True], [False])


def test_a_place_is_held_until_it_is_released_or_its_holder_is_gone(store: LimitStore, clock: list[float]) -> None:
    key = uuid4().hex
    first, second = hold(key, 2), hold(key, 2)
    assert first and second and hold(key, 2) is None
    first.release()
    assert hold(key, 2) and hold(key, 2) is None
    clock[0] += limits.KEEP_SECONDS + 1
    second.keep()
    clock[0] += limits.PLACE_SECONDS - limits.KEEP_SECONDS
    assert hold(key, 2), "the one that nobody renewed"
    assert hold(key, 2) is None


def test_a_late_release_frees_nobody_elses_place(store: LimitStore, clock: list[float]) -> None:
    key = uuid4().hex
    late = hold(key, 1)
    clock[0] += limits.PLACE_SECONDS + 1
    assert late and hold(key, 1)
    late.release()
    assert hold(key, 1) is None


def test_without_a_free_place_nothing_is_taken(store: LimitStore, clock: list[float]) -> None:
    one, key = quota(10), uuid4().hex
    for fits in (True, True, False):
        uses, _ = limits.take_with_place([one], key, range(2))
        assert [use.fits for use in uses] == [True, fits]
    assert limits.take([one])[0].remaining == 7


def test_counts_of_all_processes_add_up_and_old_ones_go(store: LimitStore, clock: list[float]) -> None:
    for _ in range(3):
        limits.count("a:reads")
    clock[0] += limit_store.SLOT
    limits.count("a:reads")
    limits.count("a")
    assert limits.counted(clock[0] - 3_600, clock[0]) == {"a:reads": 4, "a": 1}
    clock[0] += limit_store.KEPT + DAY
    limits.forget_unused()
    assert not limits.counted(clock[0] - 3_600, clock[0])


def test_forgetting_keeps_what_is_used(store: LimitStore, clock: list[float]) -> None:
    one = quota(2, DAY)
    taken(one)
    limits.forget_unused()
    assert limits.take([one])[0].remaining == 0


def test_without_its_store_nothing_is_refused_and_it_is_counted_later(
    settings: Settings, caplog: pytest.LogCaptureFixture, clock: list[float]
) -> None:
    before, settings.MEMORYHUB_BROKER_URL = settings.MEMORYHUB_BROKER_URL, "redis://127.0.0.1:1/0"
    one = quota(1)
    with caplog.at_level(logging.WARNING):
        assert [limits.take([one]), limits.take([one])] == [[], []]
        assert hold(one.key, 1) and hold(one.key, 1)
        limits.count("a")
    assert len([each for each in caplog.records if "Nothing is limited" in each.message]) == 1
    settings.MEMORYHUB_BROKER_URL, limits._away_until = before, 0.0
    limits.count("a")
    assert limits.counted(clock[0] - 60, clock[0])["a"] == 2


def test_a_file_that_cannot_be_opened_is_a_store_that_is_away(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable):
        FileStore(tmp_path / "missing" / "limits.sqlite3").counts([1])


def test_only_who_does_not_wait_is_answered_later(monkeypatch: pytest.MonkeyPatch) -> None:
    backoff, now = Backoff(), [1_000.0]
    monkeypatch.setattr("memoryhub.limits.time.monotonic", lambda: now[0])
    delays = []
    for _ in range(6):
        delays.append(backoff.seconds("hasty", 4))
        now[0] += delays[-1] + 0.5
    assert delays == [0.0, 0.5, 1.5, BACKOFF_SECONDS, BACKOFF_SECONDS, BACKOFF_SECONDS]
    assert backoff.seconds("patient", 4) == 0.0
    now[0] += 4
    assert backoff.seconds("patient", 3_600) == backoff.seconds("hasty", 4) == 0.0
    now[0] += WAITED_SECONDS
    assert backoff.seconds("patient", 3_600) == 0.0


def test_those_who_waited_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    backoff, now = Backoff(), [1_000.0]
    monkeypatch.setattr("memoryhub.limits.time.monotonic", lambda: now[0])
    for number in range(3_000):
        now[0] += 0.1
        backoff.seconds(str(number), 10)
    assert len(backoff._refused) <= 1_000


def test_a_tenant_uses_half_of_the_threads_at_most() -> None:
    share, ours, theirs = FairShare(places=5), uuid4(), uuid4()
    assert [share.enter(ours) for _ in range(4)] == [True, True, True, False]
    assert share.enter(theirs)
    share.leave(ours)
    assert share.enter(ours)


@pytest.mark.parametrize("answer", [HttpResponse("all"), StreamingHttpResponse(["in pieces"])])
def test_an_answer_frees_what_its_request_held_and_a_stream_once_it_is_closed(answer: HttpResponseBase) -> None:
    freed: list[str] = []

    def view(request: Any) -> HttpResponseBase:
        request.held.callback(freed.append, "place")
        return answer

    AdmissionMiddleware(view)(RequestFactory().get("/"))
    assert bool(freed) != answer.streaming
    answer.close()
    assert freed == ["place"]

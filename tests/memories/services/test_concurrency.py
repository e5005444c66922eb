"""Many writers of one owner at once: one memory, one chain, no lost turn."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest
from django.db import connection

from memories.models import Episode, Fact, OutboxEntry
from memories.selectors.chains import verify_chains
from memories.services.facts import remember_fact
from memories.services.turns import begin_turn
from memories.types import WriteResult
from tenants.audit_verification import verify_all
from tenants.principal import Principal

pytestmark = pytest.mark.django_db(transaction=True)

THREADS = 16
T = TypeVar("T")


def together(work: Callable[[int], T]) -> list[T]:
    """Run `work(0)`, `work(1)` … each on a thread and a connection of its own."""

    def run(number: int) -> T:
        try:
            return work(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))


def test_equal_facts_at_once_make_one(principal: Principal) -> None:
    outcomes = together(lambda _: remember_fact(principal, text="Likes tea", key="drink"))
    results = [outcome.result for outcome in outcomes]
    assert results.count(WriteResult.CREATED) == 1
    assert results.count(WriteResult.MERGED) == THREADS - 1
    assert Fact.objects.get().version == OutboxEntry.objects.count() == THREADS


def test_rival_facts_at_once_make_one_chain(principal: Principal) -> None:
    together(lambda number: remember_fact(principal, text=f"Lives in town {number}", key="home_city"))
    assert Fact.objects.current().count() == 1
    assert Fact.objects.count() == THREADS
    assert verify_chains().ok
    assert all(report.ok for report in verify_all())


def test_one_turn_sent_many_times_is_stored_once(principal: Principal) -> None:
    chosen = uuid.uuid4()
    turns = together(lambda _: begin_turn(principal, text="Hello", turn_id=chosen))
    assert sum(turn.created for turn in turns) == 1
    assert Episode.objects.count() == 1


def test_turns_of_two_tabs_do_not_collide(principal: Principal) -> None:
    session = begin_turn(principal, text="First").session_id
    turns = together(lambda number: begin_turn(principal, text=f"Turn {number}", session_id=session))
    assert sorted(turn.turn for turn in turns) == list(range(2, THREADS + 2))
    assert sorted(Episode.objects.values_list("sequence", flat=True)) == list(range(1, THREADS + 2))

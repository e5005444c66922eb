"""Many writers of one owner at once: one memory, one chain, no lost turn."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest
from django.db import connection

from memories.errors import Conflict
from memories.models import Episode, Fact, OutboxEntry, ReviewItem
from memories.services.facts.promote import promote
from memories.services.facts.remember import remember_fact
from memories.services.facts.supersede import correct, supersede
from memories.services.facts.undo import undo
from memories.services.sessions.turns import begin_turn
from memories.types import Kind, Scope, WriteOutcome, WriteResult
from tenants.models import Tenant
from tenants.principal import Principal
from tests.factories import make_membership, own_principal

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("everything_is_whole")]

THREADS = 16
WORDINGS = (
    "I pay 30 euros a month for the gym",
    "I pay 30 euros per month for the gym",
    "The user pays €30 a month for the gym",
)
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


@pytest.mark.english
def test_the_same_in_other_words_at_once_makes_one(principal: Principal) -> None:
    outcomes = together(lambda number: remember_fact(principal, text=WORDINGS[number % len(WORDINGS)]))
    assert Fact.objects.get().version == THREADS
    assert [outcome.result for outcome in outcomes].count(WriteResult.CREATED) == 1


def test_rival_facts_at_once_make_one_chain(principal: Principal) -> None:
    together(lambda number: remember_fact(principal, text=f"Lives in town {number}", key="home_city"))
    assert Fact.objects.current().count() == 1
    assert Fact.objects.count() == THREADS


def attempted(work: Callable[[int], WriteOutcome]) -> Callable[[int], WriteOutcome | None]:
    """`work`, with None for a refusal."""

    def attempt(number: int) -> WriteOutcome | None:
        try:
            return work(number)
        except Conflict:
            return None

    return attempt


def test_an_undo_sent_many_times_is_done_once(principal: Principal) -> None:
    remember_fact(principal, text="Lives in Bristol", key="home_city")
    leeds = remember_fact(principal, text="Lives in Leeds", key="home_city").memory_id
    outcomes = together(attempted(lambda _: undo(principal, kind=Kind.SEMANTIC, memory_id=leeds)))
    assert sum(outcome is not None for outcome in outcomes) == 1
    assert [row.text for row in Fact.objects.current()] == ["Lives in Bristol"]
    assert Fact.objects.count() == 3


def test_the_undo_of_a_merge_and_of_its_parts_meet(principal: Principal) -> None:
    olds = [remember_fact(principal, text=f"Owns bulb {number}").memory_id for number in range(THREADS - 1)]
    merged = supersede(principal, old_ids=olds, text="Owns bulbs").memory_id
    together(attempted(lambda number: undo(principal, kind=Kind.SEMANTIC, memory_id=[merged, *olds][number])))
    believed = [row.text for row in Fact.objects.current()]
    assert len(believed) == len(set(believed)) == len(olds)
    assert "Owns bulbs" not in believed


def test_undo_and_supersede_meet(principal: Principal) -> None:
    remember_fact(principal, text="Lives in Bristol", key="home_city")
    leeds = remember_fact(principal, text="Lives in Leeds", key="home_city").memory_id

    def work(number: int) -> WriteOutcome:
        if number % 2:
            return undo(principal, kind=Kind.SEMANTIC, memory_id=leeds)
        return supersede(principal, old_ids=[leeds], text=f"Lives in town {number}")

    outcomes = together(attempted(work))
    # Whichever came first; where it was replaced first, the undo takes back that.
    assert sum(outcome is not None for outcome in outcomes[0::2]) <= 1
    assert sum(outcome is not None for outcome in outcomes[1::2]) == 1
    assert Fact.objects.current().get().text in ("Lives in Bristol", "Lives in Leeds")


def test_a_past_corrected_many_times_at_once_is_corrected_once(principal: Principal) -> None:
    bristol = remember_fact(principal, text="Lives in Bristol", key="home_city").memory_id
    remember_fact(principal, text="Lives in Leeds", key="home_city")
    outcomes = together(
        attempted(
            lambda number: correct(principal, kind=Kind.SEMANTIC, memory_id=bristol, text=f"Lives in town {number}")
        )
    )
    assert sum(outcome is not None for outcome in outcomes) == 1
    assert Fact.objects.count() == 3


def test_what_is_promoted_many_times_at_once_has_one_copy(admin_principal: Principal) -> None:
    fact = remember_fact(admin_principal, text="The tap drips").memory_id
    outcomes = together(lambda _: promote(admin_principal, kind=Kind.SEMANTIC, memory_id=fact, to=Scope.TENANT))
    assert [outcome.result for outcome in outcomes].count(WriteResult.CREATED) == 1
    assert Fact.objects.filter(scope=Scope.TENANT).count() == 1


def test_administrators_who_promote_the_same_make_one_copy(tenant: Tenant) -> None:
    admins = [own_principal(make_membership(tenant, role="admin")) for _ in range(THREADS)]
    facts = [remember_fact(admin, text="The tap drips", key="tap").memory_id for admin in admins]
    together(lambda number: promote(admins[number], kind=Kind.SEMANTIC, memory_id=facts[number], to=Scope.TENANT))
    assert Fact.objects.filter(scope=Scope.TENANT).count() == 1


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


@pytest.mark.english
def test_contradicting_facts_at_once_are_asked_about_once_for_each_pair(principal: Principal) -> None:
    texts = ("Is allergic to nuts", "Is not allergic to nuts")
    outcomes = together(lambda number: remember_fact(principal, text=texts[number % 2]))
    assert [outcome.result for outcome in outcomes].count(WriteResult.QUEUED_FOR_REVIEW) == 1
    assert Fact.objects.current().count() == 2
    assert ReviewItem.objects.count() == 1

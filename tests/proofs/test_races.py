"""Many at once, one result: what the database makes exact stays exact under contention."""

from __future__ import annotations

import pytest
from pytest_django import Settings

from memories.models import Fact, RecallTrace
from memories.recall import recording
from memories.recall.pipeline import recall
from memories.selectors.history.chains import verify_chains
from memories.services.facts.remember import remember_fact
from memories.services.sessions.turns import begin_turn, finish_turn
from memories.types import Kind, Status, WriteResult
from tenants.audit.verification import verify_all
from tenants.principal import Principal
from tests.proofs.crowd import at_once

WORDINGS = ("My dog is called Rex", "My dog's name is Rex", "My dog is named Rex")
RECALLERS = 8
RECALLS_EACH = 50

pytestmark = pytest.mark.django_db(transaction=True)


def test_threads_that_write_one_fact_leave_one_memory(principal: Principal, threads: int) -> None:
    outcomes = at_once(threads, lambda _: remember_fact(principal, text="Lives in Edinburgh"))
    (fact,) = Fact.objects.of(principal)
    assert {outcome.memory_id for outcome in outcomes} == {fact.pk}
    assert sum(outcome.result is WriteResult.CREATED for outcome in outcomes) == 1
    assert all(report.ok for report in verify_all())


def test_threads_that_write_one_statement_in_other_words_leave_one_memory(principal: Principal, threads: int) -> None:
    at_once(threads, lambda number: remember_fact(principal, text=WORDINGS[number % len(WORDINGS)]))
    assert Fact.objects.of(principal).get().version == threads
    assert all(report.ok for report in verify_all())


def test_threads_that_set_one_key_leave_one_current_value_and_one_chain(principal: Principal, threads: int) -> None:
    cities = [f"Lives in city number {number}" for number in range(threads)]
    at_once(threads, lambda number: remember_fact(principal, text=cities[number], key="home_city"))
    facts = Fact.objects.of(principal)
    assert facts.filter(status=Status.ACTIVE).count() == 1
    assert sorted(facts.values_list("text", flat=True)) == sorted(cities)
    assert verify_chains().ok
    assert all(report.ok for report in verify_all())


@pytest.mark.parametrize("mode", ["background", "inline"])
def test_each_recall_is_recorded_once(principal: Principal, settings: Settings, mode: str) -> None:
    settings.MEMORYHUB_RECORDING = mode
    fact = remember_fact(principal, text="Allergic to peanuts").memory_id

    def ask(_: int) -> None:
        for _ in range(RECALLS_EACH):
            assert fact in {item.id for item in recall(principal, "which nuts must I avoid?").items}

    at_once(RECALLERS, ask)
    recording.flush()
    assert RecallTrace.objects.of(principal).count() == RECALLERS * RECALLS_EACH


def test_each_answer_made_from_a_fact_counts_once(principal: Principal) -> None:
    fact = remember_fact(principal, text="Allergic to peanuts").memory_id

    def answer(_: int) -> None:
        for _ in range(RECALLS_EACH):
            turn = begin_turn(principal, text="Which nuts must I avoid?")
            said, shown = "You are allergic to peanuts.", [(Kind.SEMANTIC, fact)]
            finish_turn(principal, session_id=turn.session_id, turn=1, text=said, shown=shown)

    at_once(RECALLERS, answer)
    assert Fact.objects.of(principal).get(pk=fact).use_count == RECALLERS * RECALLS_EACH

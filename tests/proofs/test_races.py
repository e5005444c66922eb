"""Many at once, one result: what the database makes exact stays exact under contention."""

from __future__ import annotations

import pytest

from memories.models import Fact
from memories.selectors.chains import verify_chains
from memories.services.facts import remember_fact
from memories.types import Status, WriteResult
from tenants.audit import verify_all
from tenants.principal import Principal
from tests.proofs.crowd import at_once

pytestmark = pytest.mark.django_db(transaction=True)


def test_threads_that_write_one_fact_leave_one_memory(principal: Principal, threads: int) -> None:
    outcomes = at_once(threads, lambda _: remember_fact(principal, text="Lives in Edinburgh"))
    (fact,) = Fact.objects.of(principal)
    assert {outcome.memory_id for outcome in outcomes} == {fact.pk}
    assert sum(outcome.result is WriteResult.CREATED for outcome in outcomes) == 1
    assert all(report.ok for report in verify_all())


def test_threads_that_set_one_key_leave_one_current_value_and_one_chain(principal: Principal, threads: int) -> None:
    cities = [f"Lives in city number {number}" for number in range(threads)]
    at_once(threads, lambda number: remember_fact(principal, text=cities[number], key="home_city"))
    facts = Fact.objects.of(principal)
    assert facts.filter(status=Status.ACTIVE).count() == 1
    assert sorted(facts.values_list("text", flat=True)) == sorted(cities)
    assert verify_chains().ok
    assert all(report.ok for report in verify_all())

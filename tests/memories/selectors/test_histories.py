"""Histories are browsed and searched by what somebody would ask for, within one tenant, page by page."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from memories.models import Fact
from memories.selectors.history.listing import HistoryFilter, StateOutcome, histories, history_rows, page_of_histories
from memories.services.facts.promote import promote
from memories.services.facts.remember import remember_fact
from memories.services.facts.supersede import correct, retire
from memories.services.facts.undo import undo
from memories.services.playbooks import remember_playbook
from memories.types import Kind, Scope
from tenants.principal import ActorKind, Principal
from tests.memories.five import Five, live_five
from tests.stored import lives

pytestmark = pytest.mark.django_db


lived, life = lives(live_five)


@pytest.fixture
def five(life: Five) -> Five:
    return life


@pytest.fixture
def by(principal: Principal) -> HistoryFilter:
    return HistoryFilter(tenant_id=principal.tenant_id)


def found(by: HistoryFilter) -> list[UUID]:
    return [row.pk for row in page_of_histories(by).rows]


def test_a_chain_is_found_once_by_the_latest_state_that_ended(
    five: Five, by: HistoryFilter, principal: Principal
) -> None:
    remember_fact(principal, text="Has never changed")
    assert found(by) == [five.wrong]
    assert len(found(replace(by, everything=True))) == 6


def test_what_was_brought_back_and_ended_again_is_found_once(
    five: Five, by: HistoryFilter, principal: Principal
) -> None:
    retire(principal, kind=Kind.SEMANTIC, memory_id=five.back)
    assert found(by) == [five.back]
    undo(principal, kind=Kind.SEMANTIC, memory_id=five.back)
    assert found(by) == [five.back]
    again = Fact.objects.current().get(restores=five.back).pk
    retire(principal, kind=Kind.SEMANTIC, memory_id=again)
    assert found(by) == [again]


@pytest.mark.parametrize(
    ("how", "names"),
    [
        (StateOutcome.NATURAL, {"flat", "boat", "both"}),
        (StateOutcome.HARSH, {"wrong"}),
        (StateOutcome.RETIRED, {"gone"}),
        (StateOutcome.MERGED, {"flat", "boat"}),
        (StateOutcome.UNDONE, {"both", "wrong"}),
        (StateOutcome.PROMOTED, {"shared", "copy"}),
    ],
)
def test_states_are_found_by_what_became_of_them(
    five: Five, by: HistoryFilter, admin_principal: Principal, principal: Principal, how: StateOutcome, names: set[str]
) -> None:
    gone = remember_fact(principal, text="Has a dog").memory_id
    retire(principal, kind=Kind.SEMANTIC, memory_id=gone)
    shared = remember_fact(admin_principal, text="The gate closes at six").memory_id
    copy = promote(admin_principal, kind=Kind.SEMANTIC, memory_id=shared, to=Scope.TENANT).memory_id
    ids = {name: getattr(five, name) for name in ("flat", "boat", "both", "wrong", "back")}
    ids |= {"gone": gone, "shared": shared, "copy": copy}
    natural = {"gone"} if how is StateOutcome.NATURAL else set()
    assert set(found(replace(by, outcome=how))) == {ids[name] for name in names | natural}


def test_words_are_found_in_any_state(five: Five, by: HistoryFilter) -> None:
    assert found(replace(by, text="FLAT bristol")) == [five.flat]
    assert found(replace(by, text="swansea")) == [five.wrong]
    assert set(found(replace(by, text="boat cardiff"))) == {five.boat, five.both, five.wrong}
    assert found(replace(by, text="swansea flat")) == []


def test_states_are_found_by_member_key_and_time(
    five: Five, by: HistoryFilter, principal: Principal, other_member: Principal
) -> None:
    for city in ("Cork", "Sligo"):
        remember_fact(other_member, text=f"Lives in {city}", key="home")
    assert len(found(replace(by, user_id=other_member.user_id))) == 1
    assert found(replace(by, user_id=principal.user_id)) == [five.wrong]
    assert set(found(replace(by, key="home"))) >= {five.flat, five.both, five.wrong}
    assert found(replace(by, key="boat")) == []
    now = timezone.now()
    month = replace(by, since=now - timedelta(days=70), until=now - timedelta(days=50))
    assert set(found(month)) == {five.flat, five.boat}


def test_states_are_found_by_who_ended_them(five: Five, by: HistoryFilter, principal: Principal) -> None:
    agent = principal.as_agent()
    remember_fact(agent, text="Prefers tea", key="drink")
    remember_fact(agent, text="Prefers coffee", key="drink")
    tea = Fact.objects.get(text="Prefers tea").pk
    assert found(replace(by, actor_kind=ActorKind.AGENT)) == [tea]
    by_her = replace(by, actor_id=principal.user_id)
    assert set(found(by_her)) == {five.flat, five.boat, five.both, five.wrong, tea}
    assert found(replace(by_her, actor_kind=ActorKind.STAFF)) == []
    assert found(replace(by, actor_id=five.flat)) == []


def test_nothing_of_another_tenant_is_found(
    five: Five, by: HistoryFilter, other_tenant_member: Principal, admin_principal: Principal
) -> None:
    theirs = HistoryFilter(tenant_id=other_tenant_member.tenant_id)
    assert found(theirs) == []
    for how in StateOutcome:
        assert found(replace(theirs, outcome=how)) == []
    assert found(replace(theirs, user_id=admin_principal.user_id, text="boat", everything=True)) == []


def test_what_is_shared_is_looked_at_apart(five: Five, by: HistoryFilter, admin_principal: Principal) -> None:
    for hour in ("five", "six"):
        remember_fact(admin_principal, text=f"We close at {hour}", key="hours", scope=Scope.TENANT)
    assert [row.text for row in page_of_histories(replace(by, shared=True)).rows] == ["We close at five"]
    assert found(HistoryFilter(tenant_id=None)) == []


def test_how_tos_have_histories(by: HistoryFilter, principal: Principal) -> None:
    first = remember_playbook(principal, title="Reset the router", steps=["Pull the plug"]).memory_id
    correct(principal, kind=Kind.PROCEDURAL, memory_id=first, text="Press the knob")
    of_how_tos = replace(by, kind=Kind.PROCEDURAL)
    assert found(of_how_tos) == [first]
    assert found(replace(of_how_tos, text="knob")) == [first]
    assert found(replace(of_how_tos, key="home")) == []


def test_each_state_comes_with_its_successor_and_the_event_of_its_end(five: Five, by: HistoryFilter) -> None:
    by_id = {change.row.pk: change for change in history_rows(page_of_histories(replace(by, everything=True)).rows)}
    flat, back = by_id[five.flat], by_id[five.back]
    assert flat.successor and flat.event and back.event
    assert (flat.successor.pk, flat.event.action) == (five.both, "fact.superseded")
    assert (back.successor, back.event.action) == (None, "fact.restored")


def test_pages_follow_each_other_without_gap_or_repetition(
    by: HistoryFilter, principal: Principal, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(7):
        for value in ("one", "two"):
            remember_fact(principal, text=f"Number {number} is {value}", key=f"number_{number}")
    seen: list[UUID] = []
    cursor = ""
    for _ in range(4):
        with django_assert_num_queries(2):
            page = page_of_histories(by, limit=2, cursor=cursor)
            history_rows(page.rows)
        seen += [row.pk for row in page.rows]
        cursor = page.next_cursor
    assert (len(seen), len(set(seen)), cursor) == (7, 7, "")
    assert list(histories(by).order_by("-superseded_at", "id").values_list("pk", flat=True)) == seen

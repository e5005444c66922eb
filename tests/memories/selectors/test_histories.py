"""Histories are browsed and searched by what somebody would ask for, within one tenant, page by page."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from memories.models import Fact
from memories.selectors.history.listing import How, Sought, changes_of, histories, page_of_histories
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
def sought(principal: Principal) -> Sought:
    return Sought(tenant_id=principal.tenant_id)


def found(sought: Sought) -> list[UUID]:
    return [row.pk for row in page_of_histories(sought).rows]


def test_a_chain_is_found_once_by_the_latest_state_that_ended(five: Five, sought: Sought, principal: Principal) -> None:
    remember_fact(principal, text="Has never changed")
    assert found(sought) == [five.wrong]
    assert len(found(replace(sought, everything=True))) == 6


def test_what_was_brought_back_and_ended_again_is_found_once(five: Five, sought: Sought, principal: Principal) -> None:
    retire(principal, kind=Kind.SEMANTIC, memory_id=five.back)
    assert found(sought) == [five.back]
    undo(principal, kind=Kind.SEMANTIC, memory_id=five.back)
    assert found(sought) == [five.back]
    again = Fact.objects.current().get(restores=five.back).pk
    retire(principal, kind=Kind.SEMANTIC, memory_id=again)
    assert found(sought) == [again]


@pytest.mark.parametrize(
    ("how", "names"),
    [
        (How.NATURAL, {"flat", "boat", "both"}),
        (How.HARSH, {"wrong"}),
        (How.RETIRED, {"gone"}),
        (How.MERGED, {"flat", "boat"}),
        (How.UNDONE, {"both", "wrong"}),
        (How.PROMOTED, {"shared", "copy"}),
    ],
)
def test_states_are_found_by_what_became_of_them(
    five: Five, sought: Sought, admin_principal: Principal, principal: Principal, how: How, names: set[str]
) -> None:
    gone = remember_fact(principal, text="Has a dog").memory_id
    retire(principal, kind=Kind.SEMANTIC, memory_id=gone)
    shared = remember_fact(admin_principal, text="The gate closes at six").memory_id
    copy = promote(admin_principal, kind=Kind.SEMANTIC, memory_id=shared, to=Scope.TENANT).memory_id
    ids = {name: getattr(five, name) for name in ("flat", "boat", "both", "wrong", "back")}
    ids |= {"gone": gone, "shared": shared, "copy": copy}
    natural = {"gone"} if how is How.NATURAL else set()
    assert set(found(replace(sought, how=how))) == {ids[name] for name in names | natural}


def test_words_are_found_in_any_state(five: Five, sought: Sought) -> None:
    assert found(replace(sought, text="FLAT bristol")) == [five.flat]
    assert found(replace(sought, text="swansea")) == [five.wrong]
    assert set(found(replace(sought, text="boat cardiff"))) == {five.boat, five.both, five.wrong}
    assert found(replace(sought, text="swansea flat")) == []


def test_states_are_found_by_member_key_and_time(
    five: Five, sought: Sought, principal: Principal, other_member: Principal
) -> None:
    for city in ("Cork", "Sligo"):
        remember_fact(other_member, text=f"Lives in {city}", key="home")
    assert len(found(replace(sought, user_id=other_member.user_id))) == 1
    assert found(replace(sought, user_id=principal.user_id)) == [five.wrong]
    assert set(found(replace(sought, key="home"))) >= {five.flat, five.both, five.wrong}
    assert found(replace(sought, key="boat")) == []
    now = timezone.now()
    month = replace(sought, since=now - timedelta(days=70), until=now - timedelta(days=50))
    assert set(found(month)) == {five.flat, five.boat}


def test_states_are_found_by_who_ended_them(five: Five, sought: Sought, principal: Principal) -> None:
    agent = principal.as_agent()
    remember_fact(agent, text="Prefers tea", key="drink")
    remember_fact(agent, text="Prefers coffee", key="drink")
    tea = Fact.objects.get(text="Prefers tea").pk
    assert found(replace(sought, actor_kind=ActorKind.AGENT)) == [tea]
    by_her = replace(sought, actor_id=principal.user_id)
    assert set(found(by_her)) == {five.flat, five.boat, five.both, five.wrong, tea}
    assert found(replace(by_her, actor_kind=ActorKind.STAFF)) == []
    assert found(replace(sought, actor_id=five.flat)) == []


def test_nothing_of_another_tenant_is_found(
    five: Five, sought: Sought, other_tenant_member: Principal, admin_principal: Principal
) -> None:
    theirs = Sought(tenant_id=other_tenant_member.tenant_id)
    assert found(theirs) == []
    for how in How:
        assert found(replace(theirs, how=how)) == []
    assert found(replace(theirs, user_id=admin_principal.user_id, text="boat", everything=True)) == []


def test_what_is_shared_is_looked_at_apart(five: Five, sought: Sought, admin_principal: Principal) -> None:
    for hour in ("five", "six"):
        remember_fact(admin_principal, text=f"We close at {hour}", key="hours", scope=Scope.TENANT)
    assert [row.text for row in page_of_histories(replace(sought, shared=True)).rows] == ["We close at five"]
    assert found(Sought(tenant_id=None)) == []


def test_how_tos_have_histories(sought: Sought, principal: Principal) -> None:
    first = remember_playbook(principal, title="Reset the router", steps=["Pull the plug"]).memory_id
    correct(principal, kind=Kind.PROCEDURAL, memory_id=first, text="Press the knob")
    of_how_tos = replace(sought, kind=Kind.PROCEDURAL)
    assert found(of_how_tos) == [first]
    assert found(replace(of_how_tos, text="knob")) == [first]
    assert found(replace(of_how_tos, key="home")) == []


def test_each_state_comes_with_its_successor_and_the_event_of_its_end(five: Five, sought: Sought) -> None:
    by_id = {change.row.pk: change for change in changes_of(page_of_histories(replace(sought, everything=True)).rows)}
    flat, back = by_id[five.flat], by_id[five.back]
    assert flat.successor is not None
    assert flat.event is not None
    assert back.event is not None
    assert (flat.successor.pk, flat.event.action) == (five.both, "fact.superseded")
    assert (back.successor, back.event.action) == (None, "fact.restored")


def test_pages_follow_each_other_without_gap_or_repetition(
    sought: Sought, principal: Principal, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(7):
        for value in ("one", "two"):
            remember_fact(principal, text=f"Number {number} is {value}", key=f"number_{number}")
    seen: list[UUID] = []
    cursor = ""
    for _ in range(4):
        with django_assert_num_queries(2):
            page = page_of_histories(sought, limit=2, cursor=cursor)
            changes_of(page.rows)
        seen += [row.pk for row in page.rows]
        cursor = page.next_cursor
    assert (len(seen), len(set(seen)), cursor) == (7, 7, "")
    assert list(histories(sought).order_by("-superseded_at", "id").values_list("pk", flat=True)) == seen

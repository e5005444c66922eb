"""Selectors: what is listed, found and chained is the principal's own, or shared with them."""

from __future__ import annotations

import uuid

import pytest

from memories.errors import InvalidInput, NotFound
from memories.selectors.member_lists import counts_of
from memories.selectors.memories import find_memory, get_memory, list_memories
from memories.services.catalog import remember_catalog_entry
from memories.services.facts.remember import remember_fact
from memories.services.facts.supersede import supersede
from memories.types import Kind, Scope, Status
from tenants.principal import Principal

pytestmark = pytest.mark.django_db


def test_a_list_holds_the_current_ones_newest_first(principal: Principal) -> None:
    old = remember_fact(principal, text="Lives in Bristol").memory_id
    tea = remember_fact(principal, text="Likes tea").memory_id
    new = supersede(principal, old_ids=[old], text="Lives in Edinburgh").memory_id
    assert [row.pk for row in list_memories(principal, Kind.SEMANTIC)] == [new, tea]
    assert [row.pk for row in list_memories(principal, Kind.SEMANTIC, status=[Status.SUPERSEDED])] == [old]


def test_every_word_of_a_search_must_match_and_a_filter_that_cannot_apply_is_refused(principal: Principal) -> None:
    wanted = remember_fact(principal, text="Drinks green tea at work", category="habits").memory_id
    remember_fact(principal, text="Drinks coffee at work")
    assert [row.pk for row in list_memories(principal, Kind.SEMANTIC, query="WORK tea")] == [wanted]
    assert [row.pk for row in list_memories(principal, Kind.SEMANTIC, category="habits")] == [wanted]
    with pytest.raises(InvalidInput, match="key"):
        list_memories(principal, Kind.EPISODIC, key="home_city")


def test_members_see_what_their_tenant_shares(
    principal: Principal, admin_principal: Principal, other_tenant_member: Principal
) -> None:
    entry = remember_catalog_entry(admin_principal, title="Arc S", text="A charger").memory_id
    shared = remember_fact(admin_principal, text="We close at five", scope=Scope.TENANT).memory_id
    assert get_memory(principal, Kind.CATALOG, entry).pk == entry
    assert [row.pk for row in list_memories(principal, Kind.SEMANTIC, shared=True)] == [shared]
    assert not list_memories(principal, Kind.SEMANTIC)
    assert not list_memories(other_tenant_member, Kind.CATALOG)
    assert not list_memories(other_tenant_member, Kind.SEMANTIC, shared=True)


def test_reading_isolates_others(principal: Principal, stranger: Principal) -> None:
    theirs = remember_fact(stranger, text="Theirs").memory_id
    for unknown in (theirs, uuid.uuid4()):
        with pytest.raises(NotFound, match="No such memory"):
            get_memory(principal, Kind.SEMANTIC, unknown)
        with pytest.raises(NotFound, match="No such memory"):
            find_memory(principal, unknown)
    assert not list_memories(principal, Kind.SEMANTIC, query="Theirs")
    assert set(counts_of(principal).values()) == {0}

"""Where a memory stands in the index, as its member's own search can tell."""

from __future__ import annotations

import pytest

from memories.errors import SearchForbidden, SearchUnavailable
from memories.models import Fact, OutboxEntry
from memories.search import search_plane
from memories.search.outbox import drain
from memories.selectors.staff.index_state import IndexStanding, index_state_of, lag_of, unindexed, waiting_of
from memories.services.facts.remember import remember_fact
from tenants.principal import Principal

pytestmark = pytest.mark.django_db


@pytest.fixture
def fact(principal: Principal) -> Fact:
    """In the index."""
    fact_id = remember_fact(principal, text="Keeps bees behind the shed", key="bees").memory_id
    drain()
    return Fact.objects.get(pk=fact_id)


def test_what_the_index_has_is_shown_as_it_is_there(principal: Principal, fact: Fact) -> None:
    state = index_state_of(principal, fact)
    assert (state.standing, state.encoded, state.waiting) == (IndexStanding.SAME, True, ())
    assert state.document is not None and state.document.text == "bees: Keeps bees behind the shed"


def test_a_change_is_on_its_way_until_it_is_carried(principal: Principal, fact: Fact) -> None:
    remember_fact(principal, text="Keeps geese behind the shed", key="bees")
    fact.refresh_from_db()
    state = index_state_of(principal, fact)
    assert state.standing is IndexStanding.ON_ITS_WAY and [entry.version for entry in state.waiting] == [fact.version]
    assert unindexed(principal, [fact.pk]) == {fact.pk} and lag_of(waiting_of(principal)).waiting == 2
    drain()
    assert index_state_of(principal, fact).standing is IndexStanding.SAME and lag_of(waiting_of(principal)).waiting == 0


def test_what_was_lost_on_the_way_is_behind_or_absent(principal: Principal, fact: Fact) -> None:
    fact.version += 1
    assert index_state_of(principal, fact).standing is IndexStanding.BEHIND
    lost = remember_fact(principal, text="Grows leeks").memory_id
    OutboxEntry.objects.all().delete()
    assert index_state_of(principal, Fact.objects.get(pk=lost)).standing is IndexStanding.ABSENT


@pytest.mark.parametrize(
    ("error", "standing"),
    [
        pytest.param(SearchUnavailable("The index is away."), IndexStanding.DOWN, id="away"),
        pytest.param(SearchForbidden("The key was revoked."), IndexStanding.NO_KEY, id="without a key"),
    ],
)
def test_a_search_that_answers_nothing_is_a_state(
    principal: Principal, fact: Fact, monkeypatch: pytest.MonkeyPatch, error: Exception, standing: IndexStanding
) -> None:
    def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr(type(search_plane()), "see", refuse)
    state = index_state_of(principal, fact)
    assert (state.standing, state.document, state.refusal) == (standing, None, str(error))


def test_another_member_s_search_sees_nothing_of_it(fact: Fact, other_member: Principal) -> None:
    assert index_state_of(other_member, fact).document is None
    assert unindexed(other_member, [fact.pk]) == frozenset()

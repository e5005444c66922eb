"""Supersede, correct, retire: natural and harsh ends, merges, and a history that stays."""

from __future__ import annotations

import pytest

from memories.errors import Conflict, InvalidInput, NotFound
from memories.models import Fact, Playbook
from memories.selectors.chains import verify_chains
from memories.selectors.memories import chain_of, history_of
from memories.services.facts import remember_fact
from memories.services.playbooks import remember_playbook
from memories.services.remember import remember_episode
from memories.services.sessions import start_session
from memories.services.supersede import correct, retire, supersede
from memories.types import Contradiction, Kind, Status
from tenants.principal import Principal

pytestmark = pytest.mark.django_db


def test_a_natural_supersession_keeps_key_category_and_pin(principal: Principal) -> None:
    old = remember_fact(principal, text="Lives in Bristol", key="home_city", category="home", pinned=True).memory_id
    new = supersede(principal, old_ids=[old], text="Lives in Edinburgh").memory_id
    row = Fact.objects.get(pk=new)
    assert (row.key, row.category, row.pinned) == ("home_city", "home", True)
    assert not Fact.objects.get(pk=old).retracted


def test_a_correction_is_harsh(principal: Principal) -> None:
    old = remember_fact(principal, text="Has two cats").memory_id
    correct(principal, kind=Kind.SEMANTIC, memory_id=old, text="Has three cats")
    row = Fact.objects.get(pk=old)
    assert (row.retracted, row.contradiction) == (True, Contradiction.HARSH)


def test_correcting_a_playbook_makes_a_new_version(principal: Principal) -> None:
    old = remember_playbook(principal, title="Reset the hub", trigger="E31", steps=["Pull the plug"]).memory_id
    new = correct(principal, kind=Kind.PROCEDURAL, memory_id=old, text="Pull the plug\nWait ten seconds").memory_id
    assert Playbook.objects.get(pk=new).steps == ["Pull the plug", "Wait ten seconds"]
    assert Playbook.objects.get(pk=old).superseded_by_id == new


def test_retiring_hides_without_a_successor(principal: Principal) -> None:
    fact = remember_fact(principal, text="Has a Leaf on lease").memory_id
    retire(principal, kind=Kind.SEMANTIC, memory_id=fact, reason="lease ended")
    row = Fact.objects.get(pk=fact)
    assert (row.status, row.superseded_by_id) == (Status.SUPERSEDED, None)
    assert verify_chains().ok


def test_a_chain_with_a_merge_reads_oldest_first_from_any_of_its_states(principal: Principal) -> None:
    first = remember_fact(principal, text="Works at Acme").memory_id
    second = remember_fact(principal, text="Commutes by train").memory_id
    merged = supersede(principal, old_ids=[first, second], text="Works from home").memory_id
    last = supersede(principal, old_ids=[merged], text="Works in a shared studio").memory_id
    for start in (first, second, merged, last):
        assert [link.id for link in chain_of(principal, Kind.SEMANTIC, start)] == [first, second, merged, last]


def test_the_history_tells_who_did_what(principal: Principal) -> None:
    old = remember_fact(principal, text="Lives in Bristol", key="home_city").memory_id
    new = remember_fact(principal.as_agent(), text="Lives in Edinburgh", key="home_city", reason="moved").memory_id
    events = [(event.action, event.actor_kind) for event in history_of(principal, [old, new])]
    assert events == [("fact.created", "member"), ("fact.created", "agent"), ("fact.superseded", "agent")]


def test_the_same_wording_is_no_correction(principal: Principal) -> None:
    fact = remember_fact(principal, text="Likes tea").memory_id
    with pytest.raises(InvalidInput):
        correct(principal, kind=Kind.SEMANTIC, memory_id=fact, text="likes  TEA")


def test_an_episode_cannot_be_corrected(principal: Principal) -> None:
    session = start_session(principal)
    episode = remember_episode(principal, session_id=session.pk, text="hello").memory_id
    with pytest.raises(Conflict):
        correct(principal, kind=Kind.EPISODIC, memory_id=episode, text="goodbye")


@pytest.mark.parametrize("stranger", ["other_member", "other_tenant_member"])
def test_correct_and_retire_isolate_others(principal: Principal, stranger: str, request: pytest.FixtureRequest) -> None:
    theirs = remember_fact(request.getfixturevalue(stranger), text="Theirs").memory_id
    with pytest.raises(NotFound):
        correct(principal, kind=Kind.SEMANTIC, memory_id=theirs, text="Mine")
    with pytest.raises(NotFound):
        retire(principal, kind=Kind.SEMANTIC, memory_id=theirs)
    with pytest.raises(NotFound):
        chain_of(principal, Kind.SEMANTIC, theirs)
    assert not history_of(principal, [theirs])

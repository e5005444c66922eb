"""A chain is told whole from any of its states: merges, undos, promotions, what was erased, and the words behind it."""

from __future__ import annotations

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from memories.models import ConsolidationRun, Fact, Mention, Message, Relation, RunState
from memories.selectors.history import stories
from memories.selectors.history.stories import (
    ChainJoint,
    Joint,
    erased_state,
    event_id_of,
    event_reason,
    find_state,
    story_of,
    story_of_erased,
    words_of,
)
from memories.services.erasure.forget import forget
from memories.services.facts.promote import promote
from memories.services.facts.remember import remember_fact
from memories.services.facts.supersede import correct, retire
from memories.services.playbooks import remember_playbook
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import start_session
from memories.types import Kind, Scope
from tenants.models import AuditPayload
from tenants.principal import Principal
from tests.audit import audit_unguarded
from tests.memories.five import SAID, Five, live_five
from tests.stored import lives

pytestmark = pytest.mark.django_db


lived, life = lives(live_five)


@pytest.fixture
def five(life: Five) -> Five:
    return life


def told(memory_id: object) -> stories.Story:
    row = find_state(Kind.SEMANTIC, memory_id)  # type: ignore[arg-type]  # an id of a test
    assert row is not None
    return story_of(row)


@pytest.mark.parametrize("asked", ["flat", "boat", "both", "wrong", "back"])
def test_any_state_leads_to_the_whole_chain(five: Five, asked: str) -> None:
    story = told(getattr(five, asked))
    assert tuple(row.pk for row in story.rows) == five.ids
    assert story.asked == getattr(five, asked)
    assert set(story.links) == {
        ChainJoint(five.flat, five.both, Joint.SUPERSEDED),
        ChainJoint(five.boat, five.both, Joint.SUPERSEDED),
        ChainJoint(five.both, five.wrong, Joint.SUPERSEDED),
        ChainJoint(five.wrong, five.back, Joint.SUPERSEDED),
        ChainJoint(five.both, five.back, Joint.RESTORED),
    }


def test_each_state_has_its_events_with_the_reasons(five: Five) -> None:
    story = told(five.both)
    assert [event.action for event in story.events[five.both]] == ["fact.created", "fact.superseded"]
    assert event_reason(story.events[five.flat][-1]) == "moved"
    assert event_reason(story.events[five.back][-1]) == "misheard"
    assert event_id_of(story.events[five.flat][-1], "superseded_by") == five.both
    assert len(story.chains) == 1


def test_what_was_said_stands_where_a_state_began_and_where_another_ended(five: Five, principal: Principal) -> None:
    words = words_of(principal, told(five.flat))
    assert [each.text for each in words.learned_from[five.both]] == [SAID[0]]
    assert [each.text for each in words.ended_by[five.flat]] == [SAID[0]]
    assert [each.text for each in words.ended_by[five.both]] == [SAID[1]]
    assert five.wrong not in words.ended_by


def test_nobody_else_s_words_are_quoted(five: Five, other_member: Principal) -> None:
    words = words_of(other_member, told(five.flat))
    assert (dict(words.learned_from), dict(words.ended_by)) == ({}, {})


def test_another_owner_s_state_is_never_part_of_a_chain(five: Five, other_member: Principal) -> None:
    theirs = remember_fact(other_member, text="Bob's").memory_id
    Fact.objects.filter(pk=theirs).update(restores=five.flat)
    assert theirs not in {row.pk for row in told(five.flat).rows}


def test_a_state_that_was_erased_leaves_a_mark_where_it_stood(principal: Principal) -> None:
    first, second, third = (
        remember_fact(principal, text=f"Weighs {stone} stone", key="weight").memory_id for stone in (10, 11, 12)
    )
    forget(principal, kind=Kind.SEMANTIC, memory_id=second)
    story = told(first)
    assert [(each.id, each.at is not None) for each in story.erased] == [(second, True)]
    assert set(story.links) == {
        ChainJoint(first, second, Joint.SUPERSEDED),
        ChainJoint(second, third, Joint.SUPERSEDED, bridged=True),
    }
    event = erased_state(Kind.SEMANTIC, second)
    assert event is not None
    again = story_of_erased(Kind.SEMANTIC, event)
    assert (again.asked, again.links) == (second, story.links)


def test_of_what_was_erased_alone_only_that_is_told(principal: Principal) -> None:
    alone = remember_fact(principal, text="Weighs 10 stone").memory_id
    forget(principal, kind=Kind.SEMANTIC, memory_id=alone)
    event = erased_state(Kind.SEMANTIC, alone)
    assert event is not None and erased_state(Kind.PROCEDURAL, alone) is None
    story = story_of_erased(Kind.SEMANTIC, event)
    assert (story.rows, [each.id for each in story.erased]) == ((), [alone])
    assert find_state(Kind.SEMANTIC, alone) is None


def test_a_promotion_is_a_branch_without_words(admin_principal: Principal) -> None:
    own = remember_fact(admin_principal, text="The gate code is on the board").memory_id
    copy = promote(admin_principal, kind=Kind.SEMANTIC, memory_id=own, to=Scope.TENANT).memory_id
    for asked, other, scope in ((own, copy, Scope.TENANT), (copy, own, Scope.USER)):
        story = told(asked)
        assert [(each.id, each.scope) for each in story.elsewhere] == [(other, scope)]
        assert story.links == (ChainJoint(own, copy, Joint.PROMOTED),)
    assert told(copy).owner.user_id is None
    assert {event.action for event in told(copy).events[copy]} >= {"fact.created"}


def test_what_was_retired_in_a_chat_names_the_words_of_that_turn(principal: Principal) -> None:
    fact = remember_fact(principal, text="Has a dog").memory_id
    session = start_session(principal)
    owner = {"tenant_id": principal.tenant_id, "user_id": principal.user_id}
    said = Message.objects.create(**owner, session=session, turn=1, step=0, role="user", text="Biscuit died")
    answer = Message.objects.create(**owner, session=session, turn=1, step=1, role="assistant", text="I am sorry")
    remember_episode(principal, session_id=session.id, text="Biscuit died", message_id=said.pk)
    retire(principal, kind=Kind.SEMANTIC, memory_id=fact, reason="it died")
    assert dict(words_of(principal, told(fact)).ended_by) == {}
    ended = {"relation": Relation.REPLACED, "kind": Kind.SEMANTIC, "memory_id": fact}
    Mention.objects.create(**owner, **ended, message=answer)
    assert [each.text for each in words_of(principal, told(fact)).ended_by[fact]] == ["Biscuit died"]


def test_what_a_consolidation_retired_names_the_words_that_it_read(principal: Principal) -> None:
    fact = remember_fact(principal, text="Has a dog").memory_id
    session = start_session(principal)
    said = remember_episode(principal, session_id=session.id, text="Biscuit died").memory_id
    retire(principal, kind=Kind.SEMANTIC, memory_id=fact, reason="consolidated")
    line = {"what": "end", "memory_id": str(fact), "superseded_ids": [str(fact)], "episode_ids": [str(said)]}
    owner = {"tenant_id": principal.tenant_id, "user_id": principal.user_id}
    done = {"state": RunState.DONE, "extractor": "rules", "ended_at": timezone.now()}
    ConsolidationRun.objects.create(**owner, **done, decisions=[line])
    assert [each.text for each in words_of(principal, told(fact)).ended_by[fact]] == ["Biscuit died"]


def test_how_tos_have_stories_too(principal: Principal) -> None:
    first = remember_playbook(principal, title="Reset the router", steps=["Pull the plug"]).memory_id
    second = correct(principal, kind=Kind.PROCEDURAL, memory_id=first, text="Press the knob").memory_id
    row = find_state(Kind.PROCEDURAL, first)
    assert row is not None
    assert [each.pk for each in story_of(row).rows] == [first, second]


def test_a_payload_that_was_made_unreadable_hides_nothing_else(five: Five) -> None:
    with audit_unguarded():
        AuditPayload.objects.filter(event__target_id=five.flat).update(document="nothing")
    story = told(five.flat)
    assert len(story.rows) == 5
    assert event_reason(story.events[five.flat][-1]) == ""


def test_a_circle_of_links_ends(five: Five) -> None:
    Fact.objects.filter(pk=five.wrong).update(superseded_by=five.flat)
    assert len(told(five.boat).rows) == 5


def test_a_chain_without_end_is_told_so_far(principal: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stories, "MOST_STATES", 4)
    for stone in range(9):
        remember_fact(principal, text=f"Weighs {stone} stone", key="weight")
    story = told(Fact.objects.current().get().pk)
    assert (len(story.rows), story.whole, story.erased) == (4, False, ())


def test_the_cost_is_bounded_however_long_the_chain_is(
    principal: Principal, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for stone in range(40):
        remember_fact(principal, text=f"Weighs {stone} stone", key="weight")
    row = find_state(Kind.SEMANTIC, Fact.objects.current().get().pk)
    assert row is not None
    with django_assert_max_num_queries(15):
        assert len(story_of(row).rows) == 40

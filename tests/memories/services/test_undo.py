"""Undo: what was replaced or retired by mistake comes back as a new row; the past stays as it was."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.utils import timezone

from memories.errors import Conflict, NotFound
from memories.models import Fact, OutboxEntry, Playbook
from memories.recall.pipeline import recall
from memories.selectors.memories import chain_of, history_of
from memories.services.erasure.forget import forget
from memories.services.facts.remember import remember_fact
from memories.services.facts.supersede import correct, retire, supersede
from memories.services.facts.undo import undo
from memories.services.playbooks import remember_playbook
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import start_session
from memories.types import Contradiction, Kind, Scope, Source, Status, WriteResult
from tenants.principal import Principal

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("everything_is_whole")]

MARCH = datetime(2025, 3, 1, tzinfo=UTC)


def say(principal: Principal, text: str, key: str = "") -> UUID:
    return remember_fact(principal, text=text, key=key).memory_id


def take_back(principal: Principal, memory_id: UUID, kind: Kind = Kind.SEMANTIC) -> UUID:
    return undo(principal, kind=kind, memory_id=memory_id).memory_id


def current(principal: Principal) -> list[str]:
    return sorted(Fact.objects.of(principal).current().values_list("text", flat=True))


def test_undoing_a_successor_brings_back_what_it_replaced(principal: Principal) -> None:
    bristol, leeds = say(principal, "Lives in Bristol", "home_city"), say(principal, "Lives in Leeds", "home_city")
    outcome = undo(principal, kind=Kind.SEMANTIC, memory_id=leeds, reason="misheard")
    back, mistaken = Fact.objects.get(pk=outcome.memory_id), Fact.objects.get(pk=leeds)
    assert (outcome.result, outcome.superseded_ids) == (WriteResult.SUPERSEDED, (leeds,))
    assert (back.text, back.key, back.restores, back.status) == ("Lives in Bristol", "home_city", bristol, "active")
    assert (mistaken.retracted, mistaken.contradiction, mistaken.superseded_by_id) == (True, "harsh", back.pk)
    assert Fact.objects.get(pk=bristol).superseded_by_id == leeds


def test_what_comes_back_is_as_it_was(principal: Principal) -> None:
    episode = remember_episode(principal, session_id=start_session(principal).pk, text="Tea, please").memory_id
    said: dict[str, Any] = {"text": "Drinks tea", "key": "drink", "category": "habits", "valid_from": MARCH}
    said |= {"source": Source.AGENT_INFERRED, "confidence": 0.55, "pinned": True}
    old = remember_fact(principal, **said, supporting_episode_ids=[episode]).memory_id
    back = Fact.objects.get(pk=take_back(principal, say(principal, "Drinks coffee", "drink")))
    assert {name: getattr(back, name) for name in said} == said
    before = Fact.objects.get(pk=old)
    assert (back.content_hash, back.scope, back.task) == (before.content_hash, before.scope, before.task)
    assert [each.pk for each in back.supporting_episodes.all()] == [episode]
    assert back.valid_to is None


def test_as_of_still_answers_with_what_was_believed(principal: Principal) -> None:
    say(principal, "Lives in Bristol", "home_city")
    leeds = say(principal, "Lives in Leeds", "home_city")
    then = Fact.objects.get(pk=leeds).learned_at
    take_back(principal, leeds)
    assert [item.text for item in recall(principal, "where do I live?", as_of=then).items] == ["Lives in Leeds"]
    assert [item.text for item in recall(principal, "where do I live?").items] == ["Lives in Bristol"]


def test_of_a_merge_one_can_be_brought_back_alone_and_the_other_later(principal: Principal) -> None:
    first, second = say(principal, "Works at Acme"), say(principal, "Commutes by train")
    supersede(principal, old_ids=[first, second], text="Works from home")
    take_back(principal, second)
    assert current(principal) == ["Commutes by train"]
    later = undo(principal, kind=Kind.SEMANTIC, memory_id=first)
    assert later.result is WriteResult.CREATED
    assert current(principal) == ["Commutes by train", "Works at Acme"]
    take_back(principal, later.memory_id)
    assert current(principal) == ["Commutes by train"]


def test_an_undo_can_be_undone_again_and_again(principal: Principal) -> None:
    say(principal, "Lives in Bristol", "home_city")
    latest = say(principal, "Lives in Leeds", "home_city")
    for believed in ("Lives in Bristol", "Lives in Leeds") * 3:
        latest = take_back(principal, latest)
        assert current(principal) == [believed]
    assert len(chain_of(principal, Kind.SEMANTIC, latest)) == 8


def test_undoing_the_undo_of_a_merge_closes_all_that_it_brought_back(principal: Principal) -> None:
    olds = [say(principal, text) for text in ("Works at Acme", "Commutes by train")]
    take_back(principal, supersede(principal, old_ids=olds, text="Works from home").memory_id)
    again = take_back(principal, Fact.objects.current()[0].pk)
    assert current(principal) == ["Works from home"]
    take_back(principal, again)
    assert current(principal) == ["Commutes by train", "Works at Acme"]


@pytest.mark.parametrize("contradiction", list(Contradiction))
def test_a_retirement_is_undone_in_its_task_and_that_again(principal: Principal, contradiction: Contradiction) -> None:
    task: dict[str, Any] = {"scope": Scope.TASK, "task": "kitchen"}
    fact = remember_fact(principal, text="The tap drips", valid_from=MARCH, **task).memory_id
    retire(principal, kind=Kind.SEMANTIC, memory_id=fact, contradiction=contradiction)
    back = Fact.objects.get(pk=take_back(principal, fact))
    assert current(principal) == ["The tap drips"]
    assert (back.valid_from, back.scope, back.task) == (MARCH, Scope.TASK, "kitchen")
    take_back(principal, back.pk)
    assert current(principal) == []


def test_a_playbook_comes_back_with_its_outcomes(principal: Principal) -> None:
    old = remember_playbook(
        principal, title="Reset the hub", trigger="E31", steps=["Pull"], success_count=3, last_success_at=MARCH
    ).memory_id
    new = correct(principal, kind=Kind.PROCEDURAL, memory_id=old, text="Pull\nWait").memory_id
    back = Playbook.objects.get(pk=take_back(principal, new, Kind.PROCEDURAL))
    assert (back.restores, back.steps, back.trigger) == (old, ["Pull"], "E31")
    assert (back.success_count, back.last_success_at) == (3, MARCH)


def test_what_was_found_to_be_older_is_not_brought_back(principal: Principal) -> None:
    say(principal, "Lives in Bristol", "home_city")
    leeds = say(principal, "Lives in Leeds", "home_city")
    remember_fact(principal, text="Lives in Bath", key="home_city", learned_at=MARCH)
    take_back(principal, leeds)
    assert current(principal) == ["Lives in Bristol"]


def test_what_was_corrected_meanwhile_comes_back_corrected(principal: Principal) -> None:
    bristol, leeds = say(principal, "Lives in Bristol", "home_city"), say(principal, "Lives in Leeds", "home_city")
    correct(principal, kind=Kind.SEMANTIC, memory_id=bristol, text="Lives in Bath")
    take_back(principal, leeds)
    assert current(principal) == ["Lives in Bath"]


def test_what_an_equal_fact_had_absorbed_comes_back(principal: Principal) -> None:
    dog = say(principal, "Has a dog")
    say(principal, "Has a cat", "pet")
    assert say(principal, "Has a dog", "pet") == dog
    take_back(principal, dog)
    assert current(principal) == ["Has a cat"]


def refused(principal: Principal, memory_id: UUID, words: str) -> None:
    before = list(Fact.objects.order_by("pk").values()), OutboxEntry.objects.count()
    with pytest.raises(Conflict, match=words):
        take_back(principal, memory_id)
    assert (list(Fact.objects.order_by("pk").values()), OutboxEntry.objects.count()) == before


def test_what_was_undone_is_not_undone_twice_nor_what_there_is_nothing_of(principal: Principal) -> None:
    bristol, leeds = say(principal, "Lives in Bristol", "home_city"), say(principal, "Lives in Leeds", "home_city")
    take_back(principal, leeds)
    refused(principal, leeds, "undone already")
    refused(principal, bristol, "brought back already")
    tea, mate = say(principal, "Drinks tea", "drink"), say(principal, "Drinks mate", "drink")
    refused(principal, say(principal, "Likes rain"), "nothing to undo")
    forget(principal, kind=Kind.SEMANTIC, memory_id=tea)
    refused(principal, mate, "nothing to undo")


def test_the_latest_step_is_undone_first(principal: Principal) -> None:
    bristol, leeds = say(principal, "Lives in Bristol", "home_city"), say(principal, "Lives in Leeds", "home_city")
    say(principal, "Lives in York", "home_city")
    refused(principal, bristol, "undo that first")
    take_back(principal, leeds)
    assert current(principal) == ["Lives in Leeds"]


def test_what_never_was_gives_way_to_what_it_replaced(principal: Principal) -> None:
    bristol, leeds = say(principal, "Lives in Bristol", "home_city"), say(principal, "Lives in Leeds", "home_city")
    retire(principal, kind=Kind.SEMANTIC, memory_id=leeds, contradiction=Contradiction.HARSH)
    take_back(principal, bristol)
    assert current(principal) == ["Lives in Bristol"]


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [("Lives in Leeds", "home_city", "the same key"), ("lives in BRISTOL", "", "says the same already")],
)
def test_what_is_believed_by_now_is_not_pushed_aside(principal: Principal, text: str, key: str, words: str) -> None:
    bristol = say(principal, "Lives in Bristol", "home_city")
    retire(principal, kind=Kind.SEMANTIC, memory_id=bristol)
    say(principal, text, key)
    refused(principal, bristol, words)
    assert "Leeds" not in words


def test_the_audit_tells_of_an_undo(principal: Principal) -> None:
    bristol, leeds = say(principal, "Lives in Bristol", "home_city"), say(principal, "Lives in Leeds", "home_city")
    back = undo(principal.as_agent(), kind=Kind.SEMANTIC, memory_id=leeds, reason="misheard").memory_id
    events = list(history_of(principal, [bristol, leeds, back]))[3:]
    told = [(event.action, event.target_id, event.actor_kind, event.payload.data["reason"]) for event in events]
    assert told == [
        ("fact.created", back, "agent", "misheard"),
        ("fact.restored", back, "agent", "misheard"),
        ("fact.superseded", leeds, "agent", "misheard"),
    ]
    assert events[1].payload.data["after"] == {"restores": str(bristol)}


def test_a_date_that_was_given_stays_and_others_begin_anew(principal: Principal) -> None:
    friday = timezone.now() + timedelta(days=3)
    given = remember_fact(principal, text="The lift is out of order", expires_at=friday).memory_id
    ruled = remember_fact(principal, text="Prefers tea", category="preference").memory_id
    Fact.objects.filter(pk=ruled).update(learned_at=MARCH, created_at=MARCH, review_after=MARCH + timedelta(days=90))
    retire(principal, kind=Kind.SEMANTIC, memory_id=given, also_ids=[ruled])
    assert Fact.objects.get(pk=take_back(principal, given)).expires_at == friday
    review = Fact.objects.get(pk=take_back(principal, ruled)).review_after
    assert review is not None and review > timezone.now()


@pytest.mark.parametrize("stranger", ["other_member", "other_tenant_member", "admin_principal"])
def test_undo_isolates_others(principal: Principal, stranger: str, request: pytest.FixtureRequest) -> None:
    other = request.getfixturevalue(stranger)
    say(other, "Lives in Bristol", "home_city")
    theirs = say(other, "Lives in Leeds", "home_city")
    said = []
    for unknown in (theirs, uuid4()):
        with pytest.raises(NotFound) as refusal:
            take_back(principal, unknown)
        said.append(str(refusal.value))
    assert said == ["No such fact."] * 2
    assert Fact.objects.get(pk=theirs).status == Status.ACTIVE

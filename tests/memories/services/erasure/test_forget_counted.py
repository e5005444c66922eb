"""Forgetting everything, or a selection, as it was counted."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import timedelta

import pytest

from memories.attributes.filters import parse_filter
from memories.errors import Conflict, InvalidInput
from memories.models import Episode, Fact, LegalHold, Playbook, RecallTrace, Session
from memories.recall.pipeline import recall
from memories.services.apps import in_app
from memories.services.erasure import forget_all
from memories.services.erasure.forget_all import count_to_forget, forget_counted
from memories.services.facts.remember import remember_fact
from memories.services.playbooks import remember_playbook
from memories.services.policies import set_policy
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import start_session
from memories.types import Filter, Kind
from tenants.errors import Forbidden
from tenants.principal import SYSTEM, Principal, Right

pytestmark = pytest.mark.django_db


def fill(principal: Principal) -> None:
    session = start_session(principal).pk
    remember_episode(principal, session_id=session, text="I keep bees.")
    remember_fact(principal, text="Keeps bees.", metadata={"topic": "bees"})
    remember_fact(principal, text="Lives in Bath.")
    remember_playbook(principal, title="Calm bees", steps=["Smoke."])


def about(topic: str) -> Filter:
    return parse_filter({"field": "metadata.topic", "op": "eq", "value": topic})


def left(principal: Principal) -> tuple[int, ...]:
    return tuple(model._default_manager.of(principal).count() for model in (Session, Episode, Fact, Playbook))


def test_a_count_changes_nothing_and_its_token_erases_everything(principal: Principal, other_member: Principal) -> None:
    fill(principal)
    fill(other_member)
    recall(principal, query="bees")
    count = count_to_forget(principal, filters=None)
    assert (dict(count.memories), count.sessions) == (
        {Kind.EPISODIC: 1, Kind.SEMANTIC: 2, Kind.PROCEDURAL: 1, Kind.ITEM: 0},
        1,
    )
    assert left(principal) == (1, 1, 2, 1)
    done = forget_counted(principal, filters=None, confirm=count.confirm, seconds=60)
    assert (done.memories, done.sessions, done.complete) == (4, 1, True)
    assert left(principal) == (0, 0, 0, 0)
    assert not RecallTrace.objects.of(principal).exists()
    assert left(other_member) == (1, 1, 2, 1)


def test_a_selection_takes_what_matches_alone(principal: Principal) -> None:
    fill(principal)
    count = count_to_forget(principal, filters=about("bees"))
    assert (sum(count.memories.values()), count.sessions) == (1, 0)
    forget_counted(principal, filters=about("bees"), confirm=count.confirm, seconds=60)
    assert [fact.text for fact in Fact.objects.of(principal)] == ["Lives in Bath."]
    assert left(principal) == (1, 1, 1, 1)


def test_what_came_after_the_count_stays(principal: Principal) -> None:
    fill(principal)
    count = count_to_forget(principal, filters=None)
    remember_fact(principal, text="Sold the hives.")
    forget_counted(principal, filters=None, confirm=count.confirm, seconds=60)
    assert [fact.text for fact in Fact.objects.of(principal)] == ["Sold the hives."]


def test_a_token_goes_on_until_all_is_erased(principal: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forget_all, "_BATCH", 1)
    fill(principal)
    token = count_to_forget(principal, filters=None).confirm
    calls = [forget_counted(principal, filters=None, confirm=token, seconds=0) for _ in range(5)]
    assert [each.complete for each in calls][-1] is True
    assert sum(each.memories for each in calls) == 4


def test_a_token_is_for_one_count(
    principal: Principal, other_member: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(principal)
    fill(other_member)
    token = count_to_forget(principal, filters=about("bees")).confirm
    for who, filters, confirm in (
        (principal, None, token),
        (principal, about("wasps"), token),
        (other_member, about("bees"), token),
        (principal, about("bees"), f"{token}x"),
        (principal, about("bees"), "4"),
    ):
        with pytest.raises(InvalidInput, match="confirm"):
            forget_counted(who, filters=filters, confirm=confirm, seconds=60)
    hour_later = time.time() + timedelta(hours=1, seconds=1).total_seconds()
    monkeypatch.setattr("django.core.signing.time.time", lambda: hour_later)
    with pytest.raises(InvalidInput, match="last hour"):
        forget_counted(principal, filters=about("bees"), confirm=token, seconds=60)
    assert left(principal) == left(other_member) == (1, 1, 2, 1)


def test_an_agent_and_a_held_memory_are_refused(principal: Principal) -> None:
    fill(principal)
    token = count_to_forget(principal, filters=None).confirm
    for who in (principal.as_agent(), replace(principal, rights=frozenset({Right.READ, Right.WRITE}))):
        with pytest.raises(Forbidden):
            forget_counted(who, filters=None, confirm=token, seconds=60)
    LegalHold.objects.create(tenant_id=principal.tenant_id, user_id=principal.user_id, reason="A case.")
    with pytest.raises(Conflict):
        count_to_forget(principal, filters=None)
    with pytest.raises(Conflict):
        forget_counted(principal, filters=None, confirm=token, seconds=60)
    assert left(principal) == (1, 1, 2, 1)


def test_an_app_kept_apart_takes_neither_conversations_nor_another_apps_memories(principal: Principal) -> None:
    set_policy(SYSTEM, tenant_id=principal.tenant_id, apps_apart=True)
    one, two = in_app(principal, "one"), in_app(principal, "two")
    for who in (one, two):
        remember_fact(who, text=f"Uses {who.app}.")
    start_session(principal)
    token = count_to_forget(one, filters=None).confirm
    with pytest.raises(InvalidInput):
        forget_counted(principal, filters=None, confirm=token, seconds=60)
    forget_counted(one, filters=None, confirm=token, seconds=60)
    assert [fact.text for fact in Fact.objects.of(principal)] == ["Uses two."]
    assert Session.objects.of(principal).count() == 1

"""What the rules call the same becomes one memory on the write path; what differs in a detail does not."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from memories.models import Fact, Playbook
from memories.services.facts.remember import remember_fact
from memories.services.playbooks import remember_playbook
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import start_session
from memories.types import Scope, WriteResult
from tenants.models import AuditEvent
from tenants.principal import Principal
from tests.factories import MakeMember, make_tenant, own_principal

pytestmark = pytest.mark.django_db

LEFT, RIGHT = "My dentist is Dr. Keller", "Dr. Keller is my dentist"


def test_other_words_for_the_same_merge_and_the_older_words_stay(principal: Principal) -> None:
    first = remember_fact(principal, text=LEFT, confidence=0.6)
    second = remember_fact(principal, text=RIGHT, confidence=0.9)
    fact = Fact.objects.get()
    assert (second.result, second.memory_id) == (WriteResult.MERGED, first.memory_id)
    assert (fact.text, fact.confidence, fact.version) == (LEFT, 0.9, 2)
    event = AuditEvent.objects.get(action="fact.merged")
    assert event.payload.data["reason"] == "says the same in other words"


def test_a_merge_joins_support_and_keeps_the_latest_time(principal: Principal) -> None:
    session = start_session(principal)
    said = [remember_episode(principal, session_id=session.pk, text=text).memory_id for text in (LEFT, RIGHT)]
    now = timezone.now()
    remember_fact(principal, text=LEFT, learned_at=now, supporting_episode_ids=said[:1])
    remember_fact(principal, text=RIGHT, learned_at=now - timedelta(days=9), supporting_episode_ids=said[1:])
    fact = Fact.objects.get()
    assert {*fact.supporting_episodes.values_list("pk", flat=True)} == {*said}
    assert (fact.learned_at, fact.last_verified_at) == (now, now - timedelta(days=9))
    event = AuditEvent.objects.get(action="fact.merged")
    assert event.payload.data["after"]["told_in"] == [str(said[1])]
    assert RIGHT not in event.payload.document


def test_the_later_statement_says_when_it_holds(principal: Principal) -> None:
    now = timezone.now()
    remember_fact(principal, text=LEFT, valid_from=now - timedelta(days=100), learned_at=now - timedelta(days=50))
    remember_fact(principal, text=RIGHT, valid_from=now - timedelta(days=80), learned_at=now)
    remember_fact(principal, text=RIGHT, valid_from=now - timedelta(days=1), learned_at=now - timedelta(days=60))
    assert Fact.objects.get().valid_from == now - timedelta(days=80)


@pytest.mark.parametrize("other", ["My dentist is Dr. Kessler", "My dentist was Dr. Keller"])
def test_another_detail_is_another_fact(principal: Principal, other: str) -> None:
    remember_fact(principal, text=LEFT)
    assert remember_fact(principal, text=other).result is not WriteResult.MERGED
    assert Fact.objects.current().count() == 2


def test_two_slots_stay_two_whatever_their_words(principal: Principal) -> None:
    remember_fact(principal, text=LEFT, key="dentist")
    assert remember_fact(principal, text=RIGHT, key="sister").result is WriteResult.CREATED
    assert remember_fact(principal, text="Dr. Keller is my dentist now").result is WriteResult.MERGED


def test_the_same_value_of_a_slot_in_other_words_replaces_nothing(principal: Principal) -> None:
    first = remember_fact(principal, text=LEFT, key="dentist")
    assert remember_fact(principal, text=RIGHT, key="dentist").memory_id == first.memory_id
    moved = remember_fact(principal, text="Dr. Ivers is my dentist", key="dentist")
    assert (moved.result, moved.superseded_ids) == (WriteResult.SUPERSEDED, (first.memory_id,))


def test_what_is_to_replace_a_fact_is_not_merged_into_it(principal: Principal) -> None:
    first = remember_fact(principal, text=LEFT)
    second = remember_fact(principal, text=RIGHT, supersedes_ids=[first.memory_id])
    assert (second.result, second.superseded_ids) == (WriteResult.SUPERSEDED, (first.memory_id,))
    assert remember_fact(principal, text=LEFT).memory_id == second.memory_id


def test_nobody_elses_and_no_other_scopes_facts_count(principal: Principal, make_member: MakeMember) -> None:
    remember_fact(principal, text=LEFT)
    assert remember_fact(principal, text=RIGHT, scope=Scope.TASK, task="trip").result is WriteResult.CREATED
    assert remember_fact(own_principal(make_member(make_tenant())), text=RIGHT).result is WriteResult.CREATED
    assert remember_fact(own_principal(make_member()), text=RIGHT).result is WriteResult.CREATED


def playbook(principal: Principal, **changes: object) -> Callable[[], Playbook]:
    given: dict[str, object] = {"title": "Restart the mail server", "trigger": "when mail stops arriving"}
    given |= {"steps": ["stop postfix", "wait 30 seconds", "start postfix"], "success_count": 1}
    outcome = remember_playbook(principal, **given | changes)  # type: ignore[arg-type] # the defaults are of many types
    return lambda: Playbook.objects.get(pk=outcome.memory_id)


def test_a_procedure_in_other_words_is_one_playbook(principal: Principal) -> None:
    first = playbook(principal)()
    second = playbook(principal, steps=["Stop postfix.", "please wait thirty seconds", "begin postfix"])()
    assert (second.pk, second.success_count, second.steps) == (first.pk, 2, first.steps)


@pytest.mark.parametrize(
    "changes", [{"steps": ["start postfix", "wait 30 seconds", "stop postfix"]}, {"title": "Restart the web server"}]
)
def test_a_procedure_with_another_detail_is_another_playbook(principal: Principal, changes: dict[str, object]) -> None:
    assert playbook(principal)().pk != playbook(principal, **changes)().pk

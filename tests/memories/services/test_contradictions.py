"""On write: what a new fact plainly contradicts is settled by certainty, or put before a person."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from memories.models import Fact, ReviewItem
from memories.services.erasure.forget import forget
from memories.services.facts.promote import promote
from memories.services.facts.remember import pin_fact, remember_fact
from memories.services.facts.supersede import correct
from memories.services.facts.undo import undo
from memories.types import Kind, Scope, Source, Status, WriteOutcome, WriteResult
from tenants.models import AuditEvent
from tenants.principal import Principal
from tests.memories.retelling import retell

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("everything_is_whole")]

NUTS, NO_NUTS = "Is allergic to nuts", "Is not allergic to nuts"


def say(principal: Principal, text: str, confidence: float = 1.0, **fields: Any) -> WriteOutcome:
    return remember_fact(principal, text=text, confidence=confidence, **fields)


def believed() -> list[str]:
    return sorted(Fact.objects.current().values_list("text", flat=True))


@pytest.mark.english
def test_of_two_facts_about_as_sure_both_stay_and_a_person_is_asked(principal: Principal) -> None:
    first = say(principal, NUTS, 0.9)
    second = say(principal, NO_NUTS, 1.0)

    assert second.result is WriteResult.QUEUED_FOR_REVIEW
    assert believed() == [NUTS, NO_NUTS]
    item = ReviewItem.objects.get()
    assert (item.first_id, item.second_id) == (first.memory_id, second.memory_id)
    assert item.evidence == {"judge": "rules"} and "nuts" not in item.reason
    assert say(principal, NO_NUTS).result is WriteResult.MERGED
    assert ReviewItem.objects.count() == 1


@pytest.mark.english
@pytest.mark.parametrize(("older", "newer", "stays"), [(0.6, 1.0, NO_NUTS), (1.0, 0.6, NUTS), (0.8, 1.0, NO_NUTS)])
def test_of_two_facts_the_one_surer_by_a_fifth_stays(
    principal: Principal, older: float, newer: float, stays: str
) -> None:
    first, second = say(principal, NUTS, older), say(principal, NO_NUTS, newer)

    assert believed() == [stays]
    assert not ReviewItem.objects.exists()
    kept, lost = (second, first) if stays == NO_NUTS else (first, second)
    row = Fact.objects.get(pk=lost.memory_id)
    assert (row.status, row.superseded_by_id) == (Status.SUPERSEDED, kept.memory_id)
    assert second.result is (WriteResult.SUPERSEDED if stays == NO_NUTS else WriteResult.CREATED)
    event = AuditEvent.objects.get(action="fact.superseded")
    assert event.payload.data["reason"] == "one denies the other; the surer one stays"


@pytest.mark.english
def test_news_takes_the_place_of_what_it_brings_up_to_date(principal: Principal) -> None:
    old = say(principal, "Lives in Bristol")
    new = say(principal, "Lives in Edinburgh now")

    assert (new.result, new.superseded_ids) == (WriteResult.SUPERSEDED, (old.memory_id,))
    assert not Fact.objects.get(pk=old.memory_id).retracted


@pytest.mark.english
def test_a_guess_does_not_bring_up_to_date_what_the_user_said(principal: Principal) -> None:
    say(principal, "Lives in Bristol")
    guess = say(principal, "Lives in Edinburgh now", 0.6, source=Source.AGENT_INFERRED)

    assert guess.result is WriteResult.CREATED and "more certainty" in guess.reason
    assert believed() == ["Lives in Bristol"]


@pytest.mark.english
def test_a_statement_that_is_older_than_what_is_known_does_not_end_it(principal: Principal) -> None:
    say(principal, "No longer lives in Bristol")
    say(principal, "Lives in Bristol", learned_at=timezone.now() - timedelta(days=9))

    assert believed() == ["No longer lives in Bristol"]


@pytest.mark.english
def test_it_can_be_undone_from_either_side(principal: Principal) -> None:
    say(principal, NUTS, 0.6)
    sure = say(principal, NO_NUTS)
    undo(principal, kind=Kind.SEMANTIC, memory_id=sure.memory_id)
    assert believed() == [NUTS]
    unsure = say(principal, "Has no allergies", 0.3)
    undo(principal, kind=Kind.SEMANTIC, memory_id=unsure.memory_id)
    assert believed() == ["Has no allergies"]


@pytest.mark.english
def test_what_is_pinned_is_never_ended_by_it(principal: Principal) -> None:
    old = say(principal, NUTS, 0.6)
    pin_fact(principal, fact_id=old.memory_id, pinned=True)

    assert say(principal, NO_NUTS).result is WriteResult.QUEUED_FOR_REVIEW
    assert believed() == [NUTS, NO_NUTS]


def test_only_facts_of_the_same_owner_scope_and_task_meet(
    principal: Principal, other_member: Principal, other_tenant_member: Principal, admin_principal: Principal
) -> None:
    say(other_member, NUTS, 0.5)
    say(other_tenant_member, NUTS, 0.5)
    say(admin_principal, NUTS, 0.5, scope=Scope.TENANT)
    say(principal, NUTS, 0.5, scope=Scope.TASK, task="dinner")

    assert say(principal, NO_NUTS).result is WriteResult.CREATED
    assert len(believed()) == 5
    assert not ReviewItem.objects.exists()


@pytest.mark.english
def test_what_is_shared_is_put_before_a_person_and_stays(admin_principal: Principal) -> None:
    say(admin_principal, "The office has a lift", 0.5, scope=Scope.TENANT)
    mine = say(admin_principal, "The office has no lift")

    shared = promote(admin_principal, kind=Kind.SEMANTIC, memory_id=mine.memory_id, to=Scope.TENANT)

    assert shared.result is WriteResult.QUEUED_FOR_REVIEW
    assert len(believed()) == 3
    assert ReviewItem.objects.get().user_id is None


def test_what_ended_or_expired_contradicts_nothing(principal: Principal) -> None:
    past = timezone.now() - timedelta(days=30)
    say(principal, "Lives in Bristol", valid_from=past - timedelta(days=99), valid_to=past)
    gone = say(principal, NUTS)
    Fact.objects.filter(pk=gone.memory_id).update(expires_at=past)
    retell(principal, gone.memory_id)

    assert say(principal, "Lives in Edinburgh", valid_from=past).result is WriteResult.CREATED
    assert say(principal, NO_NUTS).result is WriteResult.CREATED


@pytest.mark.english
def test_a_correction_is_weighed_as_any_other_fact(principal: Principal) -> None:
    say(principal, "Dog is called Rex", 0.5)
    wrong = say(principal, "Dog was called Bruno")

    right = correct(principal, kind=Kind.SEMANTIC, memory_id=wrong.memory_id, text="Dog is called Bruno")

    assert set(right.superseded_ids) > {wrong.memory_id}
    assert believed() == ["Dog is called Bruno"]


def test_forgetting_leaves_nothing_of_it(principal: Principal) -> None:
    say(principal, NUTS)
    new = say(principal, NO_NUTS)

    forget(principal, kind=Kind.SEMANTIC, memory_id=new.memory_id)

    assert not ReviewItem.objects.exists()

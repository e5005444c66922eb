"""Facts get their dates when they are written, and anew whenever they are said again or confirmed."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from memories.errors import Conflict, InvalidInput, NotFound
from memories.models import ExpiryRule, Fact, OutboxEntry
from memories.selectors.memories import list_memories
from memories.services.facts.remember import pin_fact, remember_fact
from memories.services.facts.supersede import retire
from memories.services.retention.dates import confirm_fact
from memories.types import Kind, Source, Status
from tenants.models import AuditEvent
from tenants.principal import Principal

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)
NAIVE = datetime(2040, 1, 1)  # noqa: DTZ001 - a fault to refuse


@pytest.fixture
def now() -> datetime:
    return timezone.now()


def tea(principal: Principal, **known: datetime) -> Fact:
    """A preference, as it is stored."""
    outcome = remember_fact(principal, text="Prefers tea", key="drink", **known)  # type: ignore[arg-type]  # all are times
    return Fact.objects.get(pk=outcome.memory_id)


def test_facts_are_dated_by_what_they_are_about(principal: Principal, now: datetime) -> None:
    learned = now - 10 * DAY
    assert tea(principal, learned_at=learned).review_after == learned + 90 * DAY
    salt = remember_fact(principal, text="Order salt", source=Source.TASK_OUTCOME, learned_at=learned).memory_id
    assert Fact.objects.get(pk=salt).expires_at == learned + 30 * DAY
    home = Fact.objects.get(pk=remember_fact(principal, text="Lives in Bristol").memory_id)
    assert (home.review_after, home.expires_at) == (None, None)


def test_rules_are_those_of_the_owners_tenant(
    principal: Principal, other_tenant_member: Principal, now: datetime
) -> None:
    ExpiryRule.objects.create(tenant_id=principal.tenant_id, category="preference", soft_days=5)
    assert tea(principal, learned_at=now).review_after == now + 5 * DAY
    assert tea(other_tenant_member, learned_at=now).review_after == now + 90 * DAY


@pytest.mark.parametrize(
    ("known", "field"),
    [
        pytest.param({"expires_at": NAIVE}, "expires_at", id="no zone"),
        pytest.param({"review_after": timezone.now() - DAY}, "review_after", id="past"),
        pytest.param(
            {"review_after": timezone.now() + 9 * DAY, "expires_at": timezone.now() + DAY}, "expires_at", id="order"
        ),
    ],
)
def test_dates_that_make_no_sense_are_refused(principal: Principal, known: dict[str, datetime], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        tea(principal, **known)
    assert caught.value.field == field
    assert not Fact.objects.exists()


def test_saying_it_again_confirms_it(principal: Principal, now: datetime) -> None:
    tea(principal, learned_at=now - 100 * DAY)
    Fact.objects.update(status=Status.STALE)
    again = tea(principal, learned_at=now)
    assert (again.status, again.review_after) == (Status.ACTIVE, now + 90 * DAY)


def test_a_given_date_stands_until_it_has_passed(principal: Principal, now: datetime) -> None:
    end = now + 3 * DAY
    tea(principal, learned_at=now, expires_at=end)
    assert tea(principal, learned_at=now + DAY).expires_at == end
    Fact.objects.update(expires_at=now - DAY)
    assert tea(principal, learned_at=now + DAY).expires_at is None, "it was said again, so it is there again"


def test_confirming_dates_a_fact_anew(principal: Principal, now: datetime) -> None:
    fact = tea(principal, learned_at=now - 100 * DAY)
    Fact.objects.update(status=Status.STALE)
    confirm_fact(principal, fact_id=fact.pk, reason="asked")
    after = Fact.objects.get()
    assert after.status == Status.ACTIVE
    assert after.last_verified_at and after.review_after == after.last_verified_at + 90 * DAY
    event = AuditEvent.objects.get(action="fact.confirmed")
    assert (event.target_id, event.payload.data["reason"]) == (fact.pk, "asked")
    assert OutboxEntry.objects.filter(memory_id=fact.pk, version=after.version).exists()


def test_only_ones_own_current_facts_are_confirmed(principal: Principal, stranger: Principal, now: datetime) -> None:
    fact = tea(principal)
    with pytest.raises(NotFound):
        confirm_fact(stranger, fact_id=fact.pk)
    Fact.objects.update(expires_at=now - DAY)
    assert not list_memories(principal, Kind.SEMANTIC)
    assert not list_memories(principal, Kind.SEMANTIC, status=[Status.ACTIVE])
    with pytest.raises(Conflict, match="expired"):
        confirm_fact(principal, fact_id=fact.pk)
    Fact.objects.update(expires_at=None)
    retire(principal, kind=Kind.SEMANTIC, memory_id=fact.pk)
    with pytest.raises(Conflict):
        confirm_fact(principal, fact_id=fact.pk)


def test_what_is_pinned_does_not_age(principal: Principal, now: datetime) -> None:
    fact = tea(principal, learned_at=now - 100 * DAY, expires_at=now + DAY)
    pin_fact(principal, fact_id=fact.pk, pinned=True)
    pinned = Fact.objects.get()
    assert (pinned.review_after, pinned.expires_at) == (None, now + DAY)
    pin_fact(principal, fact_id=fact.pk, pinned=False)
    ages = Fact.objects.get().review_after
    assert ages and ages > now + 89 * DAY

"""What has expired is gone from every answer at once; what was not confirmed in time counts half."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from memories.models import Fact
from memories.recall.pipeline import recall
from memories.search.outbox import drain
from memories.services.facts.remember import remember_fact
from memories.types import Kind
from tenants.principal import Principal
from tests.memories.recall.conftest import texts

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)


@pytest.fixture
def now() -> datetime:
    return timezone.now()


def asked(principal: Principal, **how: object) -> list[str]:
    return texts(recall(principal, "Which code opens the gate?", types=[Kind.SEMANTIC], **how))  # type: ignore[arg-type]  # options of recall


@pytest.fixture
def gate(principal: Principal, now: datetime) -> Fact:
    """A code that is good for a day."""
    id_ = remember_fact(principal, text="The gate opens with code 4711", expires_at=now + DAY).memory_id
    drain()
    return Fact.objects.get(pk=id_)


def test_what_has_expired_is_never_returned(principal: Principal, gate: Fact, now: datetime) -> None:
    assert asked(principal) == [gate.text]
    assert asked(principal, now=now + 2 * DAY) == []
    assert asked(principal, now=now + 2 * DAY, include_superseded=True) == []


def test_what_was_believed_then_needs_no_collection(principal: Principal, gate: Fact, now: datetime) -> None:
    then = now + DAY / 2
    assert asked(principal, as_of=then) == [gate.text]
    assert asked(principal, as_of=then, now=now + 2 * DAY) == []
    assert asked(principal, as_of=now + 2 * DAY) == [], "it will not be there any more"


def test_the_database_serves_none_expired(principal: Principal, gate: Fact, now: datetime, plane_is_down: None) -> None:
    assert asked(principal) == [gate.text]
    assert asked(principal, now=now + 2 * DAY) == []


def score(principal: Principal, text: str, now: datetime, as_of: datetime | None = None) -> float:
    (item,) = recall(principal, text, now=now, as_of=as_of, record=False).items
    return item.score


@pytest.mark.parametrize(("pinned", "share"), [(False, 0.5), (True, 1.0)], ids=["plain", "pinned"])
def test_what_was_not_confirmed_counts_half(principal: Principal, now: datetime, pinned: bool, share: float) -> None:
    text = "Wears size 40"
    remember_fact(principal, text=text, review_after=now + DAY, pinned=pinned)
    drain()
    before, after = (score(principal, text, now + days * DAY) for days in (0, 2))
    assert after == pytest.approx(before * share)
    assert score(principal, text, now + 2 * DAY, as_of=now + DAY / 2) == pytest.approx(before)

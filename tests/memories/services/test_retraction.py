"""Retract: what was never true is marked so, whether it is believed or was replaced; nobody else's is touched."""

from __future__ import annotations

import uuid

import pytest

from memories.errors import Conflict, NotFound
from memories.models import Fact, OutboxEntry
from memories.services.facts.remember import remember_fact
from memories.services.facts.undo import retract
from memories.types import Kind, Status
from tenants.models import AuditEvent
from tenants.principal import Principal

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("everything_is_whole")]


def moved(principal: Principal) -> tuple[Fact, Fact]:
    """Bath, replaced by Oslo."""
    for city in ("Bath", "Oslo"):
        remember_fact(principal, text=f"Lives in {city}", key="home_city")
    return Fact.objects.get(text="Lives in Bath"), Fact.objects.get(text="Lives in Oslo")


def test_what_was_replaced_keeps_its_place(principal: Principal) -> None:
    bath, oslo = moved(principal)
    retract(principal, kind=Kind.SEMANTIC, memory_ids=[bath.pk])
    after = Fact.objects.get(pk=bath.pk)
    assert (after.retracted, after.superseded_by_id, after.superseded_at) == (True, oslo.pk, bath.superseded_at)
    assert Fact.objects.get(pk=oslo.pk).status == Status.ACTIVE
    assert AuditEvent.objects.filter(target_id=bath.pk, action="fact.retracted").exists()
    assert OutboxEntry.objects.filter(memory_id=bath.pk).latest("id").version == after.version


def test_what_is_believed_ends_at_once_all_or_none_and_not_twice(principal: Principal) -> None:
    bath, oslo = moved(principal)
    with pytest.raises(NotFound):
        retract(principal, kind=Kind.SEMANTIC, memory_ids=[bath.pk, oslo.pk, uuid.uuid4()])
    assert not Fact.objects.filter(retracted=True).exists()
    assert retract(principal, kind=Kind.SEMANTIC, memory_ids=[oslo.pk]).superseded_ids == (oslo.pk,)
    oslo.refresh_from_db()
    assert (oslo.status, oslo.retracted, oslo.superseded_by) == (Status.SUPERSEDED, True, None)
    with pytest.raises(Conflict):
        retract(principal, kind=Kind.SEMANTIC, memory_ids=[oslo.pk])


def test_another_members_fact_is_an_unknown_one(principal: Principal, stranger: Principal) -> None:
    theirs = remember_fact(stranger, text="Lives in Bath").memory_id
    for memory_id in (theirs, uuid.uuid4()):
        with pytest.raises(NotFound, match="No such fact"):
            retract(principal, kind=Kind.SEMANTIC, memory_ids=[memory_id])
    assert not Fact.objects.get().retracted

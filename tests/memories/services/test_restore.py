"""What the collection did can be undone until it is erased, and is not done again the day after."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.utils import timezone

from memories.errors import Conflict, NotFound
from memories.models import Fact, OutboxEntry, Playbook
from memories.recall.pipeline import recall
from memories.search.outbox import drain
from memories.selectors.history.chains import verify_chains
from memories.services.facts.remember import remember_fact
from memories.services.facts.undo import retract
from memories.services.playbooks import remember_playbook
from memories.services.retention.collection import collect, restore
from memories.services.retention.dates import confirm_fact
from memories.types import Kind, Scope, Status
from tenants.models import AuditEvent
from tenants.principal import Principal

pytestmark = pytest.mark.django_db

LONG_AGO = timezone.now() - timedelta(days=400)
YESTERDAY = timezone.now() - timedelta(days=1)


def collected(principal: Principal, text: str = "Prefers tea", key: str = "drink", **columns: Any) -> UUID:
    """A fact that the collection has dealt with."""
    id_ = remember_fact(principal, text=text, key=key, learned_at=LONG_AGO).memory_id
    Fact.objects.filter(pk=id_).update(**{"review_after": YESTERDAY} | columns)
    assert collect(apply=True).decisions
    return id_


def test_an_evicted_fact_comes_back_for_good(principal: Principal) -> None:
    id_ = collected(principal)
    restore(principal, kind=Kind.SEMANTIC, memory_id=id_, reason="still true")
    fact = Fact.objects.get()
    assert (fact.status, fact.evicted_at, fact.evicted_from) == (Status.ACTIVE, None, "")
    assert fact.review_after and fact.review_after > timezone.now()
    assert not collect(apply=True).decisions
    drain()
    assert [item.id for item in recall(principal, "Do I prefer tea?").items] == [id_]
    event = AuditEvent.objects.get(action="fact.revived")
    assert (event.target_id, event.payload.data["before"]) == (id_, {"status": "evicted"})


def test_an_evicted_fact_is_not_retracted(principal: Principal) -> None:
    with pytest.raises(Conflict, match="This memory was evicted; restore it first"):
        retract(principal, kind=Kind.SEMANTIC, memory_ids=[collected(principal)])


@pytest.mark.parametrize("evict", [True, False], ids=["collected", "not yet"])
def test_a_fact_whose_time_was_over_comes_back_without_that_end(principal: Principal, evict: bool) -> None:
    id_ = remember_fact(principal, text="Parks on level 3").memory_id
    Fact.objects.update(expires_at=YESTERDAY)
    if evict:
        collect(apply=True)
    restore(principal, kind=Kind.SEMANTIC, memory_id=id_)
    assert (Fact.objects.get().status, Fact.objects.get().expires_at) == (Status.ACTIVE, None)
    assert not collect(apply=True).decisions


@pytest.mark.parametrize(("text", "key"), [("Prefers coffee", "drink"), ("prefers  TEA.", "")], ids=["key", "wording"])
def test_nothing_comes_back_beside_what_took_its_place(principal: Principal, text: str, key: str) -> None:
    id_ = collected(principal)
    remember_fact(principal, text=text, key=key)
    with pytest.raises(Conflict, match="taken its place"):
        restore(principal, kind=Kind.SEMANTIC, memory_id=id_)
    assert Fact.objects.get(pk=id_).status == Status.EVICTED


def test_what_leaves_the_archive_is_not_put_there_again(principal: Principal) -> None:
    for make in (lambda: _replaced_fact(principal), lambda: _replaced_playbook(principal)):
        kind, id_, model = make()
        assert collect(apply=True).decisions
        restore(principal, kind=kind, memory_id=id_)
        row = model.objects.get(pk=id_)
        assert (row.archived_at, row.status) == (None, Status.SUPERSEDED)
        assert OutboxEntry.objects.filter(memory_id=id_, version=row.version).exists()
        assert not collect(apply=True).decisions
    assert verify_chains().ok


def _replaced_fact(principal: Principal) -> tuple[Kind, UUID, type[Fact]]:
    id_ = remember_fact(principal, text="Works at Voltara", key="employer", learned_at=LONG_AGO).memory_id
    remember_fact(principal, text="Works at Quill", key="employer", learned_at=LONG_AGO)
    return Kind.SEMANTIC, id_, Fact


def _replaced_playbook(principal: Principal) -> tuple[Kind, UUID, type[Playbook]]:
    id_ = remember_playbook(principal, title="Bleed", steps=["open"], learned_at=LONG_AGO).memory_id
    remember_playbook(principal, title="Bleed", steps=["push"], supersedes_ids=[id_], learned_at=LONG_AGO)
    return Kind.PROCEDURAL, id_, Playbook


def test_a_replaced_fact_returns_to_its_chain(principal: Principal) -> None:
    _, id_, _ = _replaced_fact(principal)
    Fact.objects.filter(pk=id_).update(expires_at=YESTERDAY)
    collect(apply=True)
    assert Fact.objects.get(pk=id_).evicted_from == Status.SUPERSEDED
    restore(principal, kind=Kind.SEMANTIC, memory_id=id_)
    assert Fact.objects.get(pk=id_).status == Status.SUPERSEDED
    assert verify_chains().ok


def test_there_must_be_something_to_restore(principal: Principal) -> None:
    id_ = remember_fact(principal, text="Lives in Bristol").memory_id
    with pytest.raises(Conflict, match="nothing to restore"):
        restore(principal, kind=Kind.SEMANTIC, memory_id=id_)


def test_only_ones_own_memories_are_restored(principal: Principal, stranger: Principal) -> None:
    id_ = collected(principal)
    for wanted in (id_, uuid4()):
        with pytest.raises(NotFound, match=r"^No such fact\.$"):
            restore(stranger, kind=Kind.SEMANTIC, memory_id=wanted)
    assert Fact.objects.get().status == Status.EVICTED


def test_what_a_tenant_shares_comes_back_by_its_administrators(
    admin_principal: Principal, principal: Principal, other_tenant_member: Principal
) -> None:
    shared: dict[str, Any] = {"category": "preference", "learned_at": LONG_AGO, "scope": Scope.TENANT}
    id_ = remember_fact(admin_principal, text="Prefers invoices by mail", **shared).memory_id
    Fact.objects.update(review_after=YESTERDAY)
    collect(apply=True)
    assert Fact.objects.get().status == Status.EVICTED
    for who in (principal, other_tenant_member, admin_principal.as_agent()):
        with pytest.raises(NotFound):
            restore(who, kind=Kind.SEMANTIC, memory_id=id_)
    restore(admin_principal, kind=Kind.SEMANTIC, memory_id=id_)
    for who in (principal, other_tenant_member, admin_principal.as_agent()):
        with pytest.raises(NotFound):
            confirm_fact(who, fact_id=id_)
    Fact.objects.update(status=Status.STALE)
    confirm_fact(admin_principal, fact_id=id_)
    assert Fact.objects.get().status == Status.ACTIVE
    assert not verify_chains().faults

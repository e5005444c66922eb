"""The write scope: what it holds once, what it collects, and what it refuses."""

from __future__ import annotations

from uuid import UUID

import pytest

from memories.errors import Blocked, Conflict
from memories.models import Fact, OutboxEntry
from memories.services.facts.remember import remember_fact
from memories.services.facts.supersede import retire, supersede
from memories.services.write import begin_with, current_write, housekeeping, write
from memories.types import Kind, Owner, Scope
from tenants.audit.chain import EventDraft, tenant_chain
from tenants.audit.verification import verify_all
from tenants.errors import Forbidden
from tenants.models import AuditEvent, Membership
from tenants.principal import Principal

pytestmark = pytest.mark.django_db

CARD = "My card is 4111 1111 1111 1111"


def actions() -> list[str]:
    return list(AuditEvent.objects.order_by("chain", "sequence").values_list("action", flat=True))


def remember_all(principal: Principal, *texts: str) -> list[UUID]:
    return [remember_fact(principal, text=text).memory_id for text in texts]


def remember_and_retire_twice(principal: Principal, text: str) -> None:
    (fact,) = remember_all(principal, text)
    retire(principal, kind=Kind.SEMANTIC, memory_id=fact)
    retire(principal, kind=Kind.SEMANTIC, memory_id=fact)


def test_a_scope_of_the_same_owner_is_joined(principal: Principal, other_member: Principal) -> None:
    with write(principal) as w:
        with write(principal) as again, write(principal.as_agent()) as agent, write(other_member) as other:
            assert again is w
            assert (agent.owner, agent.actor.kind.value) == (w.owner, "agent")
            assert other.owner != w.owner
        assert current_write(principal) is w
    assert current_write(principal) is None


def test_events_are_stored_at_the_end_in_the_order_of_the_calls(principal: Principal) -> None:
    with write(principal) as w:
        old = remember_fact(principal, text="Lives in Hull", key="home_city").memory_id
        w.audit("session.created", target_kind="session")
        supersede(principal, old_ids=[old], text="Lives in York")
        assert not actions()
        assert not OutboxEntry.objects.exists()
    assert actions() == ["fact.created", "session.created", "fact.created", "fact.superseded"]
    assert OutboxEntry.objects.count() == 3
    assert all(report.ok for report in verify_all())


def test_an_error_takes_back_all_of_it(principal: Principal) -> None:
    with pytest.raises(Conflict), write(principal):
        remember_and_retire_twice(principal, "Lives in Hull")
    assert not Fact.objects.exists()
    assert not actions()


def test_a_savepoint_takes_back_what_failed_in_it(principal: Principal) -> None:
    with write(principal) as w:
        remember_fact(principal, text="Lives in Hull")
        with pytest.raises(Conflict), w.savepoint():
            remember_and_retire_twice(principal, "Likes tea")
    assert [fact.text for fact in Fact.objects.all()] == ["Lives in Hull"]
    assert actions() == ["fact.created"]


def test_an_error_that_is_caught_without_a_savepoint_is_a_fault(principal: Principal) -> None:
    fact = remember_fact(principal, text="Lives in Hull").memory_id
    retire(principal, kind=Kind.SEMANTIC, memory_id=fact)
    with pytest.raises(RuntimeError, match="outside a savepoint"), write(principal), pytest.raises(Conflict):
        retire(principal, kind=Kind.SEMANTIC, memory_id=fact)


def test_a_refusal_is_noted_although_the_write_is_rolled_back_and_once_in_a_savepoint(principal: Principal) -> None:
    with pytest.raises(Blocked), write(principal):
        remember_all(principal, "Lives in Hull", CARD)
    assert actions() == ["memory.blocked"] and not Fact.objects.exists()
    with write(principal) as w:
        with pytest.raises(Blocked), w.savepoint():
            remember_fact(principal, text=CARD)
        remember_fact(principal, text="Lives in Hull")
    assert actions() == ["memory.blocked"] * 2 + ["fact.created"]


def test_a_write_begins_with_what_waited_for_it(principal: Principal) -> None:
    undone: list[str] = []

    def first() -> None:
        remember_fact(principal, text="Lives in Hull", key="home_city")

    with begin_with(first, undo=lambda: undone.append("hull")):
        remember_fact(principal, text="Lives in York", key="home_city")
        remember_fact(principal, text="Likes tea")
    assert actions() == ["fact.created", "fact.created", "fact.superseded", "fact.created"]
    assert not undone


def test_what_waited_for_a_write_is_undone_with_it(principal: Principal) -> None:
    undone: list[str] = []
    with begin_with(lambda: remember_fact(principal, text="Lives in Hull"), undo=lambda: undone.append("hull")):
        with pytest.raises(Conflict), write(principal):
            remember_and_retire_twice(principal, "Likes tea")
        remember_fact(principal, text="Likes coffee")
    assert [fact.text for fact in Fact.objects.all()] == ["Likes coffee"]
    assert undone == ["hull"]


def test_a_member_opens_no_shared_scope_and_nobody_one_for_a_member_who_ended(principal: Principal) -> None:
    with pytest.raises(Forbidden), write(principal, Scope.TENANT):
        raise AssertionError("It was opened.")
    Membership.objects.update(is_active=False)
    with pytest.raises(Forbidden), write(principal):
        raise AssertionError("It was opened.")
    with write(principal, also_inactive=True) as w:
        w.audit("member.noted")
    assert actions() == ["member.noted"]


def test_housekeeping_of_a_tenant_writes_to_the_log_of_the_tenant(principal: Principal) -> None:
    with housekeeping(Owner(principal.tenant_id, None)) as w:
        assert w.member is None
        w.audit_drafts([EventDraft("fact.evicted")])
    event = AuditEvent.objects.get(action="fact.evicted")
    assert (event.chain, event.actor_kind) == (tenant_chain(principal.tenant_id), "system")

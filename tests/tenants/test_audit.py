"""Appending to the audit log and erasing from it."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from django.db import connection, transaction
from pytest_django import DjangoAssertNumQueries

from tenants.audit.chain import (
    EventDraft,
    erase_payloads,
    owner_chain,
    record_event,
    record_events,
    record_tenant_event,
)
from tenants.audit.digests import DIGESTED_COLUMNS, GENESIS, event_digest
from tenants.audit.verification import verify_all, verify_chain
from tenants.models import AuditEvent, AuditHead, AuditPayload, Tenant
from tenants.principal import SYSTEM, Principal
from tests.tenants.audit_events import append


def chain_of(principal: Principal) -> str:
    return owner_chain(principal.tenant_id, principal.user_id)


def test_events_are_numbered_and_linked(principal: Principal) -> None:
    append(principal, "fact.created", "fact.pinned")
    append(principal, "fact.retired")
    events = list(AuditEvent.objects.filter(chain=chain_of(principal)))
    assert [event.sequence for event in events] == [1, 2, 3]
    assert [event.previous_digest for event in events] == [GENESIS, events[0].digest, events[1].digest]
    assert verify_chain(chain_of(principal)).events == 3


def test_an_event_says_who_did_what_to_which_memory_and_why(principal: Principal) -> None:
    target = uuid.uuid4()
    with transaction.atomic():
        event = record_event(
            principal, action="fact.retired", target_kind="fact", target_id=target, reason="moved", before={"a": 1}
        )
    stored = AuditEvent.objects.select_related("payload").get(id=event.id)
    assert (stored.tenant_id, stored.owner_id) == (principal.tenant_id, principal.user_id)
    assert (stored.actor_kind, stored.actor_id) == ("member", principal.user_id)
    assert (stored.action, stored.target_kind, stored.target_id) == ("fact.retired", "fact", target)
    assert stored.payload.data == {"reason": "moved", "before": {"a": 1}, "after": None}


def test_the_digest_covers_every_column_but_itself() -> None:
    columns = {field.attname for field in AuditEvent._meta.concrete_fields}
    assert columns - {"digest"} == set(DIGESTED_COLUMNS)
    values = dict.fromkeys(DIGESTED_COLUMNS, "")
    digests = {event_digest(values | {name: "x"}) for name in DIGESTED_COLUMNS}
    assert len(digests) == len(DIGESTED_COLUMNS)


def test_payloads_keep_ids_times_and_any_text(principal: Principal) -> None:
    moment, identifier = datetime(2026, 3, 1, 12, tzinfo=UTC), uuid.uuid4()
    after = {"id": identifier, "at": moment, "text": "\0 \ud800 ünï", "share": 1e16}
    with transaction.atomic():
        event = record_event(principal, action="fact.created", after=after)
    data = AuditPayload.objects.get(event_id=event.id).data["after"]
    assert data == after | {"id": str(identifier), "at": "2026-03-01T12:00:00.000000+00:00"}
    assert verify_chain(chain_of(principal)).ok


def test_equal_payloads_have_different_digests(principal: Principal) -> None:
    first, second = append(principal, "fact.created", "fact.created", text="the same")
    assert first.payload_digest != second.payload_digest


def test_a_chain_whose_payload_was_erased_still_verifies(principal: Principal) -> None:
    target = uuid.uuid4()
    append(principal, "fact.created", target_id=target, text="a secret")
    (event,) = append(principal, "fact.forgotten", target_id=uuid.uuid4())
    assert erase_payloads(principal, target_ids=[target], by=event.pk) == 1
    report = verify_chain(chain_of(principal))
    assert (report.ok, report.events, report.erased) == (True, 2, 1)
    assert not AuditPayload.objects.filter(document__contains="a secret").exists()


def test_erasing_reaches_nobody_elses_payloads(principal: Principal, other_member: Principal) -> None:
    target = uuid.uuid4()
    (event,) = append(other_member, "fact.created", target_id=target)
    assert erase_payloads(principal, target_ids=[target], by=event.pk) == 0
    assert AuditPayload.objects.count() == 1


def test_an_event_needs_a_transaction(transactional_db: None, principal: Principal) -> None:
    with pytest.raises(transaction.TransactionManagementError):
        record_event(principal, action="fact.created")
    assert not AuditEvent.objects.exists()


def test_what_is_rolled_back_leaves_no_event_and_no_gap(principal: Principal) -> None:
    append(principal, "fact.created")
    with transaction.atomic():
        record_event(principal, action="fact.pinned")
        transaction.set_rollback(True)
    append(principal, "fact.retired")
    assert list(AuditEvent.objects.values_list("action", flat=True)) == ["fact.created", "fact.retired"]
    assert verify_chain(chain_of(principal)).ok


def test_many_events_cost_as_much_as_one(
    principal: Principal, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    append(principal, "fact.created")
    with transaction.atomic(), django_assert_num_queries(4):
        record_events(principal, [EventDraft("fact.created") for _ in range(50)])


def test_threads_on_one_chain_keep_it_whole(transactional_db: None, principal: Principal, tenant: Tenant) -> None:
    def write(_: int) -> None:
        try:
            append(principal, "fact.created", "fact.pinned")
            with transaction.atomic():  # whose first writers make the head of the chain
                record_tenant_event(SYSTEM, tenant.id, EventDraft("member.added"))
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(32)))
    assert {(report.ok, report.events) for report in verify_all()} == {(True, 64), (True, 32)}
    assert set(AuditHead.objects.values_list("length", flat=True)) == {64, 32}

"""Whoever tampers with the audit log is found, at the first event that is wrong."""

from __future__ import annotations

import hashlib
import json
import uuid
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.utils import translation
from pytest_django import Settings

from memoryhub.signing.keys import new_key
from tenants.audit.chain import erase_payloads, erase_some, owner_chain
from tenants.audit.digests import DIGESTED_COLUMNS, GENESIS, canonical_json, event_digest, head_seal
from tenants.audit.faults import fault_words
from tenants.audit.triggers import expected_triggers, missing_triggers
from tenants.audit.verification import TRIGGERS, latest, prove_guards, verify_chain
from tenants.errors import AuditConflict
from tenants.models import AuditEvent, AuditHead, AuditPayload
from tenants.principal import Principal
from tests.audit import audit_unguarded, drop_triggers, install_triggers
from tests.tenants.audit_events import append, execute

LENGTH = 6

UPDATE = "UPDATE tenants_auditevent SET"
PAYLOAD_OF = "WHERE event_id IN (SELECT id FROM tenants_auditevent WHERE sequence {})"
OF_ANOTHER = (
    "(SELECT p.salt, p.document FROM tenants_auditpayload p JOIN tenants_auditevent e ON e.id = p.event_id"
    " WHERE e.sequence = 2)"
)
DIGEST_OF_5 = "(SELECT digest FROM tenants_auditevent WHERE sequence = 5)"
CHANGED, UNCOUNTED = "the event was changed", "the head of the chain does not count this event"


def deleted(events: str) -> list[str]:
    payloads = f"DELETE FROM tenants_auditpayload {PAYLOAD_OF.format(events)}"  # noqa: S608 - our own words
    return [payloads, f"DELETE FROM tenants_auditevent WHERE sequence {events}"]  # noqa: S608


# What is done behind the application's back: statements, the first bad event, and what is wrong with it.
TAMPERING: dict[str, tuple[list[str], int, str]] = {
    "an event is changed": ([f"{UPDATE} action = 'fact.merged' WHERE sequence = 3"], 3, CHANGED),
    "the actor of the first event is removed": ([f"{UPDATE} actor_id = NULL WHERE sequence = 1"], 1, CHANGED),
    "a digest is changed": ([f"{UPDATE} digest = payload_digest WHERE sequence = 2"], 2, CHANGED),
    "an event is deleted in the middle": (deleted("= 4"), 4, "the event is missing"),
    "an event is deleted and the rest moved up": (
        [*deleted("= 4"), *(f"{UPDATE} sequence = sequence - 1 WHERE sequence = {place}" for place in (5, 6))],
        4,
        "the event does not follow from the one before",
    ),
    "the end is cut off": (deleted("> 4"), 5, "the end of the chain is cut off"),
    "everything but the head is deleted": (deleted("> 0"), 1, "the end of the chain is cut off"),
    "the head forgets the last event": (["UPDATE tenants_audithead SET length = 5"], 6, UNCOUNTED),
    "the head is deleted": (["DELETE FROM tenants_audithead"], 1, UNCOUNTED),
    "the head's digest is changed": (
        ["UPDATE tenants_audithead SET digest = 'forged'"],
        LENGTH,
        "the head of the chain does not match this event",
    ),
    "a payload is changed": (
        [f"UPDATE tenants_auditpayload SET document = '{{}}' {PAYLOAD_OF.format('= 5')}"],  # noqa: S608
        5,
        "the payload was changed",
    ),
    "a payload is deleted": (
        [f"DELETE FROM tenants_auditpayload {PAYLOAD_OF.format('= 3')}"],  # noqa: S608
        3,
        "the payload is missing, and no event erased it",
    ),
    "a payload is deleted on a forged account": (
        [
            "INSERT INTO tenants_auditerasure SELECT id, id, digest FROM tenants_auditevent WHERE sequence = 3",
            f"DELETE FROM tenants_auditpayload {PAYLOAD_OF.format('= 3')}",  # noqa: S608
        ],
        3,
        "the record of the payload's erasure is forged",
    ),
    "the end is cut off and the head put back": (
        [
            *deleted("= 6"),
            f"UPDATE tenants_audithead SET length = 5, digest = {DIGEST_OF_5}",  # noqa: S608
        ],
        5,
        "the head of the chain was changed",
    ),
    "an event is given another's payload": (
        [f"UPDATE tenants_auditpayload SET (salt, document) = {OF_ANOTHER} {PAYLOAD_OF.format('= 3')}"],  # noqa: S608
        3,
        "the payload was changed",
    ),
}


@pytest.fixture
def chain(principal: Principal) -> str:
    """The chain of an owner with LENGTH events."""
    for number in range(LENGTH):
        append(principal, "fact.created", text=str(number))
    return owner_chain(principal.tenant_id, principal.user_id)


@pytest.mark.parametrize(("statements", "place", "reason"), TAMPERING.values(), ids=TAMPERING)
def test_tampering_is_found_at_the_first_bad_event(chain: str, statements: list[str], place: int, reason: str) -> None:
    with audit_unguarded():
        for statement in statements:
            execute(statement)
    report = verify_chain(chain)
    assert (report.ok, report.first_bad, report.reason) == (False, place, reason)


@pytest.mark.skipif(connection.vendor != "sqlite", reason="other databases take ids and times alone")
@pytest.mark.parametrize(
    ("statement", "finding"),
    [
        ("UPDATE tenants_auditevent SET actor_id = 'nobody' WHERE sequence = 4", (4, "the event cannot be read")),
        ("UPDATE tenants_auditevent SET id = 'none' WHERE sequence = 1", (1, "the event cannot be read")),
        (
            "UPDATE tenants_auditevent SET created_at = '9999-99-99 00:00' WHERE sequence = 6",
            (6, "the event cannot be read"),
        ),
        ("UPDATE tenants_auditevent SET created_at = 'long ago' WHERE sequence = 2", (2, "the event was changed")),
        ("UPDATE tenants_auditpayload SET salt = x'00ff'", (1, "the payload was changed")),
    ],
)
def test_what_cannot_be_read_is_the_first_bad_event(chain: str, statement: str, finding: tuple[int, str]) -> None:
    with audit_unguarded():
        execute("PRAGMA defer_foreign_keys = ON")
        execute(statement)
        report = verify_chain(chain)
        execute("DELETE FROM tenants_auditpayload")
    assert (report.ok, report.first_bad, report.reason) == (False, *finding)


def test_an_event_that_erased_and_is_gone_accounts_for_nothing(chain: str, principal: Principal) -> None:
    target = uuid.uuid4()
    append(principal, "fact.created", target_id=target)
    with transaction.atomic():
        erase_payloads(principal, target_ids=[target], by=uuid.uuid4())
    report = verify_chain(chain)
    assert (report.first_bad, report.reason) == (7, "the payload is missing, and the event that erased it is not there")


def test_a_payload_that_was_erased_and_is_there_again_is_found(chain: str, principal: Principal) -> None:
    target = uuid.uuid4()
    event, by = append(principal, "fact.created", "fact.forgotten", target_id=target)
    payload = AuditPayload.objects.get(event=event)
    erase_some(AuditPayload.objects.filter(event=event), by=by.pk)
    payload.save(force_insert=True)
    assert verify_chain(chain).reason == "the payload was erased, and is there again"


def test_a_head_that_somebody_set_takes_no_event(chain: str, principal: Principal) -> None:
    with audit_unguarded():
        execute("UPDATE tenants_audithead SET length = 6, unkeyed = 6")
    with pytest.raises(AuditConflict, match="verify_audit"):
        append(principal, "fact.created")


def test_keys_rotate_and_a_key_that_is_gone_is_named(chain: str, principal: Principal, settings: Settings) -> None:
    settings.MEMORYHUB_AUDIT_KEYS = (new_key(),)
    append(principal, "fact.created")
    assert verify_chain(chain).events == LENGTH + 1
    key = AuditHead.objects.get(chain=chain).seal[:7]
    settings.MEMORYHUB_AUDIT_KEYS = ()
    assert f"has the key {key}" in verify_chain(chain).reason


def test_events_from_before_the_keys_verify_as_far_as_the_sealed_head_says(chain: str, principal: Principal) -> None:
    previous = GENESIS
    with audit_unguarded():
        for event in AuditEvent.objects.filter(chain=chain).select_related("payload"):
            event.previous_digest = previous
            event.payload_digest = sha256(event.payload.salt + event.payload.document)
            columns = {name: getattr(event, name) for name in DIGESTED_COLUMNS}
            event.digest = previous = sha256(canonical_json(columns))
            event.save()
        head = AuditHead(chain=chain, length=LENGTH, digest=previous, unkeyed=LENGTH)
        AuditHead.objects.filter(chain=chain).update(digest=previous, unkeyed=LENGTH, seal=head_seal(head))
    append(principal, "fact.created")
    assert verify_chain(chain).events == LENGTH + 1
    with audit_unguarded():
        AuditHead.objects.filter(chain=chain).update(unkeyed=2)
    assert verify_chain(chain).first_bad == 3


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_last_event_written_anew_digest_and_all_is_found(chain: str) -> None:
    columns = AuditEvent.objects.values().get(sequence=LENGTH) | {"action": "fact.merged"}
    with audit_unguarded():
        AuditEvent.objects.filter(sequence=LENGTH).update(action="fact.merged", digest=event_digest(columns))
    report = verify_chain(chain)
    assert (report.first_bad, report.event_id) == (LENGTH, columns["id"])


def test_a_forged_event_beyond_the_head_is_found(chain: str) -> None:
    last = AuditEvent.objects.values().get(sequence=LENGTH)
    columns = last | {"id": uuid.uuid4(), "sequence": LENGTH + 1, "previous_digest": last["digest"]}
    forged = AuditEvent.objects.create(**columns | {"digest": event_digest(columns)})
    report = verify_chain(chain)
    assert (report.first_bad, report.event_id) == (LENGTH + 1, forged.id)


@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("UPDATE tenants_auditevent SET action = 'x'", id="change events"),
        pytest.param("DELETE FROM tenants_auditevent", id="delete events"),
        pytest.param("UPDATE tenants_auditpayload SET document = '{}'", id="change payloads"),
        pytest.param("DELETE FROM tenants_auditpayload", id="delete payloads without an account"),
        pytest.param("UPDATE tenants_audithead SET length = length - 1", id="shrink the head"),
        pytest.param("UPDATE tenants_audithead SET digest = 'forged'", id="forge the head"),
        pytest.param("DELETE FROM tenants_audithead", id="delete the head"),
        pytest.param("REPLACE", id="insert over an event"),
    ],
)
def test_the_database_refuses_to(chain: str, statement: str) -> None:
    if statement == "REPLACE":
        if connection.vendor != "sqlite":
            pytest.skip("only SQLite can insert over a row")
        statement = "INSERT OR REPLACE INTO tenants_auditevent SELECT * FROM tenants_auditevent"
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        execute(statement)
    assert verify_chain(chain).ok


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no TRUNCATE")
@pytest.mark.parametrize("table", ["tenants_auditevent", "tenants_auditpayload", "tenants_audithead"])
def test_the_database_refuses_to_truncate(chain: str, table: str) -> None:
    execute("SET CONSTRAINTS ALL IMMEDIATE")
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        execute(f"TRUNCATE {table} CASCADE")


def test_a_long_chain_is_read_in_pages(principal: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenants.audit.verification._EVENTS_AT_ONCE", 3)
    append(principal, *["fact.created"] * 7)
    assert verify_chain(owner_chain(principal.tenant_id, principal.user_id)).events == 7


def test_the_command_is_content_with_a_whole_trail(chain: str) -> None:
    out = StringIO()
    call_command("verify_audit", "--json", stdout=out)
    answer = json.loads(out.getvalue())
    assert answer["ok"] and answer["missing_triggers"] == []
    assert [(report["chain"], report["events"]) for report in answer["chains"]] == [(chain, LENGTH)]
    assert answer["chains"][0]["digest"] == AuditHead.objects.get().digest


def test_the_command_fails_and_names_the_first_bad_event(chain: str) -> None:
    event = AuditEvent.objects.get(sequence=2)
    with audit_unguarded():
        execute("UPDATE tenants_auditevent SET action = 'x' WHERE sequence = 2")
    out = StringIO()
    with pytest.raises(CommandError) as failure:
        call_command("verify_audit", stdout=out)
    assert failure.value.returncode == 1
    assert f"{chain}: bad at event 2 (id {event.id}): the event was changed." in out.getvalue()


def test_the_command_misses_a_trigger_that_is_gone(chain: str) -> None:
    drop_triggers()
    try:
        guards = expected_triggers(connection.vendor)
        assert missing_triggers(connection) == sorted(name for name in guards if name.startswith("audit_"))
        with pytest.raises(CommandError):
            call_command("verify_audit", stdout=(out := StringIO()))
        assert "audit_event_is_not_deleted is missing" in out.getvalue()
    finally:
        install_triggers()
    assert missing_triggers(connection) == []


@pytest.mark.django_db
def test_several_missing_triggers_are_stored_whole_and_told_in_german() -> None:
    with audit_unguarded():
        found = prove_guards()
    kept = latest(TRIGGERS)
    assert kept is not None and len(kept.reason) > 200
    with translation.override("de"):
        words = fault_words(kept.reason)
    assert words.count("fehlt oder ist abgeschaltet") == min(len(found), 10) and "is missing" not in words

"""Every column of facts and how-tos, set by SQL to what it never was, is found at the event that told of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.utils import timezone

from memories.importing import MemoryRecord
from memories.models import Fact, Playbook
from memories.models.guard import raw_writes
from memories.selectors.history.chains import owners_of_memories, verify_chains, verify_owner
from memories.selectors.history.rows import CANNOT_BE_READ, READING_FAILS
from memories.services.erasure.forget import forget
from memories.services.facts.promote import promote
from memories.services.facts.remember import pin_fact, remember_fact
from memories.services.facts.supersede import correct, supersede
from memories.services.facts.undo import retract, undo
from memories.services.playbooks import record_outcome, remember_playbook
from memories.services.portability.memories_export import export_memories
from memories.services.portability.memories_import import import_memories
from memories.services.retention.collection import collect, restore
from memories.services.retention.dates import confirm_fact
from memories.types import Contradiction, Kind, Owner, Scope
from tenants.audit.verification import verify_all
from tenants.models import AuditEvent, AuditPayload, said_in
from tenants.principal import Principal
from tests.audit import audit_unguarded
from tests.memories.selectors.test_chains import unconstrained

pytestmark = pytest.mark.django_db

LONG_AGO = datetime(2001, 1, 1, tzinfo=UTC)
# By column: what it is set to, and of which state: one that ended, one that is believed.
ENDED, BELIEVED = "ended", "believed"
OF_BOTH: Mapping[str, tuple[str, Any]] = {
    "scope": (BELIEVED, "task"),
    "task": (BELIEVED, "kitchen"),
    "text": (BELIEVED, "Forged"),
    "content_hash": (BELIEVED, "0" * 64),
    "category": (BELIEVED, "forged"),
    "sensitivity": (BELIEVED, {"email": "allow"}),
    "version": (ENDED, 0),
    "created_at": (BELIEVED, LONG_AGO),
    "status": (BELIEVED, "stale"),
    "learned_at": (BELIEVED, LONG_AGO),
    "superseded_at": (ENDED, timezone.now() - timedelta(hours=1)),
    "superseded_by": (ENDED, None),
    "contradiction": (ENDED, "harsh"),
    "retracted": (ENDED, True),
    "restores": (BELIEVED, uuid4()),
    "promoted_from": (BELIEVED, uuid4()),
    "archived_at": (ENDED, timezone.now()),
    "evicted_at": (ENDED, timezone.now()),
    "evicted_from": (ENDED, "superseded"),
    "metadata": (BELIEVED, {"forged": True}),
    "app": (BELIEVED, "forged"),
}
TAMPERED: Mapping[type[Fact | Playbook], Mapping[str, tuple[str, Any]]] = {
    Fact: {
        **OF_BOTH,
        "key": (BELIEVED, "away_city"),
        "confidence": (BELIEVED, 0.5),
        "source": (BELIEVED, "pattern"),
        "pinned": (BELIEVED, False),
        "valid_from": (BELIEVED, LONG_AGO),
        "valid_to": (ENDED, timezone.now()),
        "last_verified_at": (BELIEVED, LONG_AGO),
        "review_after": (BELIEVED, timezone.now()),
        "expires_at": (BELIEVED, timezone.now() + timedelta(days=3)),
    },
    Playbook: {
        **OF_BOTH,
        "title": (BELIEVED, "Forged"),
        "trigger": (BELIEVED, "forged"),
        "steps": (BELIEVED, ["Forged"]),
        "success_count": (BELIEVED, 7),
        "failure_count": (BELIEVED, 7),
        "last_success_at": (BELIEVED, LONG_AGO),
        "last_failure_at": (BELIEVED, LONG_AGO),
        "proposed": (BELIEVED, True),
    },
}
# Nobody's statement on the memory: what is taken of the words, what a recall counts, what a scan computes again.
NOT_TOLD = {
    "likeness", "embedding", "embedding_model", "token_ids", "updated_at", "staleness", "use_count", "last_used_at",
}  # fmt: skip
# Another owner's chain does not tell of it.
MOVED = {"id", "tenant", "user"}


def lived(principal: Principal, model: type[Fact | Playbook], *, scope: Scope = Scope.USER) -> dict[str, UUID]:
    """A state that ended, and the one that took its place."""
    if model is Fact:
        ended = remember_fact(principal, text="Lives in Bristol", key="home_city", category="home", scope=scope)
        believed = supersede(principal, old_ids=[ended.memory_id], text="Lives in Leeds")
        if scope is Scope.USER:
            pin_fact(principal, fact_id=believed.memory_id, pinned=True)
    else:
        ended = remember_playbook(principal, title="Reset", trigger="it blinks", steps=["Pull"], scope=scope)
        believed = remember_playbook(
            principal, title="Reset", trigger="it blinks", steps=["Push"], supersedes_ids=[ended.memory_id], scope=scope
        )
        if scope is Scope.USER:
            record_outcome(principal, playbook_id=believed.memory_id, success=True)
    assert verify_chains().faults == ()
    return {ENDED: ended.memory_id, BELIEVED: believed.memory_id}


def tampered(model: type[Fact | Playbook], memory_id: UUID, **columns: Any) -> list[tuple[str, str]]:
    """What is found while a row has these columns, each fault with the action of the event that it names."""
    (before,) = model.objects.filter(pk=memory_id).values(*columns)
    with unconstrained(model):
        model.objects.filter(pk=memory_id).update(**columns)
        report = verify_chains()
        model.objects.filter(pk=memory_id).update(**before)
    assert verify_chains().faults == ()
    actions = dict(AuditEvent.objects.values_list("pk", "action"))
    return [
        (fault.problem, actions[fault.event.id] if fault.event else "")
        for fault in report.faults
        if fault.memory_id == memory_id
    ]


@pytest.mark.parametrize("model", [Fact, Playbook])
def test_whatever_column_was_changed_is_found(principal: Principal, model: type[Fact | Playbook]) -> None:
    states = lived(principal, model)
    for column, (which, value) in TAMPERED[model].items():
        assert model.objects.filter(pk=states[which]).exclude(**{column: value}).exists(), column
        found = tampered(model, states[which], **{column: value})
        assert found, column
        assert all(action for _, action in found), column


@pytest.mark.parametrize("model", [Fact, Playbook])
def test_every_column_is_tampered_with(model: type[Fact | Playbook]) -> None:
    columns = {field.name for field in model._meta.concrete_fields}
    assert columns == TAMPERED[model].keys() | NOT_TOLD & columns | MOVED


@pytest.mark.parametrize("model", [Fact, Playbook])
def test_a_row_given_to_somebody_else_has_no_trail_there(
    principal: Principal, other_member: Principal, model: type[Fact | Playbook]
) -> None:
    memory_id = lived(principal, model)[BELIEVED]
    assert ("was written without an audit event", "") in tampered(model, memory_id, user_id=other_member.user_id)


@pytest.mark.parametrize("model", [Fact, Playbook])
def test_what_is_shared_is_compared_without_its_words(admin_principal: Principal, model: type[Fact | Playbook]) -> None:
    states = lived(admin_principal, model, scope=Scope.TENANT)
    for column in ("category", "learned_at", "contradiction"):
        which, value = TAMPERED[model][column]
        assert tampered(model, states[which], **{column: value})
    assert tampered(model, states[BELIEVED], text="Forged", content_hash="0" * 64)
    told = [said_in(each)["row"] for each in AuditPayload.objects.values_list("document", flat=True)]
    assert not any(word in str(told) for word in ("Bristol", "home_city", "'home'", "Reset", "Pull"))


@pytest.mark.parametrize("model", [Fact, Playbook])
def test_a_row_that_was_deleted_is_missed_at_the_event_of_its_writing(
    principal: Principal, model: type[Fact | Playbook]
) -> None:
    believed = lived(principal, model)[BELIEVED]
    model.objects.filter(pk=believed).delete()
    problem = "is not there although the audit tells of no erasure"
    for report in (verify_chains(), verify_owner(Owner(principal.tenant_id, principal.user_id))):
        (event,) = {fault.event.id for fault in report.faults if fault.problem == problem and fault.event}
        written = AuditEvent.objects.get(pk=event)
        assert (written.target_id, written.action.partition(".")[2]) == (believed, "created")


def test_a_natural_end_made_harsh_and_a_forged_eviction_name_the_event_that_told_how_it_was(
    principal: Principal,
) -> None:
    states = lived(principal, Fact)
    assert tampered(Fact, states[ENDED], contradiction=Contradiction.HARSH, retracted=True) == [
        ("has another contradiction than the audit tells of", "fact.superseded"),
        ("has another retracted than the audit tells of", "fact.superseded"),
    ]
    evicted = {"status": "evicted", "evicted_at": timezone.now(), "evicted_from": "active"}
    assert ("was evicted without an audit event", "fact.pinned") in tampered(Fact, states[BELIEVED], **evicted)


def test_a_link_past_an_erased_state_is_compared_with_where_it_was_led(principal: Principal) -> None:
    chain = [
        remember_fact(principal, text=f"Lives in {city}", key="home_city").memory_id
        for city in ("Bristol", "Leeds", "York", "Hull", "Bath")
    ]
    for erased in (chain[2], chain[1]):
        forget(principal, kind=Kind.SEMANTIC, memory_id=erased)
    assert verify_chains().faults == ()
    assert Fact.objects.get(pk=chain[0]).superseded_by_id == chain[3]
    assert ("has another successor than the audit tells of", "fact.superseded") in tampered(
        Fact, chain[0], superseded_by_id=chain[4]
    )


def test_a_row_that_is_there_while_its_payload_is_gone_is_a_fault(principal: Principal) -> None:
    lived(principal, Fact)
    lived(principal, Playbook)
    with audit_unguarded():
        AuditPayload.objects.all().delete()
    assert {fault.problem for fault in verify_chains().faults} >= {"is there although the payload of its event is gone"}
    assert not any(report.ok for report in verify_all())


GARBAGE = ["not a time", b"\xff\xfe"]


def read_by_the_driver(model: type[Fact | Playbook], memory_id: UUID, name: str) -> object:
    try:
        return model.objects.filter(pk=memory_id).values_list(name, flat=True).first()
    except READING_FAILS as error:
        return type(error)


@pytest.mark.skipif(connection.vendor != "sqlite", reason="other databases take no such value")
@pytest.mark.parametrize(
    ("model", "garbage"), [*((Fact, garbage) for garbage in GARBAGE), (Playbook, "not a time")], ids=repr
)
def test_what_no_column_can_have_is_a_fault_and_hides_no_other(
    principal: Principal, model: type[Fact | Playbook], garbage: object
) -> None:
    states = lived(principal, model)
    believed, ended = states[BELIEVED], states[ENDED]
    model.objects.filter(pk=ended).update(category="forged")
    with unconstrained(model):
        for field in model._meta.concrete_fields:
            if field.name in MOVED | NOT_TOLD:
                continue
            place = placed(model, believed)
            before = put(model, place, field.column, garbage)
            faults = {(fault.memory_id, fault.problem) for fault in verify_chains().faults}
            read = read_by_the_driver(model, believed, field.attname)
            put(model, place, field.column, before)
            if read == read_by_the_driver(model, believed, field.attname):
                continue  # the driver reads the garbage as the value that was there
            problems = [problem for memory_id, problem in faults if memory_id == believed]
            assert problems, field.name
            assert not any(repr(garbage) in problem for problem in problems)
            assert (ended, "has another category than the audit tells of") in faults


@pytest.mark.skipif(connection.vendor != "sqlite", reason="other databases take no such value")
def test_a_row_without_a_readable_id_or_owner_is_reported(principal: Principal) -> None:
    place = placed(Fact, lived(principal, Fact)[BELIEVED])
    for column in ("id", "tenant_id", "user_id"):
        before = put(Fact, place, column, "garbage")
        report, owners, shared = verify_chains(), owners_of_memories(), verify_owner(Owner(None, None))
        put(Fact, place, column, before)
        assert CANNOT_BE_READ in {fault.problem for fault in report.faults}
        assert (Owner(None, None) in owners, shared.ok) == ((False, True) if column == "id" else (True, False))
    assert verify_chains().ok


def placed(model: type[Fact | Playbook], memory_id: UUID) -> int:
    """Where SQLite keeps a row."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT rowid FROM {model._meta.db_table} WHERE id = %s", [memory_id.hex])  # noqa: S608 - ours
        return int(cursor.fetchone()[0])


def put(model: type[Fact | Playbook], place: int, column: str, value: Any) -> Any:
    """Set a column of a row by SQL; what it was."""
    table, name = model._meta.db_table, connection.ops.quote_name(column)
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA defer_foreign_keys = ON")
        cursor.execute("PRAGMA ignore_check_constraints = ON")
        cursor.execute(f"SELECT +{name} FROM {table} WHERE rowid = %s", [place])  # noqa: S608 - names of ours
        (before,) = cursor.fetchone()
        with raw_writes("a test tampers"):
            cursor.execute(f"UPDATE {table} SET {name} = %s WHERE rowid = %s", [value, place])  # noqa: S608 - ditto
        cursor.execute("PRAGMA ignore_check_constraints = OFF")
    return before


def test_whatever_is_done_each_event_tells_how_the_row_stands(
    admin_principal: Principal, other_tenant_member: Principal
) -> None:
    who = admin_principal
    for model in (Fact, Playbook):
        lived(who, model)
        lived(who, model, scope=Scope.TENANT)
    tea = remember_fact(who, text="Drinks tea", learned_at=timezone.now() - timedelta(days=400)).memory_id
    remember_fact(who, text="Drinks tea", key="drink")  # merges
    confirm_fact(who, fact_id=tea)
    promote(who, kind=Kind.SEMANTIC, memory_id=tea, to=Scope.TENANT)
    coffee = correct(who, kind=Kind.SEMANTIC, memory_id=tea, text="Drinks coffee").memory_id
    undo(who, kind=Kind.SEMANTIC, memory_id=coffee)
    over = remember_fact(who, text="Parks on level 3", expires_at=timezone.now() + timedelta(hours=1)).memory_id
    collect(apply=True, now=timezone.now() + timedelta(hours=2))
    assert Fact.objects.get(pk=over).status == "evicted"
    restore(who, kind=Kind.SEMANTIC, memory_id=over)
    retract(who, kind=Kind.SEMANTIC, memory_ids=[over])
    forget(who, kind=Kind.SEMANTIC, memory_id=remember_fact(who, text="Keeps a spare key outside").memory_id)
    import_memories(other_tenant_member, [each for each in export_memories(who) if isinstance(each, MemoryRecord)])
    assert verify_chains().faults == ()
    told = AuditPayload.objects.filter(event__target_kind__in=["semantic", "procedural"]).select_related("event")
    silent = {each.event.action.partition(".")[2] for each in told if said_in(each.document)["row"] is None}
    assert silent <= {"promoted", "forgotten"}
    assert {"created", "merged", "confirmed", "evicted", "revived", "retired", "restored"} <= {
        each.event.action.partition(".")[2] for each in told
    }

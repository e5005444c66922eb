"""Random changes of the database past memoryhub: each that changes what is read is found, and nobody else is accused.

Each case changes one thing or two in a savepoint: columns, whole rows, payloads, events, heads, records of erasure,
whole chains, anchors, triggers, and what grants rights: tokens, memberships, flags of users and tenants. The triggers
of the audit log are dropped and restored around each change, as somebody would who owns the tables. Run a case again
with `--changes 1 --seed N`.
"""

from __future__ import annotations

import hashlib
import os
import random
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest
from django.db import DatabaseError, connection, models, transaction
from django.db.models import Q
from rich.progress import track

from memories.models import MEMORY_MODELS, Fact, Message
from memories.selectors.history.chains import verify_chains
from memories.selectors.history.rows import RECORDED, WORDS
from memories.services.catalog import remember_catalog_entry
from memories.services.erasure.forget import forget
from memories.services.facts.promote import promote
from memories.services.facts.remember import pin_fact, remember_fact
from memories.services.playbooks import remember_playbook
from memories.services.sessions.turns import begin_turn
from memories.types import ALL_KINDS, CURRENT, Kind, Scope
from tenants.audit.anchors import ANCHORS, anchor
from tenants.audit.digests import DIGESTED_COLUMNS
from tenants.audit.triggers import expected_triggers, missing_triggers
from tenants.audit.verification import verify_all
from tenants.models import AuditErasure, AuditEvent, AuditHead, AuditPayload
from tenants.principal import Principal, Role
from tenants.services import (
    add_member,
    change_role,
    create_tenant,
    create_user,
    deactivate,
    issue_token,
    revoke_token,
)
from tests.audit import audit_unguarded
from tests.factories import make_membership, make_tenant, own_principal
from tests.memories.five import live_five
from tests.proofs.tampering import RECORDED_TENANT, RIGHTS, Change, Touched, Undone, one_of, other, put, rows
from tests.serving_role import as_owner

# The proof of chains leaves these to other checks or states no value for them (docs/history.md).
NOT_PROVEN = {"id", "version", "superseded_by_id", "user_id", "created_at", "sensitivity"}


def a_memory(chance: random.Random, touched: Touched) -> Any:
    row = one_of(chance, rows(MEMORY_MODELS[chance.choice(ALL_KINDS)]))
    touched.memories.add(row.pk)
    return row


def a_column_of_a_memory(chance: random.Random, touched: Touched) -> None:
    row = a_memory(chance, touched)
    proven = {*RECORDED.get(row.kind, ()), *WORDS[row.kind], "app", "metadata"} - NOT_PROVEN
    column = chance.choice(sorted(proven))
    put(row, touched, **{column: other(chance, row, column)})


def words_with_their_hash(chance: random.Random, touched: Touched) -> None:
    row = one_of(chance, rows(Fact))
    touched.memories.add(row.pk)
    text = f"{row.text}, or not"
    put(row, touched, text=text, content_hash=hashlib.sha256(text.casefold().encode()).hexdigest())


def a_memory_and_its_payloads(chance: random.Random, touched: Touched) -> None:
    """A rewritten fact without the payloads that would tell."""
    words_with_their_hash(chance, touched)
    for event in AuditEvent.objects.filter(target_id__in=touched.memories):
        touched.event(event)
        rows(AuditPayload, event=event).delete()


def a_memory_removed(chance: random.Random, touched: Touched) -> None:
    row = a_memory(chance, touched)
    if row.pk in touched.planted:
        raise Undone
    touched.said.append(f"{row} removed")
    if hasattr(row, "supporting_episodes"):
        row.supporting_episodes.through.objects.filter(**{f"{row._meta.model_name}_id": row.pk}).delete()
    rows(type(row), pk=row.pk)._raw_delete(using="default")


def a_memory_planted(chance: random.Random, touched: Touched) -> None:
    row = a_memory(chance, touched)
    row.pk, row.content_hash, row.key = uuid.UUID(int=chance.getrandbits(128)), f"{chance.random()}", ""
    if row.kind is Kind.EPISODIC:
        row.message_id, row.ordinal, row.sequence = None, row.ordinal + 1000, row.sequence + 1000
    touched.memories.add(row.pk)
    touched.planted.add(row.pk)
    touched.said.append(f"{row} planted")
    models.QuerySet(type(row)).bulk_create([row])


def an_event(chance: random.Random, touched: Touched) -> AuditEvent:
    event: AuditEvent = one_of(chance, rows(AuditEvent))
    touched.event(event)
    return event


def a_column_of_an_event(chance: random.Random, touched: Touched) -> None:
    event = an_event(chance, touched)
    column = chance.choice(sorted({*DIGESTED_COLUMNS, "digest"} - {"id", "sequence", "chain"}))
    put(event, touched, **{column: other(chance, event, column)})


def an_event_with_a_plain_digest(chance: random.Random, touched: Touched) -> None:
    """Written anew with a digest without a key, as before digests had one, and its head with it."""
    event = an_event(chance, touched)
    digest = hashlib.sha256(event.chain.encode()).hexdigest()
    put(event, touched, action="fact.confirmed", digest=digest)
    rows(AuditHead, chain=event.chain).update(unkeyed=1000, digest=digest, length=event.sequence)


def an_event_removed(chance: random.Random, touched: Touched) -> None:
    remove(an_event(chance, touched), touched)


def remove(event: AuditEvent, touched: Touched) -> None:
    touched.said.append(f"event {event.sequence} of {event.chain} removed")
    for model in (AuditPayload, AuditErasure):
        rows(model, event=event).delete()
    rows(AuditEvent, pk=event.pk)._raw_delete(using="default")


def the_last_event_with_the_head_put_back(chance: random.Random, touched: Touched) -> None:
    chain = an_event(chance, touched).chain
    cut_off(AuditEvent.objects.filter(chain=chain).latest("sequence"), touched)


def cut_off(last: AuditEvent, touched: Touched) -> None:
    """Remove the last event of a chain, and put the head back."""
    if last.pk in touched.planted:
        raise Undone
    touched.event(last)
    for head in AuditHead.objects.filter(pk=last.chain):  # the other change of a pair may have removed it
        put(head, touched, length=last.sequence - 1, digest=last.previous_digest)
    remove(last, touched)


def a_chain_with_its_head(chance: random.Random, touched: Touched) -> None:
    """The attack of the security review, S17."""
    chain = one_of(chance, rows(AuditHead).exclude(chain=ANCHORS)).chain
    for event in AuditEvent.objects.filter(chain=chain):
        touched.event(event)
        remove(event, touched)
    rows(AuditHead, chain=chain).delete()


def an_event_repeated(chance: random.Random, touched: Touched) -> None:
    event = an_event(chance, touched)
    last = AuditEvent.objects.filter(chain=event.chain).latest("sequence")
    event.pk, event.sequence, event.previous_digest = (
        uuid.UUID(int=chance.getrandbits(128)),
        last.sequence + 1,
        last.digest,
    )
    event.save(force_insert=True)
    touched.planted.add(event.pk)
    touched.said.append(f"an event of {event.chain} repeated")
    rows(AuditHead, chain=event.chain).update(length=event.sequence, digest=event.digest)


def a_payload(chance: random.Random, touched: Touched) -> AuditPayload:
    payload: AuditPayload = one_of(chance, rows(AuditPayload))
    touched.event(payload.event)
    return payload


def a_payload_changed(chance: random.Random, touched: Touched) -> None:
    column = chance.choice(["salt", "document"])
    payload = a_payload(chance, touched)
    put(payload, touched, **{column: other(chance, payload, column)})


def a_payload_removed(chance: random.Random, touched: Touched) -> None:
    payload = a_payload(chance, touched)
    touched.said.append(f"{payload} removed")
    payload.delete()


def a_payload_removed_on_a_forged_account(chance: random.Random, touched: Touched) -> None:
    payload, by = a_payload(chance, touched), one_of(chance, rows(AuditEvent))
    seal = chance.choice(list(AuditErasure.objects.values_list("seal", flat=True)))
    AuditErasure.objects.create(event=payload.event, by=by.pk, seal=seal)
    touched.said.append(f"{payload} removed on account of {by}")
    payload.delete()


def two_payloads_exchanged(chance: random.Random, touched: Touched) -> None:
    one, two = (a_payload(chance, touched) for _ in range(2))
    put(one, touched, salt=two.salt, document=two.document)
    put(two, touched, salt=one.salt, document=one.document)
    if one == two:
        raise Undone


def an_erased_payload_put_back(chance: random.Random, touched: Touched) -> None:
    erasure = one_of(chance, rows(AuditErasure))
    touched.event(erasure.event)
    touched.said.append(f"payload of {erasure.event} put back")
    AuditPayload.objects.create(event=erasure.event, salt="", document='{"reason":"","before":null,"after":null}')


def an_account_of_an_erasure(chance: random.Random, touched: Touched) -> None:
    erasure = one_of(chance, rows(AuditErasure))
    touched.event(erasure.event)
    if chance.random() < 0.5:
        touched.said.append(f"{erasure} removed")
        erasure.delete()
    else:
        column = chance.choice(["by", "seal"])
        put(erasure, touched, **{column: other(chance, erasure, column)})


def a_head(chance: random.Random, touched: Touched) -> None:
    head = one_of(chance, rows(AuditHead))
    touched.chains.add(head.chain)
    column = chance.choice(["length", "digest", "seal", "unkeyed", "all"])
    if column == "all":
        touched.said.append(f"{head} removed")
        rows(AuditHead, pk=head.pk).delete()
    else:
        put(head, touched, **{column: other(chance, head, column)})


def a_message(chance: random.Random, touched: Touched) -> None:
    """What a member said, in the transcript."""
    message = one_of(chance, rows(Message, episode__isnull=False))
    touched.memories.add(message.episode.pk)
    put(message, touched, text=f"{message.text}, or not")


def an_anchor_removed(_: random.Random, touched: Touched) -> None:
    cut_off(AuditEvent.objects.filter(chain=ANCHORS).latest("sequence"), touched)


CHANGES: tuple[Change, ...] = (
    *[a_column_of_a_memory] * 6,
    *(words_with_their_hash, a_memory_and_its_payloads, a_memory_removed, a_memory_planted),
    *(a_column_of_an_event, an_event_with_a_plain_digest, an_event_removed, an_event_repeated),
    *(the_last_event_with_the_head_put_back, a_chain_with_its_head, an_anchor_removed, a_head),
    *(a_payload_changed, a_payload_removed, a_payload_removed_on_a_forged_account, two_payloads_exchanged),
    *(an_erased_payload_put_back, an_account_of_an_erasure),
    *(a_message, *RIGHTS),
)


@pytest.fixture(autouse=True)
def _same_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows have the same ids in each run, so that a seed chooses the same ones."""
    monkeypatch.setattr(os, "urandom", random.Random(0).randbytes)


@pytest.fixture
def lived(principal: Principal, other_member: Principal, admin_principal: Principal) -> None:
    """A small memory of several members of two tenants: superseded, undone, promoted, forgotten; anchored twice."""
    live_five(principal)
    stranger = own_principal(make_membership(make_tenant(), role="admin", name="Wanda"))
    for member in (principal, other_member, stranger):
        remember_fact(member, text="Allergic to penicillin", key="allergy")
        begin_turn(member, text="The pears were ripe in August")
        gone = remember_fact(member, text="Keeps two ferrets in the shed").memory_id
        remember_playbook(member, title="Prune the pear", trigger="In March", steps=["Cut", "Tie"])
        forget(member, kind=Kind.SEMANTIC, memory_id=gone)
        anchor()
    shared = remember_fact(admin_principal, text="The office closes at six").memory_id
    promote(admin_principal, kind=Kind.SEMANTIC, memory_id=shared, to=Scope.TENANT)
    for admin in (admin_principal, stranger):
        remember_catalog_entry(admin, title="Leave", text="Ask two weeks ahead")
    recorded = create_tenant(name="Recorded", slug=RECORDED_TENANT)
    for number, role in enumerate(Role):
        employee = add_member(tenant=recorded, user=create_user(username=f"recorded-{number}"), external_id=f"{number}")
        change_role(employee, role=role)
        issue_token(employee, name="works")
        revoke_token(issue_token(employee, name="revoked")[0])
        if role is Role.SUPPORT:
            deactivate(employee)
    pin_fact(principal, fact_id=Fact.objects.of(principal).filter(key="allergy").get().pk, pinned=True)
    anchor()


def findings() -> tuple[dict[str, str], dict[UUID | None, str], list[str]]:
    """What the verifiers find: reasons by chain, problems by memory, missing triggers."""
    broken = {report.chain: report.reason for report in verify_all() if not report.ok}
    faults = {fault.memory_id: fault.problem for fault in verify_chains().faults}
    return broken, faults, missing_triggers()


def beside(memories: set[UUID]) -> set[UUID]:
    """The memories with a link to these, or with their words or key: what is said of one may be said of these."""
    found: set[UUID] = set(memories)
    for model in (Fact, MEMORY_MODELS[Kind.PROCEDURAL]):
        columns = [name for name in ("superseded_by_id", "restores", "promoted_from") if hasattr(model, name)]
        touched = rows(model).filter(pk__in=memories)
        for name in columns:
            found |= set(rows(model).filter(**{f"{name}__in": memories}).values_list("pk", flat=True))
            found |= {each for each in touched.values_list(name, flat=True) if each}
        same = Q(content_hash__in=touched.values("content_hash"))
        if hasattr(model, "key"):
            same |= Q(key__in=touched.exclude(key="").values("key"))
        found |= set(rows(model).filter(same, status__in=CURRENT).values_list("pk", flat=True))
    return found


def seeds(first: int, count: int) -> Iterator[int]:
    yield from track(range(first, first + count), description="changes")


def test_no_change_of_the_database_goes_unnoticed(
    lived: None, pytestconfig: pytest.Config, record_property: Callable[[str, object], None]
) -> None:
    first, count = (int(pytestconfig.getoption(f"--{name}")) for name in ("seed", "changes"))
    assert findings() == ({}, {}, [])
    made, refused, unnoticed, accused = Counter[str](), Counter[str](), list[str](), list[str]()
    memories = {pk for model in MEMORY_MODELS.values() for pk in rows(model).values_list("pk", flat=True)}
    for seed in seeds(first, count):
        chance, touched = random.Random(seed), Touched()
        chosen = chance.sample(CHANGES, chance.choice([1, 2]))
        names = " and ".join(change.__name__ for change in chosen)
        near = set[UUID]()
        try:
            with transaction.atomic():
                with audit_unguarded():
                    for change in chosen:
                        change(chance, touched)
                    near = beside(touched.memories)
                if connection.vendor == "postgresql":
                    connection.check_constraints()
                broken, faults, _ = findings()
                what = f"seed {seed}, {names}: {touched.said}"
                if not broken and not faults:
                    unnoticed.append(what)
                near |= beside(touched.memories)
                if strangers := (broken.keys() - touched.chains) | {
                    str(each) for each in faults.keys() & memories - near
                }:
                    accused.append(f"{what}: {strangers} {broken} {faults}")
                transaction.set_rollback(True)
        except (DatabaseError, Undone):  # the database refuses such a value, or nothing changed
            refused[names] += 1
        else:
            made.update(change.__name__ for change in chosen)
    tried = f"{made.total()} changes in {count - refused.total()} cases, {refused.total()} refused by the database"
    record_property("found", tried := f"seeds {first} to {first + count - 1} on {connection.vendor}: {tried}")
    print(f"\n{tried}")  # noqa: T201 - the finding
    for name, times in made.most_common():
        print(f"  {times:6} {name}")  # noqa: T201 - the finding
    assert (unnoticed, accused) == ([], [])
    assert findings() == ({}, {}, [])


@pytest.mark.parametrize("name", sorted(expected_triggers(connection.vendor)))
def test_each_trigger_that_is_gone_is_missed(db: None, name: str) -> None:
    with as_owner(), transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(f"DROP TRIGGER {name}")
        else:
            cursor.execute("SELECT tgrelid::regclass FROM pg_trigger WHERE tgname = %s", [name])
            (table,) = cursor.fetchone()
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER {name}")
        assert missing_triggers() == [name]
        transaction.set_rollback(True)
    assert missing_triggers() == []

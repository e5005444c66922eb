"""verify_chains finds each way in which rows and audit can disagree; the database's own constraints are put aside."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from memories.hygiene.text import content_hash
from memories.models import Fact, Playbook
from memories.selectors.history import chain_checks
from memories.selectors.history.chains import ChainsReport, verify_chains
from memories.services.erasure.forget import forget
from memories.services.facts.promote import promote
from memories.services.facts.remember import remember_fact
from memories.services.facts.supersede import correct, retire, supersede
from memories.services.facts.undo import undo
from memories.services.playbooks import remember_playbook
from memories.types import Contradiction, Kind, Scope, Status
from tenants.models import AuditEvent, AuditPayload
from tenants.principal import Principal
from tests.audit import audit_unguarded
from tests.serving_role import as_owner

pytestmark = pytest.mark.django_db


@dataclass(frozen=True)
class Lives:
    """Ada's facts: a, b and c in a chain, `wrong` undone by `back`, `copy` promoted from `task`; and one of Bob's."""

    a: UUID
    b: UUID
    c: UUID
    lost: UUID
    wrong: UUID
    back: UUID
    task: UUID
    copy: UUID
    bobs: UUID


@pytest.fixture
def lives(principal: Principal, other_member: Principal) -> Lives:
    """Something of everything that can be checked."""
    a = remember_fact(principal, text="A", key="letter").memory_id
    b = supersede(principal, old_ids=[a], text="B").memory_id
    c = supersede(principal, old_ids=[b], text="C").memory_id
    lost = remember_fact(principal, text="Lost", key="thing").memory_id
    wrong = remember_fact(principal, text="Wrong", key="thing").memory_id
    back = undo(principal, kind=Kind.SEMANTIC, memory_id=wrong).memory_id
    task = remember_fact(principal, text="Promoted", scope=Scope.TASK, task="kitchen").memory_id
    copy = promote(principal, kind=Kind.SEMANTIC, memory_id=task, to=Scope.USER).memory_id
    return Lives(a, b, c, lost, wrong, back, task, copy, remember_fact(other_member, text="Bob's").memory_id)


@contextmanager
def unconstrained(model: type[Fact | Playbook] = Fact) -> Iterator[None]:
    """Inside, the database takes rows that its constraints refuse; what is wrong must be put right before the end."""
    connection.check_constraints()  # PostgreSQL changes no table while checks of its rows are put off
    with as_owner(), connection.cursor() as cursor:
        unique = [each.name for each in model._meta.constraints if "_per_" in each.name]
        for name in unique:
            cursor.execute(f"DROP INDEX IF EXISTS {name}")
        if connection.vendor == "sqlite":
            cursor.execute("PRAGMA ignore_check_constraints = ON")
        else:
            for each in model._meta.constraints:
                if each.name not in unique:
                    cursor.execute(f"ALTER TABLE {model._meta.db_table} DROP CONSTRAINT IF EXISTS {each.name}")
        try:
            yield
        finally:
            if connection.vendor == "sqlite":
                cursor.execute("PRAGMA ignore_check_constraints = OFF")


def change(memory_id: UUID, **columns: Any) -> None:
    Fact.objects.filter(pk=memory_id).update(**columns)


def found(report: ChainsReport) -> set[tuple[UUID | None, str]]:
    return {(fault.memory_id, fault.problem) for fault in report.faults}


def later(days: int = 1) -> Any:
    return timezone.now() + timedelta(days=days)


def test_a_sound_memory_passes(lives: Lives) -> None:
    report = verify_chains()
    assert (report.faults, report.ok, report.rows, report.links) == ((), True, 9, 4)


Damage = Callable[[Lives], Any]
_TAMPERED = [
    ("is superseded without a time", "a", lambda it: change(it.a, superseded_at=None)),
    ("has a time of supersession but is not superseded", "c", lambda it: change(it.c, superseded_at=later())),
    ("has a successor but is not superseded", "c", lambda it: change(it.c, superseded_by=it.copy)),
    ("is believed and yet contradicted", "c", lambda it: change(it.c, contradiction=Contradiction.NATURAL)),
    ("was superseded without saying how", "a", lambda it: change(it.a, contradiction="")),
    (
        "is retracted without a harsh contradiction, or the other way round",
        "a",
        lambda it: change(it.a, retracted=True),
    ),
    (
        "is retracted without a harsh contradiction, or the other way round",
        "wrong",
        lambda it: change(it.wrong, retracted=False),
    ),
    ("ended before it began", "a", lambda it: change(it.a, learned_at=later())),
    (
        "is evicted without saying since when and from which state, or the other way round",
        "c",
        lambda it: change(it.c, status=Status.EVICTED),
    ),
    (
        "is evicted without saying since when and from which state, or the other way round",
        "c",
        lambda it: change(it.c, evicted_from=Status.ACTIVE),
    ),
    (
        "would return from its eviction to a state that it was not in",
        "a",
        lambda it: change(it.a, status=Status.EVICTED, evicted_at=later(), evicted_from=Status.ACTIVE),
    ),
    (
        "would return from its eviction to a state that it was not in",
        "c",
        lambda it: change(it.c, status=Status.EVICTED, evicted_at=later(), evicted_from=Status.SUPERSEDED),
    ),
    ("was archived before it was superseded", "a", lambda it: change(it.a, archived_at=later(-900))),
    ("was archived before it was superseded", "c", lambda it: change(it.c, archived_at=later())),
    ("ended after the audit told of its end", "a", lambda it: change(it.a, superseded_at=later())),
    ("has other words than it was stored with", "c", lambda it: change(it.c, text="Forged")),
    (
        "has other words than the audit tells of",
        "c",
        lambda it: change(it.c, text="Forged", content_hash=content_hash("Forged")),
    ),
    (
        "is believed although the audit tells of its end",
        "a",
        lambda it: change(
            it.a,
            status=Status.ACTIVE,
            superseded_at=None,
            superseded_by=None,
            contradiction="",
            retracted=False,
            key="",
        ),
    ),
    (
        "was superseded without an audit event",
        "c",
        lambda it: change(it.c, status=Status.SUPERSEDED, superseded_at=later(), contradiction=Contradiction.NATURAL),
    ),
    ("has another successor than the audit tells of", "a", lambda it: change(it.a, superseded_by=it.c)),
    ("has another successor than the audit tells of", "a", lambda it: change(it.a, superseded_by=None)),
    ("points to a successor that is not there", "a", lambda it: change(it.a, superseded_by=uuid4())),
    ("has a successor of another owner or scope", "b", lambda it: change(it.c, scope=Scope.TASK, task="kitchen")),
    ("has a successor of another owner or scope", "a", lambda it: change(it.a, superseded_by=it.bobs)),
    ("ended before its successor was learned", "a", lambda it: change(it.b, learned_at=later())),
    ("brings back what never was there", "back", lambda it: change(it.back, restores=uuid4())),
    ("brings back what belongs to another owner or scope", "back", lambda it: change(it.back, restores=it.bobs)),
    ("brings back what is believed", "back", lambda it: change(it.back, restores=it.c)),
    ("brings back other words than there were", "back", lambda it: change(it.back, restores=it.a)),
    ("was promoted without an audit event", "copy", lambda it: change(it.copy, promoted_from=it.bobs)),
    ("was promoted without an audit event", "c", lambda it: change(it.c, promoted_from=it.task)),
    ("was promoted from a scope that is not narrower", "copy", lambda it: change(it.copy, promoted_from=it.c)),
    ("was promoted from another owner", "copy", lambda it: change(it.copy, promoted_from=it.bobs)),
    ("has the key of another one that is believed", "back", lambda it: change(it.copy, key="thing")),
    (
        "says the same as another one that is believed",
        "back",
        lambda it: change(it.copy, text="Lost", content_hash=Fact.objects.get(pk=it.back).content_hash),
    ),
    (
        "is part of a cycle",
        "a",
        lambda it: change(
            it.c, status=Status.SUPERSEDED, superseded_at=later(), superseded_by=it.a, contradiction="natural"
        ),
    ),
]


@pytest.mark.parametrize(
    ("problem", "named", "damage"), [pytest.param(*each, id=f"{each[0]}: {each[1]}") for each in _TAMPERED]
)
def test_tampering_with_a_row_is_found(lives: Lives, problem: str, named: str, damage: Damage) -> None:
    before = list(Fact.objects.order_by("pk").values())
    with unconstrained():
        damage(lives)
        report = verify_chains()
        for row in before:
            change(row["id"], **{name: value for name, value in row.items() if name not in ("id", "updated_at")})
    assert (getattr(lives, named), problem) in found(report)
    assert verify_chains().ok


def test_every_invariant_is_tampered_with() -> None:
    said = set(re.findall(r'"((?:is|has|was|would|ended|brings|points|says) [^"]+)"', inspect.getsource(chain_checks)))
    assert said - {"was promoted from another tenant"} == {problem for problem, _, _ in _TAMPERED}


def test_a_copy_of_what_another_tenant_said_is_found(
    admin_principal: Principal, other_tenant_member: Principal
) -> None:
    own = remember_fact(admin_principal, text="Ours").memory_id
    copy = promote(admin_principal, kind=Kind.SEMANTIC, memory_id=own, to=Scope.TENANT).memory_id
    assert verify_chains().ok
    theirs = remember_fact(other_tenant_member, text="Theirs").memory_id
    change(copy, promoted_from=theirs)
    assert (copy, "was promoted from another tenant") in found(verify_chains())


@pytest.mark.parametrize(
    ("action", "problem"),
    [
        ("fact.superseded", "was superseded without an audit event"),
        ("fact.promoted", "was promoted without an audit event"),
    ],
)
def test_an_event_that_is_gone_is_missed(lives: Lives, action: str, problem: str) -> None:
    with audit_unguarded():
        AuditPayload.objects.filter(event__action=action).delete()
        AuditEvent.objects.filter(action=action).delete()
    assert {each for _, each in found(verify_chains())} == {problem}


def test_an_event_that_names_another_successor_is_found(lives: Lives) -> None:
    with audit_unguarded():
        payload = AuditPayload.objects.get(event__target_id=lives.a, event__action="fact.superseded")
        after = {**payload.data["after"], "superseded_by": str(lives.c)}
        payload.document = json.dumps(payload.data | {"after": after})
        payload.save()
    assert found(verify_chains()) == {(lives.a, "has another successor than the audit tells of")}


def test_another_owner_s_event_proves_nothing(lives: Lives, other_member: Principal) -> None:
    with audit_unguarded():
        AuditEvent.objects.filter(target_id=lives.a, action="fact.superseded").update(owner_id=other_member.user_id)
    assert found(verify_chains()) == {(lives.a, "was superseded without an audit event")}


def test_what_was_forgotten_leaves_chains_that_verify(lives: Lives, principal: Principal) -> None:
    for memory_id in (lives.b, lives.lost, lives.task):
        forget(principal, kind=Kind.SEMANTIC, memory_id=memory_id)
        assert verify_chains().faults == ()
    assert Fact.objects.get(pk=lives.a).superseded_by_id == lives.c


@pytest.mark.parametrize("order", [(1, 2), (2, 1), (1, 2, 3), (3, 2, 1), (1, 3, 2), (2, 1, 3), (2, 3), (3, 1)])
def test_states_beside_each_other_may_be_forgotten_in_any_order(principal: Principal, order: tuple[int, ...]) -> None:
    for number in range(4):
        remember_fact(principal, text=f"Weighs {number} stone", key="weight")
    ids = list(Fact.objects.of(principal).order_by("learned_at").values_list("pk", flat=True))
    for place in order:
        forget(principal, kind=Kind.SEMANTIC, memory_id=ids[place])
        assert verify_chains().faults == ()
    left = [pk for place, pk in enumerate(ids) if place not in order]
    links = Fact.objects.of(principal).order_by("learned_at").values_list("superseded_by", flat=True)
    assert list(links) == [*left[1:], None]


def test_playbooks_and_shared_facts_are_checked_too(admin_principal: Principal) -> None:
    first = remember_playbook(admin_principal, title="Reset", steps=["Pull"]).memory_id
    correct(admin_principal, kind=Kind.PROCEDURAL, memory_id=first, text="Push")
    for words in ("We close at five", "We close at six"):
        remember_fact(admin_principal, text=words, key="hours", scope=Scope.TENANT)
    assert (verify_chains().ok, verify_chains().links) == (True, 2)
    Playbook.objects.filter(pk=first).update(steps=["Pull hard"])
    Fact.objects.filter(text="We close at five").update(superseded_by=None)
    assert {problem for _, problem in found(verify_chains())} == {
        "has other words than it was stored with",
        "has other words than the audit tells of",
        "has another successor than the audit tells of",
    }


def test_the_cost_does_not_grow_with_each_row(
    principal: Principal, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(60):
        remember_fact(principal, text=f"Weighs {number} stone", key="weight")
    retire(principal, kind=Kind.SEMANTIC, memory_id=Fact.objects.current().get().pk)
    with django_assert_max_num_queries(8):
        assert verify_chains().ok

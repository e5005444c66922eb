"""Queries that are built once: the same rows as the ORM gives, for every set of values, and no value left out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection, transaction
from django.db.models import F, QuerySet
from django.db.models import Value as Constant
from django.db.transaction import TransactionManagementError

from memoryhub.db.compiled_query import Prepared, Substring, Value
from tenants.models import AuditEvent, Membership, Tenant
from tests.factories import make_membership, make_tenant

pytestmark = pytest.mark.django_db


LONG_AGO = datetime(2020, 2, 29, 12, tzinfo=UTC)


def named(name: str | None) -> QuerySet[Tenant]:
    return (Tenant.objects.all() if name is None else Tenant.objects.filter(name=name)).order_by("name")


def among(tenant_id: UUID, ids: list[UUID]) -> QuerySet[Membership]:
    return Membership.objects.filter(tenant_id=tenant_id, pk__in=ids).order_by("pk")


def with_tenant(membership_id: UUID) -> QuerySet[Membership, Any]:
    return Membership.objects.filter(pk=membership_id).order_by().annotate(whose=F("tenant__pk"), number=Constant(3))


def joined(membership_id: UUID) -> QuerySet[Membership, Any]:
    return (
        Membership.objects.filter(pk=membership_id)
        .order_by()
        .select_related("tenant", "user")
        .annotate(number=Constant(3))
    )


def since(moment: datetime) -> QuerySet[Tenant, Any]:
    return Tenant.objects.filter(created_at__gte=moment).order_by("name").values_list("pk", "created_at", "is_active")


def later(sequence: int) -> QuerySet[AuditEvent, Any]:
    return AuditEvent.objects.filter(sequence__gt=sequence).order_by("chain", "sequence").values_list("sequence")


def of_owner(owner_id: UUID | None) -> QuerySet[AuditEvent, Any]:
    return AuditEvent.objects.filter(owner_id=owner_id).order_by("chain", "sequence").values_list("pk")


def holding(part: str) -> QuerySet[Tenant]:
    return Tenant.objects.filter(name__icontains=part).order_by("name")


def others(ids: list[UUID]) -> QuerySet[Membership]:
    return Membership.objects.exclude(pk__in=ids).order_by("pk")


def locked(tenant_id: UUID) -> QuerySet[Tenant]:
    return Tenant.objects.select_for_update(no_key=True).filter(pk=tenant_id)


def like(name: str) -> QuerySet[Tenant]:
    return Tenant.objects.filter(name__iexact=name).order_by("name")


@pytest.mark.parametrize("name", ["Harbour", "Quarry", "Nobody's", None])
def test_rows_are_those_that_the_orm_gives(name: str | None) -> None:
    for each in ("Harbour", "Quarry"):
        make_tenant(each)
    found = Prepared(named).all(name)
    assert found == list(named(name))
    assert [vars(row) | {"_state": 0} for row in found] == [vars(row) | {"_state": 0} for row in named(name)]
    assert not any(row._state.adding for row in found)
    assert Prepared(named).first(name) == named(name).first()


@pytest.mark.parametrize("strangers", [0, 1, 7, 40])
def test_a_list_of_ids_may_have_any_length(strangers: int) -> None:
    tenant = make_tenant()
    members = [make_membership(tenant) for _ in range(3)]
    ids = [*(member.pk for member in members), make_membership().pk, *(uuid4() for _ in range(strangers))]
    for wanted in (ids, ids[:1], set(ids), tuple(ids[1:])):
        assert Prepared(among).all(tenant.pk, wanted) == list(among(tenant.pk, list(wanted)))


def test_annotations_come_with_the_rows() -> None:
    member = make_membership()
    (found,) = Prepared(with_tenant).all(member.pk)
    assert (found, found.whose) == (member, member.tenant_id)  # type: ignore[attr-defined]  # annotated
    assert vars(found) | {"_state": 0} == vars(with_tenant(member.pk).get()) | {"_state": 0}


def test_related_rows_come_with_the_rows(django_assert_num_queries: Any) -> None:
    membership = make_membership()
    with django_assert_num_queries(1):
        found = Prepared(joined).first(membership.pk)
        assert found is not None and (found.pk, found.number) == (membership.pk, 3)  # type: ignore[attr-defined]
        assert (found.tenant.name, found.user.username) == (membership.tenant.name, membership.user.username)


def test_values_are_what_the_orm_makes_of_the_drivers() -> None:
    made = make_tenant().created_at
    for moment in (LONG_AGO, made, made + timedelta(microseconds=1)):
        assert Prepared(since).values(moment) == list(since(moment))
        assert Prepared(since).any(moment) == since(moment).exists()
    for number in (0, 1, 10_000, -1, 2**31, 2**63, 2**100, -(2**100)):
        assert Prepared(later).values(number) == list(later(number))


def test_values_of_one_call_do_not_stay_for_the_next() -> None:
    query = Prepared(among)
    ours, theirs = make_membership(), make_membership()
    ids = [ours.pk, theirs.pk]
    assert query.all(ours.tenant_id, ids) == [ours]
    assert query.all(theirs.tenant_id, ids) == [theirs]


@pytest.mark.parametrize("part", ["arb", "ARB", "%", "100%", "_", "\\", "'", "é"])
def test_a_part_is_looked_for_as_it_stands(part: str) -> None:
    for name in ("Harbour", "100% Quarry", "under_score", "back\\slash", "O'Neill", "Café"):
        make_tenant(name)
    assert Prepared(holding).all(Substring(part)) == list(holding(part))


def test_a_query_that_leaves_a_value_out_is_refused() -> None:
    def careless(tenant_id: UUID, _ids: list[UUID]) -> QuerySet[Membership]:
        return Membership.objects.filter(tenant_id=tenant_id)

    with pytest.raises(ValueError, match="leaves out"):
        Prepared(careless).all(uuid4(), [uuid4()])


@pytest.mark.parametrize("value", [True, 0.5, b"x"])
def test_other_sorts_of_values_are_refused(value: Value) -> None:
    with pytest.raises(TypeError):
        Prepared(named).all(value)


def test_what_is_no_id_is_refused_in_a_list() -> None:
    member = make_membership()
    for wrong in (str(member.pk), member.pk.hex, None, 1, [member.pk]):
        for ids in ([wrong], [member.pk, wrong], [wrong, member.pk]):
            with pytest.raises(TypeError, match="ids only"):
                Prepared(others).all(ids)  # type: ignore[arg-type]  # as told


def test_among_no_ids_there_is_nothing_and_all_others_are() -> None:
    member = make_membership()
    nothing: list[Value] = [[], (), set(), frozenset()]
    for none in nothing:
        assert Prepared(among).all(member.tenant_id, none) == []
        assert not Prepared(among).any(member.tenant_id, none)
        assert Prepared(others).all(none) == list(others([])) == [member]


def test_a_text_that_the_database_would_read_as_a_pattern_is_refused() -> None:
    """SQLite looks for `iexact` by LIKE; PostgreSQL compares, so that nothing is to be escaped there."""
    make_tenant("Harbour")
    if connection.vendor == "sqlite":
        with pytest.raises(ValueError, match="leaves out"):
            Prepared(like).all("%")
    else:
        assert [Prepared(like).all(name) for name in ("%", "HARBOUR")] == [[], list(like("Harbour"))]


@pytest.mark.django_db(transaction=True)
def test_a_lock_outside_of_a_transaction_is_refused_however_often_it_was_asked() -> None:
    tenant, query = make_tenant(), Prepared(locked)
    for _ in range(2):
        if connection.features.has_select_for_update:
            for rows in (locked(tenant.pk), None):
                with pytest.raises(TransactionManagementError):
                    query.all(tenant.pk) if rows is None else list(rows)
        else:
            assert query.all(tenant.pk) == list(locked(tenant.pk))
        with transaction.atomic():
            assert query.all(tenant.pk) == [tenant]

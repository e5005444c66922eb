"""Compiled queries: the same rows as the ORM gives, for every shape, and no stand-in left over."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db.models import QuerySet

from memories.models import Fact
from memories.recall.loading import fetch, texts, visible_rows
from memories.recall.request import Request
from memories.services.facts.remember import remember_fact
from memories.types import ALL_KINDS, Kind, Scope
from tenants.principal import Principal

pytestmark = pytest.mark.django_db

PLAIN = Request(
    query="?", kinds=ALL_KINDS, limit=10, task="", include_superseded=False, as_of=None, session_id=None,
    exclude=frozenset(), token_budget=None, now=datetime(2026, 1, 1, tzinfo=UTC),
)  # fmt: skip


def facts(principal: Principal, request: Request, ids: list[UUID]) -> QuerySet[Any, Any]:
    rows = visible_rows(principal, Kind.SEMANTIC, request).filter(pk__in=ids).exclude(pk__in=request.exclude)
    return rows.order_by("pk").values_list("text")


@pytest.fixture
def stored(principal: Principal, other_member: Principal, admin_principal: Principal) -> list[UUID]:
    """Facts in every state and scope, some of them somebody else's."""
    remember_fact(principal, text="Lived in Bristol", key="home", learned_at=datetime(2025, 3, 1, tzinfo=UTC))
    remember_fact(principal, text="Lives in Edinburgh", key="home", learned_at=datetime(2025, 5, 1, tzinfo=UTC))
    remember_fact(principal, text="Van at nine", scope=Scope.TASK, task="moving")
    remember_fact(other_member, text="Lives in Leeds")
    remember_fact(admin_principal, text="Office closes at six", scope=Scope.TENANT)
    return list(Fact.objects.values_list("pk", flat=True))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"task": "moving"},
        {"include_superseded": True},
        {"as_of": datetime(2025, 4, 1, tzinfo=UTC)},
        {"as_of": datetime(2025, 4, 1, tzinfo=UTC), "include_superseded": True},
    ],
    ids=str,
)
def test_compiled_queries_give_the_same_rows(principal: Principal, stored: list[UUID], changes: dict[str, Any]) -> None:
    request = replace(PLAIN, **changes)
    for ids in (stored, stored[:1], [*stored, *(uuid4() for _ in range(70))]):
        assert fetch(facts, principal, request, ids) == list(facts(principal, request, ids))


def test_excluded_ids_are_left_out(principal: Principal, stored: list[UUID]) -> None:
    mine = Fact.objects.of(principal).current().filter(scope=Scope.USER).get().pk
    found = fetch(facts, principal, replace(PLAIN, exclude=frozenset({mine, uuid4()})), stored)
    assert found == [("Office closes at six",)]


def test_texts_come_as_whole_rows(principal: Principal, stored: list[UUID]) -> None:
    found = texts(principal, PLAIN, [(Kind.SEMANTIC, id_.hex) for id_ in stored])
    rows = list(visible_rows(principal, Kind.SEMANTIC, PLAIN).filter(pk__in=stored))
    assert found == {row.pk.hex: row for row in rows}
    for row in rows:
        for field in Fact._meta.concrete_fields:
            if field.attname not in ("embedding", "token_ids"):
                assert getattr(found[row.pk.hex], field.attname) == getattr(row, field.attname), field.attname

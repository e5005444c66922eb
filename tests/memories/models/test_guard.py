"""Rows of memories change inside a write scope only, and are read only for a named owner, on both databases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models.deletion import RestrictedError
from django.db.utils import OperationalError

from memories.models import CatalogEntry, Episode, Fact, Item, Playbook
from memories.models.guard import ReadWithoutScope, WriteOutsideScope, is_writing, raw_writes
from memories.services.catalog import remember_catalog_entry
from memories.services.facts.remember import remember_fact
from memories.services.items import put
from memories.services.playbooks import remember_playbook
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import start_session
from memories.services.write import write
from memories.types import Scope
from tenants.models import SearchCredential
from tenants.principal import Principal
from tests.unguarded import guards_hold

pytestmark = pytest.mark.django_db

MODELS = (Fact, Playbook, Episode, CatalogEntry, Item)
Rows = dict[type[Any], Any]


@pytest.fixture
def rows(principal: Principal, admin_principal: Principal) -> Iterator[Rows]:
    """A row of each model, under guards that hold for the test, too."""
    session = start_session(principal)
    remember_fact(principal, text="Lives in Hull", key="home_city")
    remember_playbook(principal, title="Make tea", steps=["Boil water"])
    remember_episode(principal, session_id=session.pk, text="I moved to Hull")
    remember_catalog_entry(admin_principal, title="Doors", text="They close at six", scope=Scope.TENANT)
    put(principal, namespace=("users",), key="k", value="Likes tea")
    found = {model: model._base_manager.get() for model in MODELS}
    with guards_hold():
        yield found


CHANGES: dict[str, Callable[[Any], object]] = {
    "save": lambda row: row.save(),
    "save of a column": lambda row: row.save(update_fields=["text"]),
    "delete": lambda row: row.delete(),
    "create": lambda row: type(row).objects.create(tenant_id=row.tenant_id, text="x"),
    "bulk_create": lambda row: type(row).objects.bulk_create([row]),
    "bulk_update": lambda row: type(row).objects.bulk_update([row], ["text"]),
    "update": lambda row: type(row).objects.unscoped("a test").update(text="x"),
    "delete of a query": lambda row: type(row).objects.unscoped("a test").filter(pk=row.pk).delete(),
    "get_or_create": lambda row: type(row).objects.unscoped("a test").get_or_create(text="x"),
    "update_or_create": lambda row: type(row).objects.unscoped("a test").update_or_create(pk=row.pk, defaults={}),
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_the_orm_changes_no_row_outside_a_scope(rows: Rows, model: type[Any], change: Callable[[Any], object]) -> None:
    with pytest.raises(WriteOutsideScope, match=model._meta.label):
        change(rows[model])
    assert model._base_manager.get().text == rows[model].text


FOREIGN: dict[str, Callable[[Any], object]] = {
    "save": lambda row: row.save(),
    "delete": lambda row: row.delete(),
    "bulk_create": lambda row: type(row).objects.bulk_create([row]),
    "bulk_update": lambda row: type(row).objects.bulk_update([row], ["text"]),
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("change", FOREIGN.values(), ids=FOREIGN)
def test_a_row_of_another_owner_does_not_change_in_a_scope(
    rows: Rows, model: type[Any], change: Callable[[Any], object], other_tenant_member: Principal
) -> None:
    with pytest.raises(WriteOutsideScope, match="another owner"), write(other_tenant_member):
        change(rows[model])
    assert model._base_manager.get().text == rows[model].text


@pytest.mark.parametrize("model", [Fact, Playbook, Episode])
def test_a_row_of_another_member_does_not_change_in_a_scope(
    rows: Rows, model: type[Any], other_member: Principal
) -> None:
    with pytest.raises(WriteOutsideScope, match="another owner"), write(other_member):
        rows[model].save()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("column", ["text", "tenant_id", "created_at", "scope"])
def test_sql_changes_no_row_outside_a_scope(rows: Rows, model: type[Any], column: str) -> None:
    with pytest.raises(IntegrityError, match="inside a write scope only"), transaction.atomic():
        run(f"UPDATE {model._meta.db_table} SET {column} = {column}")  # noqa: S608 - names of ours
    with pytest.raises(IntegrityError, match="inside a write scope only"), transaction.atomic():
        run(f"DELETE FROM {model._meta.db_table}")  # noqa: S608 - a name of ours
    assert model._base_manager.count() == 1


def test_sql_changes_no_state_outside_a_scope(rows: Rows) -> None:
    for column in ("id", "status", "superseded_by_id", "version"):
        with pytest.raises(IntegrityError, match="inside a write scope only"), transaction.atomic():
            run(f"UPDATE memories_fact SET {column} = {column}")  # noqa: S608 - names of ours


def test_links_to_episodes_change_inside_a_scope_only(rows: Rows, principal: Principal) -> None:
    links, episode = rows[Fact].supporting_episodes, rows[Episode]
    for change in (lambda: links.add(episode), links.clear, lambda: episode.supports.set([rows[Fact]])):
        with pytest.raises(WriteOutsideScope), transaction.atomic():
            change()
    with write(principal):
        links.add(episode)
    assert list(links.all()) == [episode]


def test_sql_changes_rows_of_a_scope_and_no_longer_after_it(rows: Rows, principal: Principal) -> None:
    with write(principal):
        run("UPDATE memories_fact SET text = 'Lives in York'")
    assert Fact._base_manager.get().text == "Lives in York"
    with pytest.raises(IntegrityError), transaction.atomic():
        run("UPDATE memories_fact SET text = 'Lives in Bath'")


@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="PostgreSQL has no function to forget")
def test_a_connection_without_the_function_changes_nothing(rows: Rows) -> None:
    connection.connection.create_function("memoryhub_writing", 0, None)
    try:
        with raw_writes("a test"), pytest.raises(OperationalError, match="function"), transaction.atomic():
            run("DELETE FROM memories_fact")
    finally:
        connection.connection.create_function("memoryhub_writing", 0, is_writing)


READS: dict[str, Callable[[Any], object]] = {
    "list": lambda rows: list(rows.all()),
    "get": lambda rows: rows.get(),
    "first": lambda rows: rows.first(),
    "count": lambda rows: rows.count(),
    "exists": lambda rows: rows.filter(text="x").exists(),
    "values": lambda rows: list(rows.values_list("pk")),
    "aggregate": lambda rows: rows.aggregate(),
    "iterator": lambda rows: list(rows.iterator()),
    "in_bulk": lambda rows: rows.in_bulk(),
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_query_without_a_scope_does_not_run(rows: Rows, model: type[Any], read: Callable[[Any], object]) -> None:
    with pytest.raises(ReadWithoutScope, match=model._meta.label):
        read(model.objects)


@pytest.mark.parametrize("model", MODELS)
def test_a_query_with_a_scope_runs(rows: Rows, model: type[Any], principal: Principal) -> None:
    mine = 0 if model is CatalogEntry else 1
    assert model.objects.of(principal).count() == mine
    assert model.objects.visible_to(principal).count() == 1
    assert model.objects.unscoped("a test").get() == rows[model]
    rows[model].refresh_from_db()


def test_what_hangs_on_a_loaded_row_needs_no_scope(rows: Rows) -> None:
    assert list(rows[Episode].session.episodes.all()) == [rows[Episode]]
    assert list(rows[Fact].supporting_episodes.all()) == []


def test_a_tenant_with_memories_cannot_be_deleted(rows: Rows, principal: Principal) -> None:
    tenant = rows[CatalogEntry].tenant
    SearchCredential.objects.filter(membership__tenant=tenant).delete()
    tenant.memberships.all().delete()
    with pytest.raises(RestrictedError):
        tenant.delete()


def run(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)

"""Playbooks and the catalog: the hash gate, outcomes, and who may write what is shared."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memories.errors import InvalidInput, NotFound
from memories.models import CatalogEntry, Playbook
from memories.services.catalog import remember_catalog_entry
from memories.services.playbooks import remember_playbook
from memories.types import Scope, Status, WriteResult
from tenants.errors import Forbidden
from tenants.principal import Principal

pytestmark = pytest.mark.django_db

MAY = datetime(2026, 5, 1, tzinfo=UTC)


def test_the_same_procedure_adds_its_outcomes(principal: Principal) -> None:
    procedure = {"title": "Reset the hub", "trigger": "E31", "steps": ["Pull the plug"]}
    first = remember_playbook(principal, success_count=1, last_success_at=MAY, **procedure)  # type: ignore[arg-type]
    second = remember_playbook(principal, success_count=2, failure_count=1, **procedure)  # type: ignore[arg-type]
    row = Playbook.objects.get()
    assert (second.result, second.memory_id) == (WriteResult.MERGED, first.memory_id)
    assert (row.success_count, row.failure_count, row.last_success_at) == (3, 1, MAY)


def test_other_steps_are_another_playbook_unless_they_supersede(principal: Principal) -> None:
    old = remember_playbook(principal, title="Reset", steps=["Pull the plug"]).memory_id
    remember_playbook(principal, title="Reset", steps=["Press the button"])
    assert Playbook.objects.current().count() == 2
    new = remember_playbook(principal, title="Reset", steps=["Wait"], supersedes_ids=[old])
    assert new.result is WriteResult.SUPERSEDED
    assert Playbook.objects.get(pk=old).status == Status.SUPERSEDED


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        pytest.param({"title": " ", "steps": ["x"]}, "title", id="no title"),
        pytest.param({"title": "x"}, "steps", id="neither steps nor text"),
        pytest.param({"title": "x", "steps": ["a", ""]}, "steps", id="an empty step"),
        pytest.param({"title": "x", "steps": ["a"] * 51}, "steps", id="too many steps"),
        pytest.param({"title": "x", "steps": ["a"], "success_count": -1}, "success_count", id="negative"),
    ],
)
def test_bad_playbooks_are_refused(principal: Principal, arguments: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        remember_playbook(principal, **arguments)  # type: ignore[arg-type]  # wrong on purpose
    assert caught.value.field == field
    assert not Playbook.objects.exists()


def test_superseding_a_playbook_isolates_others(principal: Principal, stranger: Principal) -> None:
    theirs = remember_playbook(stranger, title="Theirs", steps=["x"]).memory_id
    with pytest.raises(NotFound):
        remember_playbook(principal, title="Mine", steps=["y"], supersedes_ids=[theirs])


def test_an_administrator_writes_the_catalog_once(admin_principal: Principal) -> None:
    first = remember_catalog_entry(admin_principal, title="Arc S", text="A socketed charger.")
    again = remember_catalog_entry(admin_principal, title="Arc S", text="A socketed charger.")
    entry = CatalogEntry.objects.get()
    assert (first.result, again.result) == (WriteResult.CREATED, WriteResult.MERGED)
    assert (entry.tenant_id, entry.user_id, entry.scope) == (admin_principal.tenant_id, None, Scope.TENANT)


def test_members_and_agents_do_not_write_the_catalog_and_no_tenant_for_all(
    principal: Principal, admin_principal: Principal
) -> None:
    for writer in (principal, principal.as_agent(), admin_principal.as_agent()):
        with pytest.raises(Forbidden):
            remember_catalog_entry(writer, title="x", text="y")
    with pytest.raises(Forbidden):
        remember_catalog_entry(admin_principal, title="x", text="y", scope=Scope.GLOBAL)


@pytest.mark.parametrize("url", ["javascript:alert(1)", "example.com", "file:///etc/passwd"])
def test_a_source_must_be_a_web_address(admin_principal: Principal, url: str) -> None:
    with pytest.raises(InvalidInput, match="source_url"):
        remember_catalog_entry(admin_principal, title="x", text="y", source_url=url)

"""`manage.py index`: rebuild, check and drain, for people and for machines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from memories.models import Fact
from memories.search.embedded.part import path_of
from memories.search.outbox import backlog, drain
from memories.services.facts.remember import remember_fact
from memories.types import Owner
from tenants.models import Membership
from tenants.principal import Principal
from tests.memories.management.conftest import Answered
from tests.parts import about_the_embedded_plane

pytestmark = pytest.mark.django_db


@pytest.fixture
def indexed(principal: Principal) -> Principal:
    """Ada, with a fact that is indexed."""
    remember_fact(principal, text="Lives in Bristol")
    drain()
    return principal


def test_drain_carries_what_waits(principal: Principal, answered: Answered) -> None:
    remember_fact(principal, text="Lives in Bristol")
    answer = answered("index", "drain")
    assert (answer["delivered"], answer["failed"], answer["waiting"]) == (1, 0, 0)


def test_check_names_each_difference_and_ends_with_one(indexed: Principal, capsys: pytest.CaptureFixture[str]) -> None:
    Fact.objects.update(version=7)
    with pytest.raises(SystemExit) as ended:
        call_command("index", "check", "--json")
    (difference,) = json.loads(capsys.readouterr().out)["differences"]
    assert ended.value.code == 1
    assert (difference["id"], difference["problem"]) == (str(Fact.objects.get().pk), "another version")


def test_check_repairs_from_the_database(indexed: Principal, answered: Answered) -> None:
    Fact.objects.update(version=7)
    assert answered("index", "check", "--repair")["repaired"] == 1
    assert answered("index", "check")["ok"]


def test_check_does_not_say_repaired_of_what_still_differs(
    indexed: Principal, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Fact.objects.update(version=7)
    monkeypatch.setattr("memories.management.commands.index.rebuild_owner", lambda _owner: 0)
    with pytest.raises(SystemExit) as ended:
        call_command("index", "check", "--repair")
    assert ended.value.code == 1
    assert "still differ" in capsys.readouterr().out


@about_the_embedded_plane
def test_rebuild_brings_deleted_files_back(indexed: Principal, index_dir: Path, answered: Answered) -> None:
    path_of(index_dir, Owner(indexed.tenant_id, indexed.user_id)).unlink()
    assert answered("index", "rebuild")["memories"] == 1
    assert answered("index", "check")["ok"]


def test_one_member_can_be_rebuilt_alone(
    indexed: Principal, other_member: Principal, membership: Membership, answered: Answered
) -> None:
    remember_fact(other_member, text="Lives in Leeds")
    named = ("--tenant", membership.tenant.slug, "--user", membership.user.username)
    assert answered("index", "rebuild", *named)["memories"] == 1
    assert backlog() == 1


def test_a_tenant_without_a_user_is_refused(tenant: object) -> None:
    with pytest.raises(CommandError, match="together"):
        call_command("index", "check", "--tenant", "acme")


@about_the_embedded_plane
def test_a_folder_that_cannot_be_used_is_said_in_a_sentence(indexed: Principal, index_dir: Path) -> None:
    index_dir.rename(index_dir.with_name("gone"))
    index_dir.write_text("a file in its place")
    with pytest.raises(CommandError, match="cannot be used"):
        call_command("index", "rebuild")

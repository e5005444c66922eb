"""`manage.py gc`: what would be done, and doing it; ids and reasons, no words, and one tenant if asked."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any, NoReturn

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError
from django.utils import timezone

from memories.models import Fact
from memories.services.facts.remember import remember_fact
from memories.types import Status
from memoryhub.db.advisory_lock import LockTaken
from tenants.audit.chain import Chain, EventDraft, append_events
from tenants.models import Tenant
from tenants.principal import Actor, Principal

pytestmark = pytest.mark.django_db


@pytest.fixture
def over(principal: Principal, other_tenant_member: Principal) -> Fact:
    """A fact of Ada's whose time is over, as is one of somebody else's."""
    remember_fact(other_tenant_member, text="Parks on level 3")
    id_ = remember_fact(principal, text="Parks on level 3").memory_id
    Fact.objects.update(expires_at=timezone.now() - timedelta(days=1))
    return Fact.objects.get(pk=id_)


def gc(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    call_command("gc", *arguments, "--json")
    answered: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answered


def test_a_dry_run_names_what_the_real_one_does(over: Fact, capsys: pytest.CaptureFixture[str]) -> None:
    dry = gc(capsys, "--dry-run")
    assert not Fact.objects.filter(status=Status.EVICTED).exists()
    real = gc(capsys, "--apply")
    assert (dry.pop("applied"), real.pop("applied")) == (False, True)
    assert dry == real
    assert dry["counts"] == [{"ending": "evicted", "cause": "its time is over", "count": 2}]
    assert {each["id"] for each in dry["decisions"]} == {str(row.pk) for row in Fact.objects.all()}
    assert gc(capsys, "--apply")["decisions"] == []


def test_people_read_ids_and_reasons_and_no_words(over: Fact, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("gc", "--dry-run")
    said = capsys.readouterr().out
    assert (
        f"semantic {over.pk} of tenant {over.tenant_id} user {over.user_id}: would be evicted, its time is over."
        in said
    )
    assert said.endswith("2 would be evicted: its time is over.\n")
    assert "level" not in said
    call_command("gc", "--apply")
    done = capsys.readouterr().out
    assert f"user {over.user_id}: evicted, its time is over." in done and done.endswith(
        "2 evicted: its time is over.\n"
    )
    call_command("gc", "--apply")
    assert capsys.readouterr().out == "Nothing is due.\n"


def test_one_tenant_alone(over: Fact, tenant: Tenant, capsys: pytest.CaptureFixture[str]) -> None:
    assert [each["id"] for each in gc(capsys, "--apply", "--tenant", tenant.slug)["decisions"]] == [str(over.pk)]
    assert Fact.objects.filter(status=Status.ACTIVE).exclude(pk=over.pk).count() == 1


@pytest.mark.parametrize(
    "arguments",
    [[], ["--apply", "--dry-run"], ["--apply", "--tenant", "nowhere"], ["--apply", "--tenant", ""]],
    ids=["neither", "both", "tenant", "tenant that is not said"],
)
def test_a_wrong_call_is_one_sentence(db: None, arguments: list[str]) -> None:
    with pytest.raises(CommandError):
        call_command("gc", *arguments)


def at_work(work: str) -> NoReturn:
    """Another process holds the lock."""
    raise LockTaken(work)


def test_two_at_once_are_refused(over: Fact, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memories.services.retention.collection.advisory_lock", at_work)
    with pytest.raises(CommandError, match="under way"):
        call_command("gc", "--apply")


def test_an_owner_who_fails_keeps_nobody_waiting(
    over: Fact, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def append(chain: Chain, drafts: list[tuple[Actor, EventDraft]]) -> object:
        if chain.owner_id == over.user_id:
            raise DatabaseError("Failing row contains (level 3)")
        return append_events(chain, drafts)

    with monkeypatch.context() as patch:
        patch.setattr("memories.services.write.append_events", append)
        with pytest.raises(CommandError, match="1 owners"):
            call_command("gc", "--apply")
    assert "1 evicted" in capsys.readouterr().out
    assert Fact.objects.get(status=Status.EVICTED).pk != over.pk
    assert str(over.user_id) in caplog.text and "DatabaseError" in caplog.text and "level" not in caplog.text
    assert [each["id"] for each in gc(capsys, "--apply")["decisions"]] == [str(over.pk)]

"""`manage.py gc`: what would be done, and doing it; ids and reasons, no words, and one tenant if asked."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError
from django.utils import timezone

from memories.models import Fact
from memories.services.facts.remember import remember_fact
from memories.types import Status
from tenants.audit.chain import Chain, EventDraft, append_events
from tenants.principal import Actor, Principal
from tests.memories.management.conftest import Answered

pytestmark = pytest.mark.django_db


@pytest.fixture
def over(principal: Principal, other_tenant_member: Principal) -> Fact:
    """A fact of Ada's whose time is over, as is one of somebody else's."""
    remember_fact(other_tenant_member, text="Parks on level 3")
    id_ = remember_fact(principal, text="Parks on level 3").memory_id
    Fact.objects.update(expires_at=timezone.now() - timedelta(days=1))
    return Fact.objects.get(pk=id_)


def test_a_dry_run_names_what_the_real_one_does(over: Fact, answered: Answered) -> None:
    dry = answered("gc", "--dry-run")
    assert not Fact.objects.filter(status=Status.EVICTED).exists()
    real = answered("gc", "--apply")
    assert (dry.pop("applied"), real.pop("applied")) == (False, True)
    assert dry == real
    assert dry["counts"] == [{"ending": "evicted", "cause": "its time is over", "count": 2}]
    assert {each["id"] for each in dry["decisions"]} == {str(row.pk) for row in Fact.objects.all()}
    assert answered("gc", "--apply")["decisions"] == []


def test_people_read_ids_and_reasons_and_no_words(over: Fact, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("gc", "--dry-run")
    said = capsys.readouterr().out
    whose = f"semantic {over.pk} of tenant {over.tenant_id} user {over.user_id}"
    assert f"{whose}: would be evicted, its time is over." in said
    assert said.endswith("2 would be evicted: its time is over.\n")
    assert "level" not in said
    call_command("gc", "--apply")
    done = capsys.readouterr().out
    assert f"{whose}: evicted, its time is over." in done and done.endswith("2 evicted: its time is over.\n")
    call_command("gc", "--apply")
    assert capsys.readouterr().out == "Nothing is due.\n"


@pytest.mark.parametrize("arguments", [[], ["--apply", "--dry-run"], ["--apply", "--tenant", ""]], ids=str)
def test_a_wrong_call_is_one_sentence(db: None, arguments: list[str]) -> None:
    with pytest.raises(CommandError):
        call_command("gc", *arguments)


def test_an_owner_who_fails_keeps_nobody_waiting(
    over: Fact, answered: Answered, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
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
    assert [each["id"] for each in answered("gc", "--apply")["decisions"]] == [str(over.pk)]

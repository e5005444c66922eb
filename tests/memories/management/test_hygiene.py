"""`manage.py hygiene`: numbers for people and machines, no words; one tenant if asked; safe to interrupt."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db.models import Q

from memories.errors import Blocked
from memories.metrics.measuring import percentile
from memories.models import Fact, HygieneRun, HygieneState
from memories.selectors.retention import hygiene_report
from memories.services.facts.remember import remember_fact
from memories.services.retention import hygiene_scan
from tenants.models import Tenant
from tenants.principal import Principal
from tests.memories.management.conftest import Answered
from tests.memories.services.hygiene.lives import live

pytestmark = pytest.mark.django_db


@pytest.fixture
def lives(principal: Principal, other_tenant_member: Principal) -> None:
    """Two owners of two tenants with a fact of each standing."""
    live(principal)
    live(other_tenant_member)


@pytest.mark.english
def test_people_read_numbers_and_no_words(lives: None, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("hygiene", "scan")
    said = capsys.readouterr().out
    assert said == "Scanned: 2 owners, 12 facts, 2 became stale, 4 proposed to go, 2 with junk.\n"
    call_command("hygiene", "report")
    said = capsys.readouterr().out
    assert "Facts: 8 active, 4 stale.\n" in said and "Open reviews, eviction: 4" in said
    assert "Staleness of 12 facts: half at most 0.32, 95 % at most 1.00.\n" in said
    assert "cello" not in said and "Ada" not in said


@pytest.mark.english
def test_one_tenant_alone(lives: None, tenant: Tenant, answered: Answered) -> None:
    assert answered("hygiene", "scan", "--tenant", tenant.slug)["counts"]["owners"] == 1
    assert not Fact.objects.exclude(Q(tenant=tenant) | Q(staleness=None)).exists()
    answered("hygiene", "scan")
    told = answered("hygiene", "report", "--tenant", tenant.slug)
    assert (told["facts"]["active"], told["junk"]) == (4, 1)
    assert sorted((each["kind"], each["open"]) for each in told["reviews"]) == [("contradiction", 1), ("eviction", 2)]
    assert sum(told["staleness"]["tenths"]) == told["staleness"]["scored"] == 6


def test_the_report_ranks_as_the_metrics_do_and_counts_what_was_refused(
    lives: None, principal: Principal, answered: Answered
) -> None:
    answered("hygiene", "scan")
    with pytest.raises(Blocked):
        remember_fact(principal, text=f"Pays with {' '.join(['4242'] * 4)}")
    remember_fact(principal, text="Writes from ada@example.org")
    ordered = sorted(value or 0.0 for value in Fact.objects.exclude(staleness=None).values_list("staleness", flat=True))
    report = hygiene_report()
    assert (report.p50, report.p95) == (percentile(ordered, 0.5), percentile(ordered, 0.95))
    assert report.refused == {"blocked": 1, "masked": 0}
    assert report.sensitivity == {"email": {"allow": 1}}


def test_an_empty_report_is_a_report(db: None, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("hygiene", "report")
    said = capsys.readouterr().out
    assert "Facts: none.\n" in said and "No scan yet.\n" in said


@pytest.mark.parametrize("arguments", [["scan", "--tenant", ""], ["report", "--dry-run"], []], ids=str)
def test_a_wrong_call_is_one_sentence(db: None, arguments: list[str]) -> None:
    with pytest.raises(CommandError):
        call_command("hygiene", *arguments)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_after_a_page(
    lives: None, answered: Answered, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    number: signal.Signals,
) -> None:  # fmt: skip
    monkeypatch.setattr(hygiene_scan, "PAGE", 2)
    decide = hygiene_scan._decide

    def interrupted(*task: Any) -> Any:
        os.kill(os.getpid(), number)
        return decide(*task)

    handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with monkeypatch.context() as patch:
        patch.setattr(hygiene_scan, "_decide", interrupted)
        with pytest.raises(SystemExit) as ended:
            call_command("hygiene", "scan")
    assert ended.value.code == 130
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == handlers
    assert capsys.readouterr().out.endswith("Interrupted; the next scan goes on here.\n")
    assert (HygieneRun.objects.get().state, HygieneRun.objects.get().counts["facts"]) == (HygieneState.INTERRUPTED, 2)
    answer = answered("hygiene", "scan")
    assert (answer["went_on"], answer["counts"]["facts"]) == (True, 12)

"""`manage.py prove_isolation`: what it prints, and its exit codes."""

from __future__ import annotations

import io
import json

import pytest
from django.core.management import CommandError, call_command

from proof import command
from proof.run import AlreadyRunning
from tenants.models import Membership, Tenant
from tests.proof.conftest import Break

pytestmark = pytest.mark.django_db(transaction=True)


def run(*arguments: str) -> str:
    output = io.StringIO()
    call_command(command.Command(), *arguments, stdout=output, stderr=io.StringIO())
    return output.getvalue()


@pytest.mark.long
def test_it_prints_json_of_every_attack_and_logs_no_request(caplog: pytest.LogCaptureFixture) -> None:
    printed = json.loads(run("--attempts=70", "--concurrency=2", "--seed=5", "--json"))
    assert printed["verdict"] == "clean" and printed["leaked"] == 0 and printed["leaks"] == []
    assert printed["attempts"] == sum(printed["attacks"].values()) == 70
    assert {"search", "database"} <= {guard["name"] for guard in printed["guards"] if guard["holds"]}
    assert printed["plane"] and printed["versions"]["python"]
    assert "memoryhub.middleware" not in {record.name for record in caplog.records}


@pytest.mark.long
def test_it_names_the_guard_that_is_broken(no_load_filter: Break, capsys: pytest.CaptureFixture[str]) -> None:
    no_load_filter()
    with pytest.raises(SystemExit) as ended:
        call_command(command.Command(), "--attempts=70", "--concurrency=2")
    assert ended.value.code == 2
    printed = capsys.readouterr().out
    assert "Guard database: BROKEN" in printed and "Guard search: holds" in printed and "No leak" in printed
    assert "zq0" not in printed


@pytest.mark.parametrize("option", ["--attempts=0", "--concurrency=0"])
def test_numbers_begin_at_one(option: str) -> None:
    with pytest.raises(CommandError, match="numbers from 1"):
        run(option)


def test_what_cannot_begin_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(**_: object) -> None:
        raise AlreadyRunning("Another proof of isolation is running.")

    monkeypatch.setattr(command, "prove", refuses)
    with pytest.raises(CommandError, match="Another proof") as refused:
        run()
    assert refused.value.returncode == 3


def test_it_refuses_a_database_with_real_tenants(membership: Membership) -> None:
    with pytest.raises(
        CommandError, match=r"holds 1 tenant that the proof did not make.*--beside-real-tenants"
    ) as refused:
        run("--attempts=1")
    assert refused.value.returncode == 3
    assert Tenant.objects.get() == membership.tenant


@pytest.mark.long
def test_it_leaves_real_tenants_as_they_were(membership: Membership) -> None:
    report = json.loads(run("--attempts=1", "--concurrency=1", "--beside-real-tenants", "--json"))
    assert report["attempts"] == 1
    assert Tenant.objects.get() == membership.tenant

"""`manage.py prove_isolation`: what it prints, and its exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from proof.management.commands import prove_isolation
from proof.run import AlreadyRunning
from tenants.models import Tenant
from tenants.services import create_tenant
from tests.memories.management.conftest import Run, run
from tests.proof.conftest import Break

__all__ = ["run"]

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.long
def test_it_prints_json_of_every_attack_and_logs_no_request(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    printed = json.loads(run("prove_isolation", "--attempts=70", "--concurrency=2", "--seed=5", "--json"))
    assert printed["verdict"] == "clean" and printed["leaked"] == 0 and printed["leaks"] == []
    assert printed["attempts"] == sum(printed["attacks"].values()) == 70
    assert {guard["name"]: guard["holds"] for guard in printed["guards"]} == {"search": True, "database": True}
    assert printed["plane"] and printed["versions"]["python"]
    assert "memoryhub.middleware.access_log" not in {record.name for record in caplog.records}


@pytest.mark.long
def test_it_names_the_guard_that_is_broken(no_load_filter: Break, capsys: pytest.CaptureFixture[str]) -> None:
    no_load_filter()
    with pytest.raises(SystemExit) as ended:
        call_command("prove_isolation", "--attempts=70", "--concurrency=2")
    assert ended.value.code == 2
    printed = capsys.readouterr().out
    assert "Guard database: BROKEN" in printed and "Guard search: holds" in printed and "No leak" in printed
    assert "zq0" not in printed


@pytest.mark.parametrize("option", ["--attempts=0", "--concurrency=0"])
def test_numbers_begin_at_one(run: Run, option: str) -> None:
    with pytest.raises(CommandError, match="numbers from 1"):
        run("prove_isolation", option)


def test_what_cannot_begin_proves_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(**_: object) -> None:
        raise AlreadyRunning("Another proof of isolation is running.")

    monkeypatch.setattr(prove_isolation, "prove", refuses)
    with pytest.raises(CommandError, match="Another proof") as refused:
        run("prove_isolation")
    assert refused.value.returncode == 3


def test_a_database_with_real_tenants_is_refused(run: Run) -> None:
    create_tenant(name="Quill Lane", slug="quill-lane")
    with pytest.raises(CommandError, match="1 tenant that the proof did not make") as refused:
        run("prove_isolation", "--attempts=1")
    assert refused.value.returncode == 3 and Tenant.objects.count() == 1


@pytest.mark.parametrize(("arguments", "loaded"), [(("prove_isolation",), True), (("check",), False)])
def test_settings_load_the_proof_for_its_command_only(arguments: tuple[str, ...], *, loaded: bool) -> None:
    code = "from django.conf import settings; print('proof' in settings.INSTALLED_APPS)"
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "memoryhub.settings"}
    command = [sys.executable, "-c", code, *arguments]
    printed = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout  # noqa: S603 - our own code
    assert printed.strip() == str(loaded)

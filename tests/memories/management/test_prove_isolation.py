"""`manage.py prove_isolation`: what it prints, and its exit codes."""

from __future__ import annotations

import json

import pytest
from django.core.management import CommandError, call_command

from memories.isolation import building
from memories.isolation.lock import AlreadyRunning
from memories.management.commands import prove_isolation
from tests.memories.isolation.conftest import Break, no_load_filter
from tests.memories.management.conftest import Run

__all__ = ["no_load_filter"]

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "COMPANIES", 2)


@pytest.mark.long
def test_it_prints_json_of_every_way_and_logs_no_request(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    printed = json.loads(run("prove_isolation", "--attempts=70", "--concurrency=2", "--seed=5", "--json"))
    assert printed["verdict"] == "clean" and printed["leaked"] == 0 and printed["leaks"] == []
    assert printed["attempts"] == sum(printed["ways"].values()) == 70
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

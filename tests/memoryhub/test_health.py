"""The probes: alive means it answers, ready means that the database does and has the tables of this code."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from django.db import DatabaseError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client

from memoryhub import health
from memoryhub.health import PartState
from tests.serving_role import as_owner


@pytest.fixture(autouse=True)
def _no_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only those parts that a test registers, asked anew each time, and nothing to warm up."""
    monkeypatch.setattr(health, "_probes", {})
    monkeypatch.setattr(health, "_gates", [])
    monkeypatch.setattr(health, "_migrated", threading.Event())
    monkeypatch.setattr(health, "SEEN_SECONDS", 0.0)


def test_livez_needs_no_database(client: Client) -> None:
    answer = client.get("/livez")
    assert answer.status_code == 200
    assert answer.content == b"ok\n"


@pytest.mark.django_db
def test_readyz_reports_each_part_and_its_return(client: Client) -> None:
    answers: Iterator[bool | PartState] = iter([False, True, PartState.EXPIRING])
    health.register_probe("search", lambda: next(answers))
    for state in ("unavailable", "ok", "expiring"):
        answer = client.get("/readyz")
        assert answer.status_code == 200
        assert answer.json() == {"database": "ok", "migrations": "ok", "search": state}


@pytest.mark.django_db
def test_a_process_is_not_ready_until_it_is_warm(client: Client) -> None:
    warm = iter([False, True])
    health.register_gate(lambda: next(warm))
    assert client.get("/readyz").status_code == 503
    assert client.get("/readyz").status_code == 200


@pytest.mark.django_db
def test_readyz_without_a_database_is_503_and_says_no_more(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise DatabaseError("password of postgres@db.example")

    with monkeypatch.context() as patch:
        patch.setattr(connection, "cursor", refuse)
        answer = client.get("/readyz")
    assert (answer.status_code, answer.json()) == (503, {"database": "unavailable"})
    assert client.get("/readyz").status_code == 200


@pytest.mark.django_db
def test_a_migration_that_is_not_applied_is_503_until_it_is(client: Client) -> None:
    recorder = MigrationRecorder(connection)
    applied = list(recorder.migration_qs.filter(app="memories"))
    with as_owner():
        recorder.migration_qs.filter(app="memories").delete()
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["migrations"]) == (503, "unapplied")
    with as_owner():
        recorder.migration_qs.bulk_create(applied)
    assert client.get("/readyz").json()["migrations"] == "ok"
    with as_owner():
        recorder.migration_qs.filter(app="memories").delete()
    assert client.get("/readyz").status_code == 200  # it was found applied once, and that is not read again


def test_probes_that_pile_up_ask_a_slow_part_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, answering = threading.Semaphore(0), threading.Event()
    times: list[int] = []

    def slow() -> bool:
        times.append(1)
        asked.release()
        return len(times) == 1 or answering.wait(10)

    health.register_probe("search", slow)
    seen = health._probes["search"]
    assert seen.state() is PartState.OK
    asker = threading.Thread(target=seen.state)
    asker.start()
    assert asked.acquire(timeout=10) and asked.acquire(timeout=10)
    assert [seen.state() for _ in range(5)] == [PartState.OK] * 5
    answering.set()
    asker.join()
    assert len(times) == 2
    monkeypatch.setattr(health, "SEEN_SECONDS", 60.0)
    assert seen.state() is PartState.OK
    assert len(times) == 2


def test_probes_only_answer_reading(client: Client) -> None:
    assert client.post("/livez").status_code == 405

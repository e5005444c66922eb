"""The probes: alive means it answers, ready means the database does."""

from __future__ import annotations

import pytest
from django.test import Client

from memoryhub import health


def test_livez_needs_no_database(client: Client) -> None:
    answer = client.get("/livez")
    assert answer.status_code == 200
    assert answer.content == b"ok\n"


@pytest.mark.django_db
def test_readyz_reports_each_part(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_probes", {"search": lambda: False})
    monkeypatch.setattr(health, "_gates", [])
    answer = client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json() == {"database": "ok", "search": "unavailable"}


def test_readyz_without_a_database_is_503_and_says_no_more(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_probes", {})
    monkeypatch.setattr(health, "_gates", [])
    monkeypatch.setattr(health, "_database_answers", lambda: False)
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json() == {"database": "unavailable"}


def test_probes_only_answer_reading(client: Client) -> None:
    assert client.post("/livez").status_code == 405

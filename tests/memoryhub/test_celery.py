"""Celery: what it is configured to be, and what a broker that is away costs."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from django.apps import apps
from django.test import Client
from pytest_django import Settings

from memories.search.outbox import DRAIN
from memoryhub import celery as broker_probe
from memoryhub import health
from memoryhub.celery import BrokerAway, app, send
from memoryhub.jobs import JobQueue, JobResult, table
from tests.celery_broker import Broker


def test_every_job_is_a_task_and_nothing_else_is() -> None:
    ours = {name for name in app.tasks if name.startswith(("memories.", "tenants."))}
    assert ours == {job.name for job in table()}
    assert {*app.conf.beat_schedule} == {job.name for job in table() if job.when()}


def test_a_job_that_stopped_early_is_asked_for_again(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memories.search.outbox.drain_some", lambda: JobResult.MORE)
    app.tasks[DRAIN]()
    assert broker.messages() == [DRAIN]
    with broker.away():
        app.tasks[DRAIN]()


def test_keys_have_a_queue_of_their_own(broker: Broker) -> None:
    send("tenants.revoke_waiting")
    assert (broker.messages(), broker.messages(JobQueue.KEYS)) == ([], ["tenants.revoke_waiting"])


def test_a_broker_that_is_away_is_noticed_at_once_and_its_return_too(broker: Broker) -> None:
    send(DRAIN)
    with broker.away():
        started = time.monotonic()
        for _ in range(3):
            with pytest.raises(BrokerAway):
                send(DRAIN)
        assert time.monotonic() - started < 30.0  # Celery's own way is to try again for minutes
    send(DRAIN)
    assert broker.messages() == [DRAIN]


def test_a_broker_that_is_silent_is_away(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(app.conf.broker_transport_options, "socket_timeout", 0.2)
    send(DRAIN)
    with broker.silent(), pytest.raises(BrokerAway):
        send(DRAIN)


def test_an_error_of_the_broker_repeats_no_password(broker: Broker) -> None:
    broker.point(broker.url.replace("redis://", "redis://nobody:a-secret@"))
    with pytest.raises(BrokerAway) as caught:
        send(DRAIN)
    assert "a-secret" not in str(caught.value)
    assert caught.value.__suppress_context__  # nor does the error before it, in no traceback


@pytest.mark.long
@pytest.mark.parametrize("program", ["worker", "beat"])
def test_without_an_address_of_the_broker_nothing_starts(program: str, broker: Broker, tmp_path: Path) -> None:
    broker.url = ""
    with broker.process(program, folder=tmp_path) as process:
        assert process.wait() == 1
        assert "MEMORYHUB_BROKER_URL: needed with MEMORYHUB_JOBS=celery.\n" in process.words()


def test_the_probe_tells_whether_the_broker_answers(broker: Broker) -> None:
    assert broker_probe.broker_answers()
    with broker.silent():
        assert not broker_probe.broker_answers()
    with broker.away():
        assert not broker_probe.broker_answers()
    assert broker_probe.broker_answers()


@pytest.mark.django_db
def test_readyz_names_the_broker_where_there_is_one(
    client: Client, broker: Broker, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "_probes", {})
    monkeypatch.setattr(health, "_gates", [])
    monkeypatch.setattr(health, "SEEN_SECONDS", 0.0)
    apps.get_app_config("memoryhub").ready()
    assert "broker" not in client.get("/readyz").json()
    settings.MEMORYHUB_JOBS = "celery"
    apps.get_app_config("memoryhub").ready()
    with broker.away():
        answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["broker"]) == (200, "unavailable")
    assert client.get("/readyz").json()["broker"] == "ok"

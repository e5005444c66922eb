"""Recording: what a recall leaves behind, exactly once, behind the answer or before it."""

from __future__ import annotations

import json
import queue
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import DatabaseError, connection, transaction
from pytest_django import Settings

from memories.models import Fact, RecallTrace
from memories.recall import recording
from memories.recall.pipeline import recall
from memories.search.outbox import drain
from memories.services.facts.remember import remember_fact
from memories.services.sessions.sessions import start_session
from tenants.locks import lock_owner
from tenants.principal import Principal
from tests.memories.recall.conftest import Say

transactional = pytest.mark.django_db(transaction=True)


@pytest.mark.django_db
def test_a_trace_explains_what_came_back_and_what_did_not(principal: Principal, say: Say) -> None:
    say(*(f"Bulb number {number} is broken" for number in range(15)))
    drain()
    answer = recall(principal, "which bulb is broken?", limit=5)
    trace = RecallTrace.objects.of(principal).get(pk=answer.trace_id)
    assert trace.stages.keys() == {"query", "candidates", "loaded", "scored", "selected"}
    assert [line["id"] for line in trace.candidates if line["selected"]] == [str(item.id) for item in answer.items]
    assert {line["cut"] for line in trace.candidates[5:]} == {"rank"}
    assert trace.candidates[0]["signals"]["meaning"] > 0
    assert (trace.query, trace.degraded, trace.parameters["limit"]) == ("which bulb is broken?", False, 5)
    assert trace.returned == len(answer.items) == 5
    beyond = RecallTrace.objects.get(pk=recall(principal, "which bulb is broken?", threshold=100.0).trace_id)
    assert {line["cut"] for line in beyond.candidates} >= {"threshold"} and beyond.parameters["threshold"] == 100.0
    assert beyond.returned == 0


@pytest.mark.django_db
def test_a_trace_holds_no_text_of_a_memory(principal: Principal, say: Say) -> None:
    say("The vault code is zanzibar")
    recall(principal, "what is the code?")
    trace = RecallTrace.objects.get()
    assert "zanzibar" not in json.dumps([trace.candidates, trace.stages, trace.parameters])


@pytest.mark.django_db
def test_a_recall_notes_when_and_counts_no_use(principal: Principal) -> None:
    recalled = remember_fact(principal, text="Lives in Edinburgh").memory_id
    for number in range(5):
        remember_fact(principal, text=f"Bought bulb {number} on a Monday")
    recall(principal, "where do I live?", limit=1)
    assert set(Fact.objects.exclude(last_used_at=None).values_list("pk", flat=True)) == {recalled}
    assert not Fact.objects.filter(use_count__gt=0).exists()


@pytest.mark.django_db
def test_a_recall_may_leave_nothing_behind(principal: Principal) -> None:
    remember_fact(principal, text="Lives in Edinburgh")
    recall(principal, "where do I live?", record=False)
    assert not RecallTrace.objects.exists()
    assert Fact.objects.get().last_used_at is None


@pytest.mark.django_db
def test_a_recall_is_never_linked_to_a_session_of_somebody_else(principal: Principal, other_member: Principal) -> None:
    mine, theirs = start_session(principal).pk, start_session(other_member).pk
    for session in (mine, theirs):
        recall(principal, "hello", session_id=session)
    assert list(RecallTrace.objects.values_list("session_id", flat=True)) == [mine]


@pytest.mark.django_db
def test_a_database_that_fails_takes_no_answer_back(
    principal: Principal, say: Say, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    say("The hub blinks red")

    def fail(*_: object) -> None:
        raise DatabaseError("locked")

    monkeypatch.setattr(recording, "_write", fail)
    assert recall(principal, "what blinks?").items
    assert "could not be recorded" in caplog.text


@pytest.mark.long
@transactional
def test_eight_threads_recall_one_fact_fifty_times_each(principal: Principal, settings: Settings) -> None:
    settings.MEMORYHUB_RECORDING = "background"
    remember_fact(principal, text="Lives in Edinburgh")
    drain()

    def many(_: int) -> None:
        for _ in range(50):
            recall(principal, "where do I live?")
        connection.close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(many, range(8)))
    recording.flush()
    assert RecallTrace.objects.count() == 400


@transactional
def test_a_full_queue_writes_at_once(principal: Principal, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.MEMORYHUB_RECORDING = "background"
    remember_fact(principal, text="Lives in Edinburgh")
    waiting: queue.Queue[recording.Record] = queue.Queue(1)
    monkeypatch.setattr(recording, "_waiting", waiting)
    monkeypatch.setattr(recording, "_ensure_thread", lambda: None)
    for _ in range(3):
        recall(principal, "where do I live?")
    assert RecallTrace.objects.count() == 2, "one waits, two were written at once"
    assert waiting.qsize() == 1


@transactional
def test_noting_a_recall_never_crosses_a_writer(principal: Principal) -> None:
    first, second = (remember_fact(principal, text=f"Fact {number}").memory_id for number in (1, 2))
    drain()
    recalled = recall(principal, "fact", record=False)
    assert {item.id for item in recalled.items} == {first, second}
    holding, recorded = threading.Event(), threading.Event()

    def write() -> None:
        """A change of both facts in the other order, with the recorder in between."""
        with transaction.atomic():
            lock_owner(principal)
            Fact.objects.filter(pk=second).update(category="two")
            holding.set()
            recorded.wait(0.5)  # long enough to be waiting for this transaction
            Fact.objects.filter(pk=first).update(category="one")
        connection.close()

    def record() -> None:
        holding.wait()
        recall(principal, "fact")
        recorded.set()
        connection.close()

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(write), pool.submit(record)]:
            done.result()
    assert [*Fact.objects.order_by("text").values_list("category")] == [("one",), ("two",)]
    assert not Fact.objects.filter(last_used_at=None).exists()

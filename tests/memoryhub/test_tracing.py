"""Spans: nothing without a collector, no flood when it is away, and no text in any of them."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from uuid import uuid4

import pytest
from django.test import Client
from pytest_django import Settings

from memoryhub import observability as log_context
from memoryhub.celery import app
from memoryhub.env import traces_can_be_sent
from memoryhub.observability import otel, tracing
from tests.collector import Collector, collecting
from tests.logged import logged

WORD = "heliotrope"
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
ASKED_BY = f"00-{TRACE}-{PARENT}-01"


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as collector:
        yield collector


def test_without_a_collector_a_span_is_nothing() -> None:
    with tracing.span("one") as one, tracing.span("two", parent={"traceparent": ASKED_BY}) as two:
        one.note(count=1)
    assert one is two
    assert (tracing.trace_id(), tracing.headers()) == ("", {})


def test_spans_inside_each_other_say_so_and_whose_they_are(collector: Collector) -> None:
    owner = uuid4()
    with log_context.bound(tenant_id=owner), tracing.span("outer", count=2, none=None), tracing.span("inner") as inner:
        inner.note(ratio=0.5, well=True)
    within, outer = collector.spans()
    assert (within.name, outer.name) == ("inner", "outer")
    assert (within.parent, within.trace, outer.parent) == (outer.id, outer.trace, "")
    assert within.attributes == {"ratio": 0.5, "well": True, "tenant_id": str(owner)}
    assert outer.attributes == {"count": 2, "tenant_id": str(owner)}


def test_a_span_holds_no_text_and_no_message(collector: Collector) -> None:
    with pytest.raises(ValueError, match=WORD), tracing.span("failing", query=f"Where is the {WORD}?"):
        raise ValueError(WORD)
    assert collector.span("failing").failed == "ValueError"
    assert all(WORD.encode() not in body for body in collector.bodies)


def test_a_request_goes_on_with_the_trace_of_its_caller(collector: Collector, client: Client) -> None:
    with logged("json") as found:
        client.get(f"/login/?next={WORD}", headers={"traceparent": ASKED_BY, "x-request-id": "request-0001"})
    request = collector.span("request")
    assert (request.trace, request.parent) == (TRACE, PARENT)
    assert request.attributes == {"method": "GET", "route": "/login/", "status": 200, "request_id": "request-0001"}
    assert [line["trace_id"] for line in found.objects] == [TRACE]
    assert all(WORD.encode() not in body for body in collector.bodies)


def test_a_task_goes_on_with_the_trace_of_whoever_sent_it(collector: Collector) -> None:
    seen: list[object] = []

    def look() -> None:
        seen.extend((tracing.trace_id(), log_context.ids()["task"]))

    app.task(look, name="tests.look")
    try:
        app.tasks["tests.look"].apply(headers={"traceparent": ASKED_BY})
    finally:
        del app.tasks["tests.look"]
    ran = collector.span("task")
    assert seen == [TRACE, "tests.look"]
    assert (ran.trace, ran.parent, ran.attributes["task"]) == (TRACE, PARENT, "tests.look")
    assert not log_context.ids()


def test_a_collector_that_is_away_costs_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otel, "ANSWER_SECONDS", 0.05)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        tracing.configure(f"http://127.0.0.1:{listener.getsockname()[1]}/v1/traces")
    try:
        with logged("line", level=logging.WARNING) as found:
            for _ in range(3):
                with tracing.span("lost"):
                    pass
                tracing.flush()
    finally:
        tracing.configure("")
    (line,) = (line for line in found.text.splitlines() if "opentelemetry" not in line)
    assert "The collector of traces takes nothing; spans are dropped." in line


def test_what_is_not_installed_is_named(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.MEMORYHUB_TRACES_URL = "http://collector.example/v1/traces"
    assert traces_can_be_sent(None) == []
    monkeypatch.setattr(tracing, "available", lambda: False)
    (error,) = traces_can_be_sent(None)
    assert "otel" in str(error.hint)
    tracing.configure(settings.MEMORYHUB_TRACES_URL)
    with tracing.span("one"):
        assert tracing.trace_id() == ""

"""The spans of a recall and of a turn: each inside whatever asked for it, and no word of either in them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from tests.collector import Collector, collecting
from tests.memories.api.caller import Caller, Life
from tests.openai_server import Say, openai_server

QUESTION = "Who plays the xylophone?"


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as collector:
        yield collector


def parents(collector: Collector) -> dict[str, str]:
    """The name of the span around each span; of several alike, of the first."""
    spans = {span.id: span for span in collector.spans()}
    return {span.name: spans[span.parent].name if span.parent else "" for span in reversed([*spans.values()])}


def test_a_recall_is_seen_stage_by_stage(ada: Caller, life: Life, collector: Collector) -> None:
    answer = ada.post("recall/", {"query": QUESTION}).json
    assert parents(collector) == {
        "request": "",
        "recall": "request",
        "encode": "recall",
        "recall.candidates": "recall",
        "search": "recall.candidates",
        "recall.load": "recall",
        "recall.score": "recall",
        "recall.select": "recall",
    }
    request, recall = collector.span("request"), collector.span("recall")
    assert request.attributes["route"] == "/api/v1/recall/"
    assert recall.attributes["recall_id"] == answer["trace_id"]
    assert recall.attributes["items"] == len(answer["items"])
    assert {span.attributes["tenant_id"] for span in collector.spans()} == {str(ada.principal.tenant_id)}
    said = b"".join(collector.bodies).lower()
    assert said and not any(word in said for word in (b"xylophone", b"plays", b"who "))


def test_a_turn_takes_the_model_along(ada: Caller, life: Life, collector: Collector, settings: Settings) -> None:
    with openai_server(Say(["Ada plays ", "the xylophone."])) as server:
        settings.MEMORYHUB_MODEL, settings.OPENAI_BASE_URL = "m", server.base_url
        answer = ada.post("turns/", {"message": QUESTION}, Accept="text/event-stream").text
    assert "turn_finished" in answer
    model, request = collector.span("model"), collector.span("request")
    assert (model.trace, parents(collector)["model"]) == (request.trace, "request")
    assert model.attributes.items() >= {"model": "m", "stop": "done", "tokens_in": 12, "tokens_out": 3}.items()
    (told,) = server.traces
    assert told.startswith(f"00-{model.trace}-{model.id}-")
    assert b"xylophone" not in b"".join(collector.bodies).lower()

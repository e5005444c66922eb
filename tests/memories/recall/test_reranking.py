"""Reranking by a provider, against a server on a socket."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django import Settings

from memories.models import RecallTrace
from memories.recall import reranking
from memories.recall.explaining import explain
from memories.recall.pipeline import recall
from memories.services import admission
from memories.services.facts.remember import remember_fact
from tenants.principal import Principal
from tests.memories.recall.conftest import texts
from tests.openai_server import KEY, HangUp, OpenAIServer, Raw, Refuse, openai_server
from tests.providers import as_json, relevance

pytestmark = pytest.mark.django_db

QUESTION = "Where does she live?"
PLACES = ("She lives in Leith", "She lives on a boat", "Where she lives is cold")


@pytest.fixture
def stored(principal: Principal, other_member: Principal) -> Principal:
    for place in PLACES:
        remember_fact(principal, text=place)
    remember_fact(other_member, text="She lives at a secret place")
    return principal


def rerank_with(settings: Settings, server: OpenAIServer) -> None:
    settings.MEMORYHUB_RERANK_MODEL = "reader"
    settings.MEMORYHUB_RERANK_URL = server.base_url
    settings.MEMORYHUB_RERANK_KEY = KEY


def traced() -> dict[str, Any]:
    parameters: dict[str, Any] = RecallTrace.objects.latest("created_at").parameters
    return parameters


def test_what_the_endpoint_finds_relevant_comes_first(
    settings: Settings, stored: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    spent: list[int] = []
    monkeypatch.setattr(admission, "spend_model_tokens", lambda _principal, tokens: spent.append(tokens))
    with openai_server(relevance(lambda text: 0.99 if "boat" in text else 0.01)) as server:
        rerank_with(settings, server)
        assert texts(recall(stored, QUESTION))[0] == "She lives on a boat"
    (request,) = server.requests
    assert sorted(request["documents"]) == sorted(PLACES) and request["query"] == QUESTION and server.keys == [KEY]
    assert (traced()["reranker"], traced()["reranked"], traced()["model_tokens"], spent) == ("reader", True, 11, [11])


def test_only_the_best_are_read_and_the_others_keep_their_score(
    settings: Settings, stored: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {item.text: item.score for item in recall(stored, QUESTION).items}
    monkeypatch.setattr(reranking, "CANDIDATES", 1)
    with openai_server(relevance(lambda _text: 1.0)) as server:
        rerank_with(settings, server)
        after = {item.text: item.score for item in recall(stored, QUESTION).items}
    (read,) = server.requests[0]["documents"]
    assert [text for text in after if after[text] != pytest.approx(before[text])] == [read]


@pytest.mark.parametrize(
    "fault",
    [
        Refuse(500, message=KEY),
        Refuse(400),
        HangUp(),
        Raw(b"no"),
        as_json({"results": [{"index": 9, "relevance_score": 1.0}]}),
        as_json({"results": [{"index": 0, "relevance_score": "nan"}]}),
        as_json(["results"]),
    ],
)
def test_an_endpoint_that_fails_changes_nothing_and_the_trace_says_so(
    settings: Settings, stored: Principal, fault: Any, caplog: pytest.LogCaptureFixture
) -> None:
    before = texts(recall(stored, QUESTION))
    with openai_server(fault) as server:
        rerank_with(settings, server)
        assert texts(recall(stored, QUESTION)) == before
    assert (traced()["reranker"], traced()["reranked"]) == ("reader", False)
    assert KEY not in caplog.text and "Leith" not in caplog.text


def test_an_explanation_adds_up_with_the_relevance(settings: Settings, stored: Principal) -> None:
    with openai_server(relevance(lambda _text: 0.8)) as server:
        rerank_with(settings, server)
        first, *_ = explain(stored, QUESTION).considered
    assert first.added["relevance"] == pytest.approx(0.8 * reranking.WEIGHT)
    assert sum(first.added.values()) == pytest.approx(first.fused, abs=1e-4)

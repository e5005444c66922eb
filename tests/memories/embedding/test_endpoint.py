"""The encoder at an OpenAI-compatible endpoint, against a server on a socket."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest

from memories.embedding import endpoint
from memories.embedding.endpoint import EmbeddingEndpoint
from memoryhub import json_endpoint
from memoryhub.json_endpoint import EndpointFault, RequestRefused
from tests.openai_server import KEY, HangUp, Made, OpenAIServer, Raw, Refuse, openai_server
from tests.providers import DIMENSIONS, MODEL, as_json, inputs, vector_of, vectors


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_endpoint, "RETRY_SECONDS", 0.01)


def at(server: OpenAIServer, dimensions: int = DIMENSIONS) -> EmbeddingEndpoint:
    return EmbeddingEndpoint(model=MODEL, url=server.base_url, key=KEY, dimensions=dimensions)


def unit(text: str) -> Any:
    vector = np.array(vector_of(text))
    return pytest.approx(vector / np.linalg.norm(vector), abs=1e-5)


def test_texts_are_sent_in_batches_and_vectors_come_in_their_order() -> None:
    texts = [f"Has a friend in city {number}" for number in range(endpoint.MAX_TEXTS + 1)]
    with openai_server(vectors(backwards=True)) as server:
        made = at(server).embed(texts)
    assert [len(some) for some in inputs(server)] == [endpoint.MAX_TEXTS, 1]
    assert made.vectors[3] == unit(texts[3]) and made.tokens == 7 * len(texts)
    assert server.keys[0] == KEY and server.requests[0]["model"] == MODEL


@pytest.mark.parametrize("fault", [Refuse(503), Refuse(429, headers={"Retry-After": "0"}), HangUp()])
def test_a_fault_that_passes_is_tried_again_by_those_who_have_time(fault: Any) -> None:
    with openai_server(fault, vectors()) as server:
        assert at(server).encode(["Lives in Leith"])[0] == unit("Lives in Leith")


@pytest.mark.parametrize(
    "fault",
    [
        Refuse(401, message=f"Your key {KEY} is wrong"),
        Refuse(500),
        Raw(b"<html>"),
        as_json({}),
        as_json({"data": []}),
        as_json({"data": [{"index": 0, "embedding": [0.0] * DIMENSIONS}]}),
        as_json({"data": [{"index": 0, "embedding": ["a"] * DIMENSIONS}]}),
        vectors(DIMENSIONS + 1),
    ],
)
def test_those_who_wait_get_a_fault_at_once_that_holds_no_secret(fault: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with openai_server(fault) as server, pytest.raises(EndpointFault) as raised:
        at(server).embed_now(["Peanuts make her throat swell"])
    said = f"{raised.value} {caplog.text}"
    assert KEY not in said and "Peanuts" not in said and server.base_url not in said
    assert len(server.requests) == 1


def test_vectors_of_another_length_name_the_setting() -> None:
    said = f"{DIMENSIONS + 1} numbers.*MEMORYHUB_EMBEDDING_DIMENSIONS"
    with openai_server(vectors(DIMENSIONS + 1)) as server, pytest.raises(EndpointFault, match=said):
        at(server).encode(["Lives in Leith"])


def test_an_endpoint_that_failed_is_not_asked_by_those_who_wait() -> None:
    with openai_server(Refuse(500), vectors()) as server:
        client = at(server)
        for _ in range(2):
            with pytest.raises(EndpointFault):
                client.embed_now(["Lives in Leith"])
        assert len(server.requests) == 1
        client.encode(["Lives in Leith"])
        client.embed_now(["Lives in Leith"])


def test_a_model_that_refuses_the_parameter_gets_the_texts_without_it() -> None:
    refuses = Refuse(400, message="This model does not support matryoshka representation")
    with openai_server(refuses, vectors()) as server:
        client = at(server)
        client.encode(["Lives in Leith"])
        client.encode(["Lives in Bath"])
    assert ["dimensions" in request for request in server.requests] == [True, False, False]


def test_a_text_that_is_too_long_is_halved_and_the_others_are_whole() -> None:
    def make(request: dict[str, Any]) -> Any:
        longest = max(map(len, request["input"]))
        return Refuse(413, message="too many tokens") if longest > 2_000 else vectors().make(request)

    with openai_server(Made(make)) as server:
        made = at(server).encode(["Lives in Leith", "word " * 1_000, ""])
    assert made.shape == (3, DIMENSIONS) and made[0] == unit("Lives in Leith")


def test_a_text_that_is_refused_at_any_length_is_refused() -> None:
    with openai_server(Refuse(400, message="no")) as server, pytest.raises(RequestRefused):
        at(server).encode(["word " * 1_000])


def test_a_query_is_cached_for_its_asker_alone() -> None:
    with openai_server(vectors()) as server:
        client = at(server)
        tokens = [client.query("Where do I live?", asker).tokens for asker in ("Ada", "Ada", "Bob")]
    assert tokens == [7, 0, 7] and len(server.requests) == 2

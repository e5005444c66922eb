"""The extractor that asks a model, against a real server: proposals from a whole answer, or one fault and nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from memories.consolidation.material import ExtractionFault, FaultKind, Material, ProposedFact
from memories.consolidation.model import ModelExtractor
from memories.llm.json_answers import JsonAnswers
from tests.memories.consolidation.conftest import batch, episode
from tests.openai_server import (
    KEY,
    Decline,
    OpenAIServer,
    Refuse,
    Reply,
    Say,
    client_at,
    openai_server,
    patience,
    said_as_json,
)

EMPTY: dict[str, list[Any]] = {"facts": [], "ends": [], "playbooks": [], "outcomes": []}
MOVED = {
    "text": "Lives in Edinburgh",
    "key": "home_city",
    "category": "home",
    "confidence": 1,
    "quote": "in Edinburgh since March",
    "episodes": ["E1"],
    "supersedes": ["F1", "F2"],
    "contradiction": "natural",
    "valid_from": "2026-03",
    "valid_to": "",
}
ANSWER = EMPTY | {"facts": [MOVED]}
GOOD = said_as_json(ANSWER)


@contextmanager
def extractor_at(*script: Reply) -> Iterator[tuple[ModelExtractor, OpenAIServer]]:
    with (
        openai_server(*script) as server,
        client_at(server.base_url, JsonAnswers, stall_seconds=patience(*script)) as model,
    ):
        yield ModelExtractor(model), server


def fault(*script: Reply, material: Material | None = None) -> tuple[ExtractionFault, OpenAIServer]:
    with extractor_at(*script) as (extractor, server), pytest.raises(ExtractionFault) as caught:
        extractor.extract(material or batch())
    for seen in (str(caught.value), repr(caught.value)):
        assert not [word for word in (KEY, "127.0.0.1", "Edinburgh", "Bristol") if word in seen]
    return caught.value, server


def test_an_answer_becomes_proposals_and_a_record_with_its_tokens() -> None:
    material = batch()
    with extractor_at(GOOD) as (extractor, _):
        extraction = extractor.extract(material)
    (told,) = extraction.proposals
    assert isinstance(told, ProposedFact)
    assert (told.text, told.supersedes) == ("Lives in Edinburgh", tuple(each.id for each in material.facts[:2]))
    assert (extraction.input_tokens, extraction.output_tokens) == (12, 3)
    assert extraction.output["proposals"] == [{"what": "facts", **MOVED}]
    assert extraction.output["labels"]["F2"] == str(material.facts[1].id)
    assert extraction.output["unknown_labels"] == []
    json.dumps(extraction.output)


def test_the_record_finds_each_proposal_by_its_place() -> None:
    bees = MOVED | {"text": "Has a new drum", "episodes": ["E2", "E7"], "supersedes": []}
    with extractor_at(said_as_json(EMPTY | {"facts": [bees, MOVED]})) as (extractor, _):
        extraction = extractor.extract(batch())
    told = [each.text for each in extraction.proposals if isinstance(each, ProposedFact)]
    assert told == [each["text"] for each in extraction.output["proposals"]]
    assert extraction.output["unknown_labels"] == ["E7"]


FAULTS = [
    pytest.param(Say([json.dumps(ANSWER)[:90]], finish="length"), FaultKind.UNUSABLE, "greatest length", id="length"),
    pytest.param(Refuse(400, code="context_length_exceeded"), FaultKind.UNUSABLE, "too long to be", id="too much"),
    pytest.param(Decline("I cannot."), FaultKind.REFUSED, "declined", id="a refusal"),
    pytest.param(Refuse(429, headers={"Retry-After": "30"}), FaultKind.PASSING, "is busy", id="rate limit"),
    pytest.param(Refuse(401, message=f"no {KEY}"), FaultKind.PASSING, "OPENAI_API_KEY", id="wrong key"),
]


@pytest.mark.parametrize(("reply", "kind", "sentence"), FAULTS)
def test_each_fault_says_what_to_do_about_it(reply: Reply, kind: FaultKind, sentence: str) -> None:
    error, _ = fault(reply)
    assert sentence in error.message
    assert "Try again" not in error.message or kind is FaultKind.PASSING
    assert error.kind is kind


def test_a_limit_says_how_long_and_an_unusable_answer_is_kept_for_the_record() -> None:
    error, _ = fault(Refuse(429, headers={"Retry-After": "30"}))
    assert error.retry_after == 30
    error, _ = fault(Say(["I'd say Edinburgh."]))
    assert (error.output, error.input_tokens, error.output_tokens) == ("I'd say Edinburgh.", 12, 3)


def test_a_batch_too_long_for_one_question_is_not_sent_and_a_single_episode_always_is() -> None:
    long = [episode("x" * 32_000, place=place) for place in range(1, 6)]
    error, server = fault(GOOD, material=Material("Ada", tuple(long)))
    assert (error.kind, len(server.requests)) == (FaultKind.UNUSABLE, 0)
    with extractor_at(said_as_json(EMPTY)) as (extractor, _):
        assert extractor.extract(Material("Ada", (long[0],))).proposals == ()

"""Recall by REST."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pytest_django import Settings

from memories.models import Fact, RecallTrace
from memories.services.facts.remember import remember_fact
from tests.memories.api.caller import Caller, Life

MARCH, JUNE = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 6, 1, tzinfo=UTC)


def test_a_question_is_answered_best_first_with_reasons(ada: Caller, life: Life) -> None:
    answer = ada.post("recall/", {"query": "Who plays the xylophone?", "types": ["semantic"]})
    assert answer.status == 200
    first = answer.json["items"][0]
    assert (first["rank"], first["id"], first["text"]) == (1, str(life.fact), "Plays the xylophone.")
    assert first["reasons"] and not {"score", "signals"} & set(first)
    assert not answer.json["degraded"]


def test_a_recall_leaves_the_trace_that_it_names(ada: Caller, life: Life) -> None:
    answer = ada.post("recall/", {"query": "Who plays?", "session_id": str(life.session)}).json
    trace = RecallTrace.objects.get(pk=answer["trace_id"])
    assert (trace.query, trace.session_id) == ("Who plays?", life.session)


def test_types_and_limit_narrow_the_answer(ada: Caller, life: Life) -> None:
    items = ada.post("recall/", {"query": "xylophone", "types": ["procedural", "episodic"]}).json["items"]
    assert {item["kind"] for item in items} == {"procedural", "episodic"}
    assert len(ada.post("recall/", {"query": "xylophone", "limit": 1}).json["items"]) == 1


def test_what_was_replaced_comes_back_only_if_asked_and_marked(ada: Caller, life: Life) -> None:
    asked = {"query": "Does anybody play an instrument?", "types": ["semantic"]}
    assert str(life.old_fact) not in {item["id"] for item in ada.post("recall/", asked).json["items"]}
    items = {item["id"]: item for item in ada.post("recall/", asked | {"include_superseded": True}).json["items"]}
    old = items[str(life.old_fact)]
    assert (old["status"], old["superseded_by"]) == ("superseded", str(life.fact))


def test_as_of_answers_with_what_was_believed_then(ada: Caller) -> None:
    for text, when in (("Lives in Leeds.", MARCH), ("Lives in York.", JUNE)):
        remember_fact(ada.principal, text=text, key="home_city", learned_at=when)
    asked = {"query": "Where do I live?", "types": ["semantic"]}
    then = ada.post("recall/", asked | {"as_of": "2026-04-01T00:00:00+02:00"}).json
    assert [item["text"] for item in then["items"]] == ["Lives in Leeds."]
    assert then["as_of"] == "2026-03-31T22:00:00Z"
    assert [item["text"] for item in ada.post("recall/", asked).json["items"]] == ["Lives in York."]


def test_a_recall_counts_as_a_use_of_the_facts_in_it(ada: Caller, life: Life) -> None:
    ada.post("recall/", {"query": "Who plays the xylophone?"})
    assert Fact.objects.get(pk=life.fact).use_count == 1


def test_the_memories_of_a_task_are_asked_for_by_name(ada: Caller, life: Life) -> None:
    asked = {"query": "xylophone task"}
    assert str(life.task_fact) not in {item["id"] for item in ada.post("recall/", asked).json["items"]}
    items = ada.post("recall/", asked | {"task": "music"}).json["items"]
    assert str(life.task_fact) in {item["id"] for item in items}


def test_nothing_remembered_is_an_empty_answer(ada: Caller) -> None:
    assert ada.post("recall/", {"query": "anything"}).json["items"] == []


@pytest.mark.parametrize("query", ["' OR 1=1 --", '"; DROP TABLE x', "NEAR(a, b)", "*", "<script>", "\u202eabc", "🎵"])
def test_a_strange_question_is_a_question(ada: Caller, life: Life, settings: Settings, query: str) -> None:
    assert ada.post("recall/", {"query": query}).status == 200


def test_what_scores_below_a_threshold_is_left_out(ada: Caller, life: Life) -> None:
    asked = {"query": "Who plays the xylophone?", "types": ["semantic"]}
    first = ada.post("recall/", asked).json
    best = RecallTrace.objects.get(pk=first["trace_id"]).candidates[0]["score"]
    assert ada.post("recall/", asked | {"threshold": best + 1}).json["items"] == []
    assert ada.post("recall/", asked | {"threshold": best - 1}).json["items"][0] == first["items"][0]
    assert len(ada.post("recall/", asked | {"threshold": -9}).json["items"]) == len(first["items"])


@pytest.mark.parametrize("wrong", ["1", True, [1], 10**400])
def test_a_threshold_is_a_number(ada: Caller, wrong: object) -> None:
    answer = ada.post("recall/", {"query": "Who plays?", "threshold": wrong})
    assert answer.status == 400
    assert answer.json["errors"] == [{"field": "threshold", "reason": "must be a number."}]

"""Recall by REST."""

from __future__ import annotations

from datetime import UTC, datetime

from memories.models import RecallTrace
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


def test_as_of_answers_with_what_was_believed_then(ada: Caller) -> None:
    for text, when in (("Lives in Leeds.", MARCH), ("Lives in York.", JUNE)):
        remember_fact(ada.principal, text=text, key="home_city", learned_at=when)
    asked = {"query": "Where do I live?", "types": ["semantic"]}
    then = ada.post("recall/", asked | {"as_of": "2026-04-01T00:00:00+02:00"}).json
    assert [item["text"] for item in then["items"]] == ["Lives in Leeds."]
    assert then["as_of"] == "2026-03-31T22:00:00Z"
    assert [item["text"] for item in ada.post("recall/", asked).json["items"]] == ["Lives in York."]

"""Recall by REST."""

from __future__ import annotations

from memories.models import RecallTrace
from tests.memories.api.caller import Caller, Life


def test_a_question_is_answered_best_first_with_reasons(ada: Caller, life: Life) -> None:
    answer = ada.post("recall/", {"query": "Who plays the xylophone?", "types": ["semantic"]})
    assert answer.status == 200
    first = answer.json["items"][0]
    assert (first["rank"], first["id"], first["text"]) == (1, str(life.fact), "Plays the xylophone.")
    assert first["reasons"] and first["score"] > 0 and "signals" not in first
    assert not answer.json["degraded"]


def test_a_recall_leaves_the_trace_that_it_names(ada: Caller, life: Life) -> None:
    answer = ada.post("recall/", {"query": "Who plays?", "session_id": str(life.session)}).json
    trace = RecallTrace.objects.get(pk=answer["trace_id"])
    assert (trace.query, trace.session_id) == ("Who plays?", life.session)


def test_every_limit_of_a_question_is_heeded(ada: Caller, life: Life) -> None:
    def ids(**limits: object) -> set[str]:
        body = {"query": "xylophone", "types": ["semantic"], **limits}
        return {item["id"] for item in ada.post("recall/", body).json["items"]}

    assert ids() == {str(life.fact)}
    assert ids(task="music") == {str(life.fact), str(life.task_fact)}
    assert ids(include_superseded=True) == {str(life.fact), str(life.old_fact)}
    assert ids(threshold=100) == ids(as_of="2020-04-01T00:00:00+02:00") == set()
    assert len(ids(include_superseded=True, limit=1)) == 1
    assert ids(types=["procedural", "episodic"]) == {str(life.playbook), str(life.episode)}


def test_a_refused_question_says_that_nothing_was_looked_up(ada: Caller, life: Life) -> None:
    for query in ("", " \n"):
        problem = ada.post("recall/", {"query": query}).problem
        assert problem["detail"] == "Nothing was looked up: query is empty; write something."
    stored = ada.post("memories/", {"text": ""}).problem
    assert stored["detail"] == "Nothing was stored: text is empty; write something."

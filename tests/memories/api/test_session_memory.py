"""Working memory and session memory over the API."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from memories.models import Fact, Session
from memories.services.sessions.sessions import start_session
from memories.services.sessions.turns import begin_turn
from memories.services.sessions.working_memory import observe
from memories.types import Importance
from tests.memories.api.caller import Caller

pytestmark = pytest.mark.django_db

EMPTY = {
    "goal": "",
    "plan": {"steps": [], "done": 0, "current": "", "next": ""},
    "constraints": [],
    "observations": [],
    "scratchpad": [],
}


@pytest.fixture
def session(ada: Caller) -> UUID:
    return start_session(ada.principal).pk


def test_a_program_sets_and_reads_the_task(ada: Caller, session: UUID) -> None:
    address = f"sessions/{session}/working-memory/"
    assert ada.get(address).json == EMPTY
    wanted: dict[str, Any] = {
        "goal": "Repot the fern",
        "plan": {"steps": ["Buy soil", "Repot", "Water"], "done": 1},
        "constraints": [{"text": "No peat"}, {"text": "Before noon", "importance": "critical"}],
        "observations": [{"text": "Dry", "importance": "important"}],
        "scratchpad": ["12 cm"],
    }
    told = ada.patch(address, wanted)
    assert told.status == 200 and told.json == ada.get(address).json
    assert told.json["plan"] == {
        "steps": ["Buy soil", "Repot", "Water"], "done": 1, "current": "Repot", "next": "Water",
    }  # fmt: skip
    assert told.json["constraints"][0] == {"text": "Before noon", "importance": "critical", "turn": 0}
    told = ada.patch(address, {"plan": {"done": 3}, "constraints": []})
    assert (told.json["plan"]["done"], told.json["constraints"], told.json["goal"]) == (3, [], "Repot the fern")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"task": "x"}, "task"),
        ({"plan": {"steps": ["a"], "done": 2}}, "done"),
        ({"constraints": [{"text": str(n)} for n in range(9)]}, "constraints"),
        ({"constraints": [{"text": "a", "importance": "high"}]}, "constraints.0.importance"),
    ],
)
def test_what_does_not_fit_is_refused_by_field(ada: Caller, session: UUID, body: object, field: str) -> None:
    answer = ada.patch(f"sessions/{session}/working-memory/", body)
    assert answer.status == 400
    assert any(name == field or name.startswith(f"{field}.") for name in answer.faults), answer.faults
    assert Session.objects.get(pk=session).working_memory == {}


@pytest.mark.english
def test_a_session_is_searched(ada: Caller) -> None:
    session = begin_turn(ada.principal, text="The fern is dry").session_id
    observe(ada.principal, session_id=session, text="Its pot is cracked", importance=Importance.CRITICAL)
    (found,) = ada.get(f"sessions/{session}/entries/?q=ferns").json["results"]
    assert (found["part"], found["turn"], found["text"], found["memory_id"]) == ("said", 1, "The fern is dry", None)
    (latest,) = ada.get(f"sessions/{session}/entries/").json["results"]
    assert (latest["part"], latest["importance"], latest["turn"]) == ("observation", "critical", 0)
    assert ada.get(f"sessions/{session}/entries/?limit=0").status == 400


def test_the_end_of_a_session_tells_what_became_memory(ada: Caller, session: UUID) -> None:
    observe(ada.principal, session_id=session, text="The pot is cracked", importance=Importance.IMPORTANT)
    answer = ada.post(f"sessions/{session}/end/", {"outcome": "Fine", "learned": ["Clay pots last"]})
    assert answer.status == 200
    proposed = answer.json["proposed"]
    assert {(each["result"], each["kind"]) for each in proposed} == {("created", "semantic")}
    assert {each["id"] for each in proposed} == {str(fact.pk) for fact in Fact.objects.all()}
    assert ada.get(f"sessions/{session}/working-memory/").json == EMPTY
    assert ada.post(f"sessions/{session}/end/").json["proposed"] == []

"""The life of a memory in a conversation: moved, asked about, denied, corrected, forgotten.

What a language model answers is scripted, on a real socket; what it is told, and what its calls do, is real.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from memories.agent.events import MemoriesRetired
from memories.agent.loop import run_turn
from memories.llm.completions import OpenAIChat
from memories.models import Fact
from memories.services.facts.remember import remember_fact
from memories.types import Contradiction, Status
from tenants.principal import Principal
from tests.memories.agent.conftest import started_of, text_of
from tests.openai_server import Call, Reply, Say, openai_server

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("everything_is_whole")]

KNOWN = {
    "Lives in Bristol": "home_city",
    "Lives in Clifton": "neighbourhood",
    "Rents from Mrs Hale": "landlord",
    "Works remotely for Acme": "employer",
    "Allergic to peanuts": "allergy_peanut",
    "Favourite city is Lisbon": "favourite_city",
    "Her sister lives in Leeds": "",
}
ENDED_BY_A_MOVE = {"Lives in Bristol", "Lives in Clifton", "Rents from Mrs Hale"}


@dataclass
class Conversation:
    """One conversation. `told` is what the language model was sent, its tool results parsed."""

    principal: Principal
    session: UUID | None = None
    told: list[dict[str, Any]] = field(default_factory=list)
    retired: list[MemoriesRetired] = field(default_factory=list)

    def say(self, text: str, *script: Reply) -> str:
        """The answer; the language model plays `script`."""
        with openai_server(*script) as server:
            model = OpenAIChat(name="m", base_url=server.base_url, api_key="k")
            try:
                answer = self._turn(text, model)
            finally:
                model.close()
        results = [message["content"] for message in server.requests[-1]["messages"] if message["role"] == "tool"]
        self.told = [json.loads(result) for result in results]
        return answer

    def _turn(self, text: str, model: OpenAIChat) -> str:
        events = list(run_turn(self.principal, text=text, session_id=self.session, model=model))
        self.session = started_of(events).session_id
        self.retired += [event for event in events if isinstance(event, MemoriesRetired)]
        return text_of(events)

    def memories(self) -> dict[str, dict[str, Any]]:
        """What the last turn's recalls told the language model, by text."""
        return {item["text"]: item for result in self.told for item in result.get("memories", ())}


@pytest.fixture
def ada(principal: Principal) -> Conversation:
    """Ada in conversation."""
    return Conversation(principal)


def know(principal: Principal, **others: str) -> dict[str, str]:
    """Store KNOWN, as said some time ago, and give the ids by text."""
    facts = {**KNOWN, **{text: key for key, text in others.items()}}
    return {text: str(remember_fact(principal, text=text, key=key).memory_id) for text, key in facts.items()}


def use(tool: str, /, **arguments: Any) -> Call:
    """One tool call by the language model."""
    return Call([(tool, json.dumps(arguments))])


def current(principal: Principal) -> set[str]:
    return set(Fact.objects.of(principal).current().values_list("text", flat=True))


def move(ada: Conversation) -> str:
    """Ada, of whom much is known, tells of a move in passing."""
    ids = know(ada.principal)
    over = [ids[text] for text in sorted(ENDED_BY_A_MOVE)]
    lookup = use("recall_memory", query="neighbourhood landlord address", types=["semantic"])
    write = use("write_memory", text="Lives in Edinburgh", key="home_city", supersedes_ids=over)
    return ada.say("we left Bristol, in Edinburgh now", lookup, write, Say(["You live in Edinburgh now."]))


def test_a_move_told_in_passing_ends_all_that_it_makes_false_and_nothing_else(ada: Conversation) -> None:
    assert "Edinburgh" in move(ada)
    assert current(ada.principal) == (set(KNOWN) - ENDED_BY_A_MOVE) | {"Lives in Edinburgh"}
    successor = Fact.objects.get(text="Lives in Edinburgh")
    ended = Fact.objects.filter(superseded_by=successor)
    assert set(ended.values_list("text", flat=True)) == ENDED_BY_A_MOVE
    assert set(ended.values_list("contradiction", "retracted")) == {(Contradiction.NATURAL, False)}


def test_where_one_has_lived_is_told_with_times(ada: Conversation) -> None:
    move(ada)
    lookup = use("recall_memory", query="Where have I lived?", types=["semantic"], include_superseded=True)
    ada.say("Where have I lived?", lookup, Say(["In Bristol until now, in Edinburgh since."]))
    told = ada.memories()
    assert told["Lives in Bristol"]["status"] == "superseded"
    assert told["Lives in Bristol"]["until"] == told["Lives in Edinburgh"]["since"]
    assert told["Lives in Bristol"]["replaced_by"] == told["Lives in Edinburgh"]["id"]


def test_when_one_moved_is_when_one_says_so(ada: Conversation) -> None:
    ids = know(ada.principal)
    moved = (datetime.now(UTC) - timedelta(days=70)).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    then = {"supersedes_ids": [ids["Lives in Bristol"]], "valid_from": moved.isoformat()}
    write = use("write_memory", text="Lives in Edinburgh", key="home_city", **then)
    ada.say(f"I moved to Edinburgh in {moved:%B %Y}", write, Say(["Welcome."]))
    assert Fact.objects.get(text="Lives in Edinburgh").valid_from == moved
    assert Fact.objects.get(text="Lives in Bristol").valid_to == moved
    lookup = use("recall_memory", query="Where have I lived?", include_superseded=True)
    ada.say("Where have I lived?", lookup, Say(["Both."]))
    assert ada.memories()["Lives in Bristol"]["true_until"] == f"{moved:%Y-%m}-01T00:00Z"


@pytest.mark.english
@pytest.mark.parametrize("denial", ["I never lived there", "I never lived in Bath"])
def test_what_never_was_is_taken_back_harshly_and_told_no_more(ada: Conversation, denial: str) -> None:
    know(ada.principal)
    ada.say("I moved to Bath", use("write_memory", text="Lives in Bath", key="home_city"), Say(["Bath it is."]))
    bath = str(Fact.objects.get(text="Lives in Bath").pk)
    ada.say(denial, use("retire_memory", memory_ids=[bath], contradiction="harsh"), Say(["I took that back."]))
    row = Fact.objects.get(pk=bath)
    assert (row.status, row.retracted, row.contradiction) == (Status.SUPERSEDED, True, Contradiction.HARSH)
    assert [(event.harsh, event.ended) for event in ada.retired] == [(True, ((row.pk, "Lives in Bath"),))]
    lookup = use("recall_memory", query="Where have I lived?", include_superseded=True)
    answer = ada.say("Where have I lived?", lookup, Say(["In Bristol."]))
    assert "Bath" not in answer
    assert ada.memories()["Lives in Bath"]["never_true"] is True


@pytest.mark.parametrize(
    "reach",
    [
        pytest.param(lambda pk: use("write_memory", text="Lives in York", supersedes_ids=[pk]), id="supersede"),
        pytest.param(lambda pk: use("retire_memory", memory_ids=[pk]), id="end"),
        pytest.param(lambda pk: use("retire_memory", memory_ids=[pk], contradiction="harsh"), id="take back"),
        pytest.param(lambda pk: use("forget_memory", memory_ids=[pk]), id="forget"),
    ],
)
def test_a_model_that_names_anothers_fact_is_told_that_there_is_none(
    principal: Principal, stranger: Principal, reach: Callable[[str], Call]
) -> None:
    theirs = remember_fact(stranger, text="Lives in Bristol", key="home_city").memory_id
    ada = Conversation(principal)
    refusals = []
    for memory_id in (str(theirs), str(uuid4())):
        ada.say("we left Bristol, in York now", reach(memory_id), Say(["Hm."]))
        refusals.append(ada.told[-1])
    assert "error" in refusals[0]
    assert refusals[0] == refusals[1]
    row = Fact.objects.get()
    assert (row.pk, row.status, row.retracted) == (theirs, Status.ACTIVE, False)

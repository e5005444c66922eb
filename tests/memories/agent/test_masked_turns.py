"""A value that must not be stored: the turn goes on without it, who said it is told, no tool gets it through."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from memories.agent.events import Event, Notice, NoticeKind, TurnFinished
from memories.agent.loop import run_turn
from memories.hygiene.sensitivity.findings import label
from memories.models import Fact, Message, Playbook, RecallTrace, SessionEntry
from memories.types import SensitiveKind
from tenants.models import AuditEvent
from tenants.principal import Principal
from tests.memories.agent.conftest import ScriptedModel, call, only_turn, say, started_of

pytestmark = pytest.mark.django_db

CARD = "4111 1111 1111 " + "1111"
REMOVED = label(SensitiveKind.PAYMENT_CARD)
SAID = f"My card is {CARD}, keep it"


def turn(principal: Principal, text: str, *script: Any) -> tuple[list[Event], ScriptedModel]:
    model = ScriptedModel(*script)
    return list(run_turn(principal, text=text, model=model)), model


def notices(events: Sequence[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, Notice) and event.kind is NoticeKind.MASKED]


def test_whoever_said_it_is_told_and_given_the_words_as_stored(principal: Principal) -> None:
    events, _ = turn(principal, SAID, say("I cannot keep that."))
    started = started_of(events)
    assert (started.masked, started.text) == (("payment_card",), f"My card is {REMOVED}, keep it")
    assert notices(events) == ["A payment card number was taken out before this was stored."]


def test_the_model_is_sent_the_masked_words_alone(principal: Principal) -> None:
    _, model = turn(principal, SAID, call("recall_memory", query="card"), say("I cannot keep that."))
    assert "4111 1111" not in json.dumps(model.sent, default=str)
    assert REMOVED in json.dumps(model.sent[0], default=str)


def test_a_memory_that_holds_it_is_refused_in_words(principal: Principal) -> None:
    book = {"kind": "procedural", "title": "Pay", "steps": ["Go", f"Type {CARD}"]}
    _, model = turn(principal, "Remember it", call("write_memory", **book), say("I could not."))
    answer = json.loads(str(model.sent[1][-1]["content"]))
    assert answer["error"].startswith("steps.1 holds a payment card number at characters ")
    assert "4111 1111" not in json.dumps(model.sent, default=str)
    assert not Playbook.objects.exists()
    assert AuditEvent.objects.filter(owner_id=principal.user_id, action="memory.blocked").count() == 1


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("recall_memory", {"query": f"who has {CARD}"}),
        ("recall_memory", {"query": "mine", "number": int(CARD.replace(" ", ""))}),
        ("recall_memory", {CARD: "mine"}),
        ("set_task", {"goal": f"Pay with {CARD}", "constraints": [f"only {CARD}"]}),
        ("update_plan", {"steps": [f"Type {CARD}"]}),
        ("observe", {"text": f"It is {CARD}", "importance": "critical"}),
        ("finish_task", {"outcome": f"Paid with {CARD}", "learned": [f"Pays with {CARD}"]}),
        (CARD, {"text": "x"}),
    ],
)
def test_arguments_of_tools_are_masked_before_they_are_stored_and_used(
    principal: Principal, tool: str, arguments: dict[str, Any]
) -> None:
    _, model = turn(principal, "Go on", call(tool, **arguments), say("Done."))
    stored = [
        *Message.objects.values_list("text", "tool_calls"),
        *RecallTrace.objects.values_list("query", "parameters"),
        *SessionEntry.objects.values_list("text", "session__working_memory"),
        *Fact.objects.values_list("text"),
    ]
    for told in (str(stored), json.dumps(model.sent, default=str)):
        assert "4111 1111" not in told and "41111111" not in told
        assert "payment card removed" in told


def test_what_the_model_makes_up_is_masked_in_the_stored_answer(principal: Principal) -> None:
    events, _ = turn(principal, "Give me a card number", say("Take ", CARD[:9], CARD[9:], "."))
    (finished,) = (event for event in events if isinstance(event, TurnFinished))
    assert (finished.masked, finished.text) == (("payment_card",), f"Take {REMOVED}.")
    assert only_turn(principal).answer == f"Take {REMOVED}."

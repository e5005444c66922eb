"""Sending labelled texts through an edge, and counting what became of them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.test import Client
from django.urls import reverse

from memories.importing import ConversationSession, parse_memory
from memories.importing.conversations import ConversationTurn
from memories.models import Episode, Message
from memories.services.portability.memories_import import import_memories
from memories.services.portability.sessions_import import import_sessions
from memories.types import HIGH_SEVERITY
from tenants.principal import Principal
from tests.memories.api.caller import Caller
from tests.memories.hygiene.sensitivity.labelled import Labelled

# What the issue asks for.
LEAST_FOUND = 0.98
MOST_FALSE = 0.02


@dataclass(frozen=True)
class Rates:
    """`found`: the share of texts with a value of high severity that were stopped; `false`: of the others."""

    found: float
    false: float


def rates(texts: Iterable[Labelled], stopped: Iterable[bool]) -> Rates:
    """What share was stopped of those that should be, and of those that should not."""
    told = [(bool(text.kinds & HIGH_SEVERITY), stop) for text, stop in zip(texts, stopped, strict=True)]
    grave = [stop for is_grave, stop in told if is_grave]
    mild = [stop for is_grave, stop in told if not is_grave]
    return Rates(sum(grave) / len(grave), sum(mild) / len(mild))


def spilled(texts: Iterable[Labelled], stored: Iterable[str]) -> list[str]:
    """The texts of which a value of high severity stands in what was stored of them, though something was taken out."""
    return [
        text.text
        for text, kept in zip(texts, stored, strict=True)
        if "removed]" in kept and any(kind in HIGH_SEVERITY and text.text[a:b] in kept for kind, a, b in text.spots)
    ]


def through_the_api(caller: Caller, texts: Iterable[Labelled]) -> list[bool]:
    """Whether each was refused as a fact."""
    statuses = [caller.post("memories/", {"text": text.text}).status for text in texts]
    assert set(statuses) <= {200, 201, 422}
    return [status == 422 for status in statuses]


def through_the_chat(browser: Client, texts: Iterable[Labelled]) -> list[bool]:
    """Whether something of high severity was taken out of each message."""
    turn_ids = []
    for text in texts:
        turn_ids.append(uuid.uuid4())
        answer = browser.post(reverse("chat:begin"), {"message": text.text, "turn_id": str(turn_ids[-1])})
        assert answer.status_code == 302
    stored = Message.objects.filter(role="user").order_by("created_at").values_list("sensitivity", flat=True)
    return [_grave(marks) for marks in stored]


def through_an_import_of_memories(principal: Principal, texts: Iterable[Labelled]) -> list[bool]:
    """Whether each was left out."""
    lines = [{"kind": "semantic", "text": text.text} for text in texts]
    records = [parse_memory(line, place=str(number)) for number, line in enumerate(lines)]
    left_out = {each.place for each in import_memories(principal, records).left_out}
    return [record.place in left_out for record in records]


def through_an_import_of_a_conversation(principal: Principal, texts: Iterable[Labelled]) -> list[bool]:
    """Whether something of high severity was taken out of each turn."""
    began = datetime(2026, 3, 1, tzinfo=UTC)
    turns = [
        ConversationTurn(str(number), str(number), text.text, began + timedelta(minutes=number))
        for number, text in enumerate(texts)
    ]
    import_sessions(principal, [ConversationSession("s", tuple(turns))], source="jsonl")
    return [_grave(marks) for marks in Episode.objects.order_by("sequence").values_list("sensitivity", flat=True)]


def _grave(marks: dict[str, Any]) -> bool:
    return any(kind in HIGH_SEVERITY for kind in marks)

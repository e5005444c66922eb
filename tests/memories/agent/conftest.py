"""What the tests of the agent share: a recall and a model that do as they are told."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.utils import timezone

from memories.agent.events import Event, TextDelta, TurnFailed, TurnStarted
from memories.llm.base import ChatMessage, Finished, Output, StopReason, TextPiece, ToolCall, ToolSchema
from memories.models import ForgetProposal, Message, ProposalState, RecallTrace
from memories.selectors.sessions import TurnView, transcript
from memories.services.erasure.proposals import confirm, finish_due
from memories.types import Kind, Recall, Recalled, Scope, Status
from tenants.principal import Principal

SAID_AT = datetime(2026, 3, 3, 9, 30, tzinfo=UTC)


def recalled(text: str, kind: Kind = Kind.SEMANTIC, *, memory_id: UUID | None = None, **columns: Any) -> Recalled:
    """A recalled memory."""
    values: dict[str, Any] = {"score": 1.0, "since": SAID_AT, "status": Status.ACTIVE, "scope": Scope.USER}
    return Recalled(kind=kind, id=memory_id or uuid4(), text=text, **values | columns)


@dataclass
class FakeRecall:
    """Answers every recall with `items`, or those of its types; keeps what it was asked."""

    items: list[Recalled] = field(default_factory=list)
    by_types: dict[tuple[Kind, ...], list[Recalled]] = field(default_factory=dict)
    degraded: bool = False
    asked: list[dict[str, Any]] = field(default_factory=list)

    def keep(self, principal: Principal, query: str, **options: Any) -> SimpleNamespace:
        """`recall_and_keep`."""
        return SimpleNamespace(answer=self(principal, query, **options))

    def among(self, principal: Principal, ran: SimpleNamespace, kinds: tuple[Kind, ...], **options: Any) -> Recall:
        """`recall_among`."""
        return self(principal, ran.answer.query, types=kinds, **options)

    def __call__(self, principal: Principal, query: str, **options: Any) -> Recall:
        self.asked.append({"query": query, **options})
        trace = RecallTrace.objects.create(tenant_id=principal.tenant_id, user_id=principal.user_id, query=query)
        items = self.by_types.get(options.get("types", ()), self.items)
        return Recall(trace.pk, query, tuple(items), self.degraded, 1.0, options.get("as_of"))


@pytest.fixture
def remembered(monkeypatch: pytest.MonkeyPatch) -> FakeRecall:
    """The recall of the agent's tools, as a fake."""
    fake = FakeRecall()
    monkeypatch.setattr("memories.agent.tools.recall_and_keep", fake.keep)
    monkeypatch.setattr("memories.agent.tools.recall_among", fake.among)
    return fake


Reply = Sequence[Output] | Callable[[Sequence[ChatMessage]], Sequence[Output]]


class ScriptedModel:
    """A model that gives the next reply of its script (the last one again at the end) and keeps what it was sent."""

    name = "scripted"
    offline = False

    def __init__(self, *script: Reply) -> None:
        self.script = script
        self.sent: list[list[ChatMessage]] = []
        self.may_call: list[bool] = []

    def stream(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolSchema], *, may_call_tools: bool
    ) -> Generator[Output]:
        """Answer, whatever the tools."""
        assert tools
        self.sent.append(list(messages))
        self.may_call.append(may_call_tools)
        reply = self.script[min(len(self.sent), len(self.script)) - 1]
        yield from reply(messages) if callable(reply) else reply


def say(*pieces: str) -> list[Output]:
    """A whole answer."""
    return [*(TextPiece(piece) for piece in pieces), Finished(StopReason.DONE)]


def call(tool: str, /, **arguments: Any) -> list[Output]:
    """One tool call."""
    return [ToolCall(tool, json.dumps(arguments, default=str)), Finished(StopReason.TOOL_CALLS)]


def dispose(principal: Principal) -> None:
    """Do what the member does: press Delete on each card, and let the time to undo pass."""
    own = ForgetProposal.objects.of(principal)
    for proposal in own.filter(state=ProposalState.PROPOSED):
        confirm(principal, proposal.pk)
    own.filter(state=ProposalState.CONFIRMED).update(erase_at=timezone.now())
    finish_due()


def text_of(events: Sequence[Event] | Iterator[Event]) -> str:
    """The streamed answer."""
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def only_turn(principal: Principal) -> TurnView:
    (message,) = Message.objects.of(principal).filter(step=0)
    (view,) = transcript(principal, message.session_id)
    return view


def failure(events: Sequence[Event]) -> TurnFailed:
    """The one failure, which comes last."""
    (failed,) = (event for event in events if isinstance(event, TurnFailed))
    assert events[-1] is failed
    return failed


def started_of(events: Sequence[Event]) -> TurnStarted:
    """What a turn began with."""
    started = events[0]
    assert isinstance(started, TurnStarted)
    return started

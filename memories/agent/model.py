"""Chooses the answering model: the configured one, else the rule set's responder, else `OfflineResponder`."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Sequence
from typing import Protocol, runtime_checkable
from uuid import UUID

from django.conf import settings

from memories.agent.tool_schemas import WRITE
from memories.consolidation.rules import rules
from memories.llm import endpoint, endpoint_at
from memories.llm.base import ChatMessage, ChatModel, Finished, Output, StopReason, TextPiece, ToolSchema
from memories.selectors.policies import Policy, policy_of
from memories.selectors.upstreams import has_model, model_of_tenant
from memories.types import Kind
from memories.words import words
from tenants.principal import Principal

NO_MODEL = "No language model is configured, so I can't answer."
SAVED = "What you said is saved."
RECALLED = "Recalled by its words:"
_LONGEST_QUOTE = 300
_MOST_QUOTES = 3
_PIECE = re.compile(r"\S+\s*|\s+")


@runtime_checkable
class MemberResponder(Protocol):
    """A responder that reads the member's facts itself, and says beforehand whether it needs a recall."""

    def bound(self, principal: Principal, session_id: UUID) -> ChatModel:
        """Return the responder for one turn."""
        ...

    def looks_up(self, text: str) -> bool:
        """Whether the answer to `text` may need a recall."""
        ...

    def sources(self) -> Sequence[tuple[Kind, UUID]]:
        """The memories that the answer streamed last was made from, as (kind, id)."""
        ...

    def told(self, answer: str) -> Sequence[tuple[Kind, UUID]]:
        """The memories that it looked up itself and that `answer` may repeat, as (kind, id)."""
        ...


class OfflineResponder:
    """Says that no model is configured, and quotes recalled memories that share a word with the message."""

    name = "offline responder"
    offline = True

    def stream(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[ToolSchema],
        *,
        may_call_tools: bool,  # noqa: ARG002 - it calls none
    ) -> Generator[Output]:
        """Answer `messages`; see ChatModel."""
        latest = max((place for place, message in enumerate(messages) if message["role"] == "user"), default=-1)
        asked = set(words(str(messages[latest]["content"]))) if latest >= 0 else set()
        quotes = [f"- {text}" for text in _recalled(messages[latest + 1 :]) if asked & set(words(text))]
        stores = any(tool["function"]["name"] == WRITE for tool in tools)  # not offered while nothing is stored
        said = f"{NO_MODEL} {SAVED}" if stores else NO_MODEL
        answer = "\n".join([said, RECALLED, *quotes[:_MOST_QUOTES]] if quotes else [said])
        for piece in _PIECE.findall(answer):
            yield TextPiece(piece)
        yield Finished(StopReason.DONE)


def _recalled(messages: Sequence[ChatMessage]) -> list[str]:
    """The distinct texts of the memories in these tool results, best first. Retracted ones are left out."""
    results = [json.loads(str(message["content"])) for message in messages if message["role"] == "tool"]
    items = [item for result in results for item in result.get("memories", ()) if not item.get("never_true")]
    texts = (" ".join(str(item.get("text") or item.get("title") or "").split()) for item in items)
    return list(dict.fromkeys(text[:_LONGEST_QUOTE] for text in texts if text))


def chat_model_of(tenant_id: UUID, policy: Policy) -> ChatModel:
    """The model that the tenant connected, else `chat_model`. Raises Conflict if the stored key cannot be read."""
    own = model_of_tenant(tenant_id, policy.upstreams)
    return chat_model() if own is None else endpoint_at(own.name, own.upstream)


def answers_offline(tenant_id: UUID) -> bool:
    """Whether neither the tenant nor the installation has a model for the chat."""
    return not has_model(policy_of(tenant_id).upstreams) and chat_model().offline


def chat_model() -> ChatModel:
    """The model of `MEMORYHUB_MODEL`, else the responder of `MEMORYHUB_RULES`, else `OfflineResponder`."""
    if settings.MEMORYHUB_MODEL:
        return endpoint(settings.MEMORYHUB_MODEL)
    known = rules()
    return OfflineResponder() if known is None else known.responder()

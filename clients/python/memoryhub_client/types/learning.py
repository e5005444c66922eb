"""Recorded messages, contexts, operations, consolidations and reviews."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypedDict

from memoryhub_client.types.memories import ExternalRecord, Memory, Recalled

Role = Literal["user", "assistant", "tool"]
Learn = Literal["background", "now", "off"]


class _NewMessage(TypedDict):
    role: Role
    content: str


class NewMessage(_NewMessage, total=False):
    """A message to record. `id` is yours: the message is stored once in its session; `name` is who speaks."""

    name: str
    at: datetime | str
    id: str


class _NewConversation(TypedDict):
    messages: Sequence[NewMessage]


class NewConversation(_NewConversation, total=False):
    """An entry of a batch: what `messages` takes. `user_id` is for a backend key: the user whose messages these are."""

    session: str
    learn: Literal["background", "off"]
    app: str
    user_id: str


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What became of one thing that was found in what was said."""

    what: str
    verdict: str
    reason: str
    memory_id: str | None
    superseded_ids: list[str]
    episode_ids: list[str]


@dataclass(frozen=True, kw_only=True)
class Operation:
    """Learning that was asked for."""

    id: str
    state: str
    session_id: str | None
    episode_ids: list[str]
    decisions: list[Decision]
    run_ids: list[str]
    error: str
    retry_at: datetime | None
    created_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class OperationDetail(Operation):
    """An operation with the memories that its decisions stored, as they are now."""

    memories: list[Memory]


@dataclass(frozen=True, kw_only=True)
class ProfileFact:
    """A fact that is worth knowing whatever is asked."""

    id: str
    text: str
    key: str
    pinned: bool
    since: datetime


@dataclass(frozen=True, kw_only=True)
class Context:
    """A block of memories for a prompt: `text` of about `tokens` tokens, and `instructions` for the model."""

    text: str
    tokens: int
    items: list[Recalled]
    profile: list[ProfileFact]
    instructions: str
    degraded: bool
    trace_id: str
    external: list[ExternalRecord] = field(default_factory=list)

    @property
    def prompt(self) -> str:
        """`instructions` and `text`, for the end of a system prompt; empty if nothing was found."""
        return f"{self.instructions}\n\n{self.text}" if self.items or self.profile or self.external else ""


@dataclass(frozen=True, kw_only=True)
class RecordedMessage:
    """A message as stored. `created` is False if it was stored before."""

    message_id: str
    id: str | None
    role: Role
    turn: int
    episode_id: str | None
    created: bool
    masked: list[str]


@dataclass(frozen=True, kw_only=True)
class Messages:
    """Stored messages. `operation` is None if there is nothing to learn."""

    session_id: str
    session: str | None
    messages: list[RecordedMessage]
    operation: OperationDetail | None
    context: Context | None


@dataclass(frozen=True, kw_only=True)
class ConversationResult:
    """What became of an entry: `status` as of a single call, with its `answer`, or from 400 on the `problem`."""

    status: int
    answer: Messages | None
    problem: dict[str, Any] | None


@dataclass(frozen=True, kw_only=True)
class MessagesBatch:
    """A result for each entry, in their order."""

    stored: int
    refused: int
    results: list[ConversationResult]


@dataclass(frozen=True, kw_only=True)
class Run:
    """One consolidation run over a batch of episodes."""

    id: str
    state: str
    trigger: str
    extractor: str
    given_up: bool
    rerun_of: str | None
    episodes: list[str]
    decisions: list[Decision]
    error: str
    input_tokens: int
    output_tokens: int
    cost: str | None
    started_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class Consolidated:
    """The result of a consolidation; `waiting` episodes are left."""

    runs: list[str]
    episodes: int
    decisions: dict[str, int]
    given_up: int
    waiting: int
    error: str


@dataclass(frozen=True, kw_only=True)
class Review:
    """A question about one or two memories, for a person; `proposed` is the text of a correction."""

    id: str
    kind: str
    reason: str
    proposed: str
    evidence: dict[str, Any]
    memories: list[Memory]
    decision: str
    decided_at: datetime | None
    created_at: datetime

"""Sessions, transcripts, turns and working memory."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from memoryhub_client.types.events import ForgetProposed, MemoriesRetired, MemoryWritten, Notice
from memoryhub_client.types.memories import Kind, Recalled, WriteResult

Importance = Literal["normal", "important", "critical"]


@dataclass(frozen=True, kw_only=True)
class Session:
    """A conversation. `external_id` is the caller's own id of it."""

    id: str
    title: str
    created_at: datetime
    last_turn_at: datetime
    expires_at: datetime | None
    external_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Mention:
    """A memory that a step received, wrote, replaced or erased. `text` is None once it is forgotten."""

    relation: str
    kind: Kind
    id: str
    text: str | None
    reasons: list[str]


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    """A tool call of the agent."""

    id: str
    name: str
    arguments: Any


@dataclass(frozen=True, kw_only=True)
class Step:
    """A step before an answer: tool calls and their results."""

    id: str
    role: str
    state: str
    text: str
    tool_calls: list[ToolCall]
    tool_call_id: str
    recall_id: str | None
    degraded: bool
    memories: list[Mention]


@dataclass(frozen=True, kw_only=True)
class Turn:
    """A user's message, the agent's steps, and its answer."""

    turn: int
    message_id: str
    episode_id: str | None
    speaker: str
    message: str
    sensitivity: dict[str, str]
    state: str
    said_at: datetime
    steps: list[Step]
    answer_id: str | None
    answer: str
    answer_state: str | None
    error: str
    took_ms: float | None


@dataclass(frozen=True, kw_only=True)
class Transcript(Session):
    """A session with its latest turns, oldest first. `earlier` is the `before` of the turns before them."""

    turns: list[Turn]
    earlier: int | None


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A turn with its whole answer."""

    session_id: str
    turn: int
    message_id: str
    episode_id: str | None
    masked: list[str]
    message: str | None
    answer_id: str
    answer: str
    state: str
    took_ms: float
    recalled: list[Recalled]
    written: list[MemoryWritten]
    retired: list[MemoriesRetired]
    forget_proposals: list[ForgetProposed]
    notices: list[Notice]


@dataclass(frozen=True, kw_only=True)
class Noted:
    """Text in a slot of the working memory."""

    text: str
    importance: Importance
    turn: int


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The plan; the first `done` steps are complete."""

    steps: list[str]
    done: int
    current: str
    next: str


@dataclass(frozen=True, kw_only=True)
class WorkingMemory:
    """The agent's working memory in a session."""

    goal: str
    plan: Plan
    constraints: list[Noted]
    observations: list[Noted]
    scratchpad: list[str]


@dataclass(frozen=True, kw_only=True)
class Found:
    """A search hit in a session."""

    part: str
    turn: int
    text: str
    at: datetime
    importance: Importance
    memory_id: str | None


@dataclass(frozen=True, kw_only=True)
class Proposed:
    """What became of a memory that the end of a session proposed."""

    result: WriteResult
    kind: Kind
    id: str | None


@dataclass(frozen=True, kw_only=True)
class Ended:
    """The end of a task or session."""

    ended_at: datetime
    proposed: list[Proposed]

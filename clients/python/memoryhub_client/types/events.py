"""Events of a turn while it is answered. A stream skips types that this version does not know."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Union

from memoryhub_client.types.memories import Kind, ListedMemory, Recalled, WriteResult


@dataclass(frozen=True, kw_only=True)
class TurnStarted:
    """The user's message is stored. `masked` are kinds of values that were taken out; `text` is then what is left."""

    type: Literal["turn_started"]
    session_id: str
    turn: int
    message_id: str
    episode_id: str | None
    masked: list[str] = field(default_factory=list)
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """What the agent does now."""

    type: Literal["stage"]
    doing: Literal["recalling", "thinking", "writing"]


@dataclass(frozen=True, kw_only=True)
class Notice:
    """How this answer came to be, such as without a model."""

    kind: str
    text: str
    type: Literal["notice"] = "notice"


@dataclass(frozen=True, kw_only=True)
class MemoriesRecalled:
    """Memories reached the agent, automatically or because it asked."""

    type: Literal["memories_recalled"]
    automatic: bool
    trace_id: str
    query: str
    degraded: bool
    took_ms: float
    items: list[Recalled]


@dataclass(frozen=True, kw_only=True)
class TextDelta:
    """The next piece of the answer."""

    type: Literal["text_delta"]
    text: str


@dataclass(frozen=True, kw_only=True)
class ReplacedMemory:
    """A memory that was superseded or retired."""

    id: str
    text: str


@dataclass(frozen=True, kw_only=True)
class MemoryWritten:
    """The agent wrote a memory, or was refused (`result`)."""

    result: WriteResult
    kind: Kind
    id: str
    key: str
    text: str
    reason: str
    superseded: list[ReplacedMemory]
    type: Literal["memory_written"] = "memory_written"


@dataclass(frozen=True, kw_only=True)
class MemoriesRetired:
    """Memories ended without a successor; `harsh`: they never were true."""

    kind: Kind
    harsh: bool
    ended: list[ReplacedMemory]
    type: Literal["memories_retired"] = "memories_retired"


@dataclass(frozen=True, kw_only=True)
class ForgetProposed:
    """The agent proposes to forget; the member decides."""

    proposal_id: str
    goes: list[ListedMemory]
    stays: list[ListedMemory]
    also: list[str]
    type: Literal["forget_proposed"] = "forget_proposed"


@dataclass(frozen=True, kw_only=True)
class TaskChanged:
    """The plan of the session changed."""

    type: Literal["task_changed"]
    goal: str
    steps: int
    done: int
    current: str
    finished: bool


@dataclass(frozen=True, kw_only=True)
class TurnFinished:
    """The answer is whole, or was cut off. `text` is the stored answer, where something was masked in it."""

    type: Literal["turn_finished"]
    message_id: str
    state: str
    took_ms: float
    used: int
    wrote: int
    replaced: int
    masked: list[str] = field(default_factory=list)
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class TurnFailed:
    """There is no whole answer. If `retryable`, the turn can be sent again with `retry=True`."""

    type: Literal["turn_failed"]
    message: str
    retryable: bool


Event = Union[  # noqa: UP007 - read at run time, also by Python 3.10
    TurnStarted,
    Stage,
    Notice,
    MemoriesRecalled,
    TextDelta,
    MemoryWritten,
    MemoriesRetired,
    ForgetProposed,
    TaskChanged,
    TurnFinished,
    TurnFailed,
]

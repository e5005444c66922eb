"""What happens while a turn is answered, as values: the loop yields them, the chat page and the API send them on.

Invariant: a turn begins with one TurnStarted and ends with one TurnFinished or one TurnFailed, unless it was closed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from memories.models import MessageState
from memories.types import Kind, Recall, WriteOutcome


class Doing(StrEnum):
    """What the agent is busy with, named while the user waits."""

    RECALLING = "recalling"
    THINKING = "thinking"
    WRITING = "writing"


class NoticeKind(StrEnum):
    """What the user should know about how this answer is made."""

    OFFLINE = "offline"
    DEGRADED = "degraded"
    CLOSED = "closed"
    ERASED = "erased"
    MASKED = "masked"


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """What the user said is stored. `episode_id` is None once that episode was forgotten.

    `masked` are the kinds of values that were taken out of it; `text` is then what was stored, to be shown instead.
    """

    session_id: UUID
    turn: int
    message_id: UUID
    episode_id: UUID | None
    masked: tuple[str, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class Stage:
    """The agent begins to do something."""

    doing: Doing


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence about this turn: no model, no search, or none for this member; what was erased or masked."""

    kind: NoticeKind
    text: str


@dataclass(frozen=True, slots=True)
class MemoriesRecalled:
    """Memories went into the prompt: by themselves (`automatic`) or because the agent asked."""

    recall: Recall
    automatic: bool


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class MemoryWritten:
    """The agent wrote a memory (or was refused: see `outcome.result`); `superseded` are the (id, text) it replaced."""

    outcome: WriteOutcome
    text: str
    key: str = ""
    superseded: tuple[tuple[UUID, str], ...] = ()


@dataclass(frozen=True, slots=True)
class MemoriesRetired:
    """The agent ended memories with nothing in their place: the (id, text); `harsh` says that they never were true."""

    kind: Kind
    ended: tuple[tuple[UUID, str], ...]
    harsh: bool


@dataclass(frozen=True, slots=True)
class MemoryForgotten:
    """The agent erased memories for good: the one it was asked to (`text`, shown once more), and what went with it."""

    kind: Kind
    memory_id: UUID
    text: str
    erased: tuple[tuple[Kind, UUID], ...]


@dataclass(frozen=True, slots=True)
class TaskChanged:
    """The task of the session was set, went on, or was `finished`: the first `done` of its `steps` are done."""

    goal: str
    steps: int = 0
    done: int = 0
    current: str = ""
    finished: bool = False


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """The answer is stored. Counts of distinct memories: used in the prompt, written, replaced.

    `masked` are the kinds of values that the model had put into it; `text` is then what was stored, without them.
    """

    message_id: UUID
    state: MessageState
    took_ms: float
    used: int
    wrote: int
    replaced: int
    masked: tuple[str, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class TurnFailed:
    """No whole answer: why, in a sentence for the user. What was said and what was streamed is stored."""

    message: str
    retryable: bool


Event = (
    TurnStarted
    | Stage
    | Notice
    | MemoriesRecalled
    | TextDelta
    | MemoryWritten
    | MemoriesRetired
    | MemoryForgotten
    | TaskChanged
    | TurnFinished
    | TurnFailed
)

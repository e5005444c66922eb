"""A memory as one row of the inspector: its words, its state, what took its place, and where more of it is shown.

Invariant: a row is made from what the selectors of one principal gave; it holds no model, and templates query nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from hashlib import blake2s
from uuid import UUID

from django.utils import timezone

from memories.admin.members.page import Looking
from memories.hygiene.sensitivity.telling import short, with_article
from memories.models import CatalogEntry, Episode, Fact, Playbook
from memories.presenting.lines import headline
from memories.selectors.memories import Memory, memories_by_id
from memories.selectors.staff.index_state import unindexed
from memories.selectors.staff.inspecting import times_recalled
from memories.types import Handling, Kind, Scope, SensitiveKind, Status

_QUIET = ("uses", "waiting")


@dataclass(frozen=True, slots=True)
class Link:
    """Another memory, named in a row."""

    text: str
    url: str


@dataclass(frozen=True, slots=True)
class Flag:
    """A kind of sensitive value that the words have, or had: in a word, and in a sentence."""

    word: str
    hint: str


@dataclass(frozen=True, slots=True)
class Row:
    """One memory. `at` is when it happened or was learned, `until` when it stopped being believed.

    `waiting`: the index does not have its latest state yet. `uses`: how often it was recalled.
    """

    kind: Kind
    id: UUID
    text: str
    url: str
    status: Status
    at: datetime
    scope: Scope
    task: str = ""
    until: datetime | None = None
    retracted: bool = False
    expired: bool = False
    successor: Link | None = None
    flags: tuple[Flag, ...] = ()
    waiting: bool = False
    uses: int = 0
    speaker: str = ""
    context: str = ""
    session_id: UUID | None = None
    turn: int | None = None
    key: str = ""
    category: str = ""
    confidence: float | None = None
    pinned: bool = False
    trigger: str = ""
    steps: tuple[str, ...] = ()
    successes: int = 0
    attempts: int = 0
    body: str = ""
    restored: bool = False

    @property
    def print(self) -> str:
        """Another one when the memory is; that it was used, or reached the index, is shown and not spoken of."""
        shown = [getattr(self, each.name) for each in fields(self) if each.name not in _QUIET]
        return blake2s(repr(shown).encode(), digest_size=6).hexdigest()


def rows_of(looking: Looking, memories: Sequence[Memory]) -> tuple[Row, ...]:
    """The rows of these memories in their order; up to four queries, however many there are."""
    successors = _successors(looking, memories)
    ids = [memory.pk for memory in memories]
    waiting = unindexed(looking.principal, ids) if ids else frozenset()
    counted = [memory.pk for memory in memories if not isinstance(memory, Fact)]
    recalled = times_recalled(looking.principal, counted) if counted else {}
    return tuple(
        _row(
            looking,
            memory,
            successor=successors.get(getattr(memory, "superseded_by_id", None)),
            waiting=memory.pk in waiting,
            uses=memory.use_count if isinstance(memory, Fact) else recalled.get(memory.pk, 0),
        )
        for memory in memories
    )


def record_url(looking: Looking, memory_id: UUID) -> str:
    """The page of one memory under this member."""
    return looking.url("record", memory_id)


def flags_of(memory: Memory) -> tuple[Flag, ...]:
    """What its words hold, or held before it was stored."""
    return tuple(_flag(SensitiveKind(kind), becomes) for kind, becomes in sorted(memory.sensitivity.items()))


def _flag(kind: SensitiveKind, becomes: str) -> Flag:
    noun = with_article(kind)
    if becomes == Handling.MASK:
        return Flag(f"{short(kind)} removed", f"It had {noun}, which was taken out before it was stored.")
    return Flag(short(kind), f"It holds {noun}.")


def _successors(looking: Looking, memories: Iterable[Memory]) -> dict[UUID | None, Link]:
    ids: dict[Kind, set[UUID]] = {Kind.SEMANTIC: set(), Kind.PROCEDURAL: set()}
    for memory in memories:
        if isinstance(memory, Fact | Playbook) and memory.superseded_by_id:
            ids[memory.kind].add(memory.superseded_by_id)
    found = memories_by_id(looking.principal, ids)
    return {pk: Link(headline(memory), record_url(looking, pk)) for pk, memory in found.items()}


def _row(looking: Looking, memory: Memory, *, successor: Link | None, waiting: bool, uses: int) -> Row:
    common = {
        "kind": memory.kind,
        "id": memory.pk,
        "text": headline(memory),
        "url": record_url(looking, memory.pk),
        "status": Status(memory.status),
        "scope": Scope(memory.scope),
        "task": memory.task or "",
        "flags": flags_of(memory),
        "waiting": waiting,
        "uses": uses,
    }
    match memory:
        case Episode():
            return Row(**common, **_of_episode(memory))  # type: ignore[arg-type]  # names and types of Row
        case Fact():
            return Row(**common, successor=successor, **_of_fact(memory))  # type: ignore[arg-type]  # as above
        case Playbook():
            return Row(**common, successor=successor, **_of_playbook(memory))  # type: ignore[arg-type]  # as above
        case CatalogEntry():
            return Row(**common, at=memory.created_at, body=memory.text)  # type: ignore[arg-type]  # as above


def _of_episode(episode: Episode) -> dict[str, object]:
    return {
        "at": episode.happened_at,
        "speaker": episode.speaker,
        "context": episode.context,
        "session_id": episode.session_id,
        "turn": getattr(episode, "turn", None),
    }


def _of_fact(fact: Fact) -> dict[str, object]:
    return _of_either(fact) | {
        "key": fact.key,
        "confidence": fact.confidence,
        "pinned": fact.pinned,
        "expired": fact.expires_at is not None and fact.expires_at <= timezone.now(),
    }


def _of_playbook(playbook: Playbook) -> dict[str, object]:
    return _of_either(playbook) | {
        "trigger": playbook.trigger,
        "steps": tuple(playbook.steps),
        "successes": playbook.success_count,
        "attempts": playbook.success_count + playbook.failure_count,
        "body": playbook.text,
    }


def _of_either(memory: Fact | Playbook) -> dict[str, object]:
    return {
        "at": memory.learned_at,
        "until": memory.superseded_at,
        "retracted": memory.retracted,
        "category": memory.category,
        "restored": memory.restores is not None,
    }

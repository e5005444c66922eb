"""Memories, writes, recalls, histories and erasures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Union

Kind = Literal["semantic", "episodic", "procedural", "catalog"]
Status = Literal["active", "stale", "superseded", "evicted"]
Scope = Literal["user", "task", "tenant", "global"]
Contradiction = Literal["natural", "harsh"]
WriteResult = Literal["created", "merged", "superseded", "blocked", "queued_for_review"]
# A tree such as {"field": "metadata.trip.to", "op": "eq", "value": "Lisbon"}, joined by "and", "or" and "not".
Filters = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class _Memory:
    id: str
    text: str
    status: Status
    scope: Scope
    task: str | None
    sensitivity: dict[str, str]
    created_at: datetime
    updated_at: datetime
    metadata: dict[str, Any] = field(default_factory=dict)
    app: str = ""


@dataclass(frozen=True, kw_only=True)
class _Supersedable(_Memory):
    category: str
    learned_at: datetime
    superseded_at: datetime | None
    archived_at: datetime | None
    evicted_at: datetime | None
    superseded_by: str | None
    contradiction: str
    retracted: bool


@dataclass(frozen=True, kw_only=True)
class Fact(_Supersedable):
    """A fact about the owner."""

    kind: Literal["semantic"]
    key: str
    confidence: float
    source: str
    pinned: bool
    valid_from: datetime | None
    valid_to: datetime | None
    use_count: int
    last_used_at: datetime | None
    last_verified_at: datetime | None
    review_after: datetime | None
    expires_at: datetime | None
    supporting_episode_ids: list[str]


@dataclass(frozen=True, kw_only=True)
class Playbook(_Supersedable):
    """A procedure that works: its trigger and its steps."""

    kind: Literal["procedural"]
    title: str
    trigger: str
    steps: list[str]
    success_count: int
    failure_count: int
    last_success_at: datetime | None
    last_failure_at: datetime | None
    proposed: bool


@dataclass(frozen=True, kw_only=True)
class Episode(_Memory):
    """A speaker's words, verbatim."""

    kind: Literal["episodic"]
    session_id: str
    sequence: int
    speaker: str
    context: str
    happened_at: datetime


@dataclass(frozen=True, kw_only=True)
class CatalogEntry(_Memory):
    """Knowledge shared within the tenant or with all tenants."""

    kind: Literal["catalog"]
    title: str
    source_url: str


Memory = Union[Fact, Episode, Playbook, CatalogEntry]  # noqa: UP007 - read at run time, also by Python 3.10


@dataclass(frozen=True, kw_only=True)
class Written:
    """The result of a write, and the memory's current state."""

    result: WriteResult
    memory_id: str
    superseded_ids: list[str]
    reason: str
    memory: Memory


@dataclass(frozen=True, kw_only=True)
class ChainLink:
    """One state of a fact or playbook."""

    id: str
    kind: Kind
    text: str
    status: Status
    since: datetime
    until: datetime | None
    valid_from: datetime | None
    valid_to: datetime | None
    contradiction: Contradiction | None
    retracted: bool
    confidence: float | None
    superseded_by: str | None
    restores: str | None


@dataclass(frozen=True, kw_only=True)
class Chain:
    """All states of a memory, oldest first; empty for kinds that have none."""

    links: list[ChainLink]


@dataclass(frozen=True, kw_only=True)
class Recalled:
    """A recalled memory. `signals` are the parts of its score, if the recall was asked to explain."""

    rank: int
    kind: Kind
    id: str
    text: str
    title: str
    key: str
    speaker: str
    since: datetime | None
    until: datetime | None
    status: Status
    scope: Scope
    session_id: str | None
    superseded_by: str | None
    retracted: bool
    confidence: float | None
    trigger: str
    steps: list[str]
    success_count: int
    failure_count: int
    proposed: bool
    reasons: list[str]
    score: float | None = None
    signals: dict[str, float] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    app: str = ""


@dataclass(frozen=True, kw_only=True)
class ExternalRecord:
    """A hit in an index of the tenant's own, which `source` names: quoted knowledge, and no memory."""

    source: str
    title: str
    text: str
    url: str


@dataclass(frozen=True, kw_only=True)
class Recall:
    """Recalled memories, best first. `degraded`: not everything could be searched, so better ones may be missing."""

    trace_id: str
    query: str
    degraded: bool
    took_ms: float
    as_of: datetime | None
    items: list[Recalled]
    external: list[ExternalRecord] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class ListedMemory:
    """A memory that a proposal lists."""

    kind: Kind
    id: str
    text: str


@dataclass(frozen=True, kw_only=True)
class ForgetProposal:
    """A proposal to forget: `goes` would be erased, `stays` was learned from the same words, `also` is in them."""

    id: str
    session_id: str | None
    turn: int
    state: str
    created_at: datetime
    decided_at: datetime | None
    erase_at: datetime | None
    goes: list[ListedMemory]
    stays: list[ListedMemory]
    also: list[str]


@dataclass(frozen=True, kw_only=True)
class ErasedMemory:
    """A memory that no longer exists."""

    kind: Kind
    id: str


@dataclass(frozen=True, kw_only=True)
class Forgotten:
    """What an erasure removed."""

    erased: list[ErasedMemory]
    redacted_messages: int

"""Many memories at once: batches, imports, erasing all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypedDict

from memoryhub_client.types.accounts import MemoriesErased
from memoryhub_client.types.learning import Operation
from memoryhub_client.types.memories import Contradiction, Kind, Scope, WriteResult

ExportFormat = Literal["memoryhub", "mem0", "zep", "letta", "langgraph", "chatgpt"]


@dataclass(frozen=True, kw_only=True)
class ForgottenAll(MemoriesErased):
    """What was erased, or with `dry_run` what would be, by kind; `confirm` is then the token that erases it."""

    dry_run: bool
    kinds: dict[str, int]
    confirm: str | None
    confirm_until: datetime | None


class NewMemory(TypedDict, total=False):
    """An entry of a batch: the fields that `write` and its siblings take, with its `kind` (`semantic`).

    `user_id` is for a backend key: the user whose memory it is.
    """

    kind: Kind
    text: str
    title: str
    key: str
    category: str
    source: str
    confidence: float
    valid_from: datetime | str
    valid_to: datetime | str
    learned_at: datetime | str
    happened_at: datetime | str
    review_after: datetime | str
    expires_at: datetime | str
    pinned: bool
    scope: Scope
    task: str
    steps: Sequence[str]
    trigger: str
    success_count: int
    failure_count: int
    last_success_at: datetime | str
    last_failure_at: datetime | str
    session_id: str
    role: Literal["user"]
    name: str
    context: str
    source_url: str
    supporting_episode_ids: Sequence[str]
    supersedes_ids: Sequence[str]
    contradiction: Contradiction
    metadata: Mapping[str, Any]
    app: str
    reason: str
    user_id: str


@dataclass(frozen=True, kw_only=True)
class BatchResult:
    """What became of an entry: `status` as of a single write, and from 400 on the `problem`."""

    status: int
    id: str | None
    result: WriteResult | None
    superseded_ids: list[str]
    reason: str
    problem: dict[str, Any] | None


@dataclass(frozen=True, kw_only=True)
class Batch:
    """A result for each entry, in their order."""

    stored: int
    refused: int
    results: list[BatchResult]


@dataclass(frozen=True, kw_only=True)
class RefusedEntry:
    """An entry of a file that is not imported."""

    place: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Example:
    """A memory that would be stored."""

    kind: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Imported:
    """What was imported, or with `dry_run` would be; `operation` is the learning from new conversations."""

    format: ExportFormat
    dry_run: bool
    complete: bool
    sessions: int
    messages: int
    added: dict[str, int]
    merged: int
    known: int
    forgotten: int
    masked: int
    refused_count: int
    refused: list[RefusedEntry]
    examples: list[Example]
    operation: Operation | None

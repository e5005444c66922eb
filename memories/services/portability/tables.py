"""The tables of an export: which columns of which rows. What is made for the search plane alone is left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Model

from memories.models import (
    ConsolidationRun,
    Episode,
    Fact,
    Mention,
    Message,
    Playbook,
    RecallTrace,
    ReviewItem,
    Session,
    SessionEntry,
)
from memoryhub.archive import ArchiveFile
from memoryhub.tables import Table, TableFormat, as_file

_ROWS_AT_ONCE = 500

_MEMORY = ("id", "scope", "task", "text", "status", "sensitivity", "version", "created_at", "updated_at")
_SUCCEEDING = (
    "learned_at", "superseded_by_id", "superseded_at", "contradiction", "retracted", "restores", "promoted_from",
    "archived_at", "evicted_at", "evicted_from", "staleness",
)  # fmt: skip
EPISODE_COLUMNS = (*_MEMORY, "session_id", "sequence", "speaker", "context", "happened_at", "ordinal")
FACT_COLUMNS = (
    *_MEMORY, "key", "category", "confidence", "source", "pinned", "valid_from", "valid_to", *_SUCCEEDING, "use_count",
    "last_used_at", "last_verified_at", "review_after", "expires_at",
)  # fmt: skip
PLAYBOOK_COLUMNS = (
    *_MEMORY, "title", "trigger", "steps", "category", *_SUCCEEDING, "success_count", "failure_count",
    "last_success_at", "last_failure_at",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Source:
    """A table and where its rows are. `exact`: another file has these rows in JSON Lines already."""

    name: str
    model: type[Model]
    columns: Sequence[str]
    order: Sequence[str]
    exact: bool = False

    def table(self, **only: object) -> Table:
        """The rows with these values."""
        return Table(self.name, self.columns, self._rows(only))

    def _rows(self, only: dict[str, object]) -> Iterator[tuple[Any, ...]]:
        rows = self.model._default_manager.filter(**only).order_by(*self.order).values_list(*self.columns)
        return rows.iterator(chunk_size=_ROWS_AT_ONCE)


OF_A_MEMBER: tuple[Source, ...] = (
    Source("episodes", Episode, EPISODE_COLUMNS, ("ordinal",), exact=True),
    Source("facts", Fact, FACT_COLUMNS, ("learned_at", "id"), exact=True),
    Source("how_tos", Playbook, PLAYBOOK_COLUMNS, ("learned_at", "id"), exact=True),
    Source(
        "sessions", Session,
        ("id", "title", "working_memory", "created_at", "last_turn_at", "expires_at", "ended_at", "expired_at"),
        ("created_at", "id"),
    ),
    Source(
        "session_notes", SessionEntry,
        ("id", "session_id", "turn", "place", "kind", "importance", "text", "memory_id", "created_at"),
        ("session_id", "place"),
    ),
    Source(
        "transcript", Message,
        ("id", "session_id", "turn", "step", "role", "state", "speaker", "text", "tool_calls", "tool_call_id",
         "recall_id", "degraded", "sensitivity", "memory_tokens", "error", "took_ms", "created_at"),
        ("session_id", "turn", "step"),
    ),
    Source(
        "uses", Mention,
        ("message_id", "relation", "kind", "memory_id", "position", "used", "reasons"),
        ("id",),
    ),
    Source(
        "recalls", RecallTrace,
        ("id", "session_id", "query", "parameters", "returned", "degraded", "took_ms", "created_at"),
        ("created_at", "id"),
    ),
    Source(
        "reviews", ReviewItem,
        ("id", "kind", "first_id", "second_id", "playbook_id", "reason", "evidence", "decision", "outcome",
         "decided_by_id", "decided_at", "created_at"),
        ("created_at", "id"),
    ),
    Source(
        "runs", ConsolidationRun,
        ("id", "state", "trigger", "extractor", "rerun_of_id", "first_ordinal", "last_ordinal", "given_up", "input",
         "decisions", "error", "input_tokens", "output_tokens", "cost", "started_at", "ended_at"),
        ("started_at", "id"),
    ),
)  # fmt: skip


def files_of(sources: Sequence[Source], forms: Sequence[TableFormat], **only: object) -> Iterator[ArchiveFile]:
    """Each table in each form that is asked for."""
    for source in sources:
        for form in forms:
            if not (source.exact and form is TableFormat.JSON_LINES):
                yield as_file(source.table(**only), form)

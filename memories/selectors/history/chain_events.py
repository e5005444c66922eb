"""The audit log's view of rows: folds the events of each row, in order, into the state that they imply.

Only events in the audit log of the row's owner count, or of its tenant for shared rows. Payloads are erased with their
row, so a row that is there although a payload of its events is gone is a fault.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from memories.hygiene.text import content_hash
from memories.selectors.history.chain_checks import RecordedEnding, RowState
from memories.selectors.history.listing import NOUN
from memories.selectors.history.rows import (
    PAYLOAD_IS_GONE,
    WORDS,
    EventPlace,
    Record,
    UnreadableRow,
    differing,
    each_row,
    version_of,
)
from memories.types import Kind, Status
from tenants.models import AuditEvent, said_in

# These actions do not change the row.
_LEAVES_IT = frozenset({"promoted", "kept", "read", "exported", "forgotten", "erased"})
# The event of an end records these columns even if they do not change.
_OF_AN_ENDING = frozenset({"contradiction", "retracted", "superseded_at", "valid_to"})
_CLOSING = ("superseded", "retired", "retracted")
# The start of a problem's sentence, and the verbs of the events that record it.
_RECORDED_BY: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("has other words", ("created",)),
    ("says the same", ("created",)),
    ("has the key", ("created", "merged")),
    ("brings back", ("restored",)),
    ("was promoted", ("created",)),
    ("is evicted", ("evicted",)),
    ("would return", ("evicted",)),
    ("was archived", ("archived",)),
)
_COLUMNS = (
    "id", "target_id", "tenant_id", "owner_id", "chain", "sequence", "action", "created_at", "payload__document",
)  # fmt: skip


@dataclass(slots=True)
class RecordedRow:
    """The state of one row according to its events.

    `events` holds the latest event of each verb, in order. `lost` is the latest event without a payload. `record` is
    the row after the latest change, None if unknown; `began` is the first event of that record, and `since` maps a
    column to the event that set its present value.
    """

    events: dict[str, EventPlace] = field(default_factory=dict)
    ending: RecordedEnding | None = None
    closed: bool = False
    written: str | None = None
    record: Record | None = None
    began: EventPlace | None = None
    since: dict[str, EventPlace] = field(default_factory=dict)
    lost: EventPlace | None = None

    @property
    def latest(self) -> EventPlace | None:
        """The latest event that changed the row."""
        return next(reversed(self.events.values()), None)

    def by(self, column: str) -> EventPlace | None:
        """The event that set the recorded value of a column."""
        ended = self.since.get("status") if column in _OF_AN_ENDING else None
        return self.since.get(column) or ended or self.began or self.latest

    def recording(self, problem: str) -> EventPlace | None:
        """The latest event related to the problem; otherwise the latest event on the row."""
        verbs = next((verbs for beginning, verbs in _RECORDED_BY if problem.startswith(beginning)), _CLOSING)
        return next((place for verb, place in reversed(self.events.items()) if verb in verbs), self.latest)


def recorded_rows(kind: Kind, rows: Mapping[UUID, RowState], ids: Collection[UUID]) -> dict[UUID, RecordedRow]:
    """The recorded state of these rows; one statement. A row without an entry has no event.

    For ids that are not in `rows`, because the row cannot be read, only the positions of events are filled in.
    """
    recorded: dict[UUID, RecordedRow] = {}
    events = AuditEvent.objects.filter(target_id__in=ids, action__startswith=f"{NOUN[kind]}.")
    for values in each_row(events.order_by("created_at", "sequence"), _COLUMNS):
        # The verification of the audit log reports unreadable events; here they prove nothing.
        if isinstance(values, UnreadableRow):
            continue
        event_id, target, tenant_id, owner_id, chain, sequence, action, created_at, document = values
        row, by, verb = rows.get(target), EventPlace(chain, sequence, event_id), action.partition(".")[2]
        if row is not None and (row.tenant_id not in (None, tenant_id) or row.user_id not in (None, owner_id)):
            continue
        folded = recorded.setdefault(target, RecordedRow())
        if row is not None:
            _fold(folded, kind, row, verb, document, created_at, by)
        if verb not in _LEAVES_IT:
            folded.events.pop(verb, None)
            folded.events[verb] = by
    return recorded


def _fold(
    folded: RecordedRow, kind: Kind, row: RowState, verb: str, document: Any, created_at: datetime, by: EventPlace
) -> None:
    """Add one event to the folded state."""
    said = said_in(document)
    after: Mapping[str, Any] = said["after"] or {}
    if document is None:
        folded.lost = by
    if verb in ("superseded", "retired"):
        folded.ending = RecordedEnding(document is not None, id_in(after, "superseded_by"), created_at)
        folded.closed = True
    elif verb == "revived":
        folded.closed = False
    elif verb == "created":
        folded.written = _written_hash(kind, row, after)
    if verb in _LEAVES_IT:
        return
    record: Record | None = said["row"]
    if record is None or folded.record is None:  # an erased record leaves the state unknown
        folded.record, folded.began, folded.since = record, by, {}
    elif version_of(record) >= version_of(folded.record):  # else the clocks differ and this event came first
        for name in folded.record.keys() | record.keys():
            if folded.record.get(name) != record.get(name):
                folded.since[name] = by
        folded.record = record


def deviations(recorded: RecordedRow, row: RowState, stands: Record) -> Iterator[tuple[str, EventPlace | None]]:
    """The problems of a row that differs from its events, each with the event that set the recorded value."""
    if recorded.lost:
        yield PAYLOAD_IS_GONE, recorded.lost
    if "created" not in recorded.events:
        yield "was written without an audit event", None
    if row.superseded_at is not None and recorded.ending is None:
        return  # the unrecorded end is reported elsewhere, and no event gives the right values
    if row.status == Status.EVICTED and "evicted" not in recorded.events:
        yield "was evicted without an audit event", recorded.latest
    elif recorded.record is not None:
        for name in differing(stands, recorded.record):
            column = name.removesuffix("_id").replace("_", " ")
            other = "other words" if name in ("wording", "words") else f"another {column}"
            yield f"has {other} than the audit tells of", recorded.by(name)


def id_in(after: Mapping[str, Any], name: str) -> UUID | None:
    """An id in the `after` of a payload; None if it is missing or malformed."""
    try:
        return UUID(str(after[name]))
    except (KeyError, ValueError):
        return None


def _written_hash(kind: Kind, row: RowState, after: Mapping[str, Any]) -> str | None:
    """The recorded hash of a member's row when it was created; None if the audit log no longer has the text."""
    words = [after.get(name) for name in WORDS[kind]]
    steps = words.pop() if kind is Kind.PROCEDURAL else []
    if row.user_id is None or None in words or not isinstance(steps, list):
        return None
    return content_hash(*map(str, words), *map(str, steps))

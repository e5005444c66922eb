"""What the audit log says of rows: the events of each row in order, folded to the state that they imply.

Only events in a chain of the row's own owner count (of its tenant, for what is shared). An erased payload proves
nothing and is no fault.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils.dateparse import parse_datetime

from memories.hygiene.text import content_hash
from memories.selectors.history.chain_checks import RecordedEnding, RowState
from memories.selectors.history.listing import NOUN
from memories.selectors.history.rows import WORDS, EventPlace, Record, UnreadableRow, differing, each_row, version_of
from memories.types import Kind, Status
from tenants.models import AuditEvent
from tenants.models.audit import said_in

_CLOSING = ("superseded", "retired")
# What is done to a memory and leaves it as it was.
_LEAVES_IT = frozenset({"promoted", "kept", "read", "exported", "forgotten", "erased"})
# What the event of an ending tells, also where it leaves it as it was.
_OF_AN_ENDING = frozenset({"contradiction", "retracted", "superseded_at", "valid_to"})
_IMPORTED = "imported"
# What events of long ago tell of a row: always, and unless an import set it.
_TOLD_EARLY, _TOLD_UNLESS_IMPORTED = ("learned_at", "key", "valid_from"), ("valid_to", "contradiction")
_COLUMNS = (
    "id", "target_id", "tenant_id", "owner_id", "chain", "sequence", "action", "created_at", "payload__document",
)  # fmt: skip


@dataclass(slots=True)
class RecordedRow:
    """What the events of one row say of it.

    `record` is the row after the latest change (None: unknown), `began` the first event of that record, `since` the
    event that set the present value of a column. `early` is what events without a record say.
    """

    ending: RecordedEnding | None = None
    closed: bool = False
    written: str | None = None
    created: bool = False
    evicted: bool = False
    imported: bool = False
    restores: UUID | None = None
    record: Record | None = None
    began: EventPlace | None = None
    since: dict[str, EventPlace] = field(default_factory=dict)
    early: dict[str, Any] = field(default_factory=dict)
    latest: EventPlace | None = None

    def by(self, column: str) -> EventPlace | None:
        """The event that set the recorded value of a column."""
        ended = self.since.get("status") if column in _OF_AN_ENDING else None
        return self.since.get(column) or ended or self.began or self.latest


def recorded_rows(kind: Kind, rows: Mapping[UUID, RowState], ids: Collection[UUID]) -> dict[UUID, RecordedRow]:
    """What the audit log says of these rows; one statement. A row without an entry has no event at all."""
    recorded: dict[UUID, RecordedRow] = {}
    events = AuditEvent.objects.filter(target_id__in=ids, action__startswith=f"{NOUN[kind]}.")
    for values in each_row(events.order_by("created_at", "sequence"), _COLUMNS):
        # The verification of the audit log finds an unreadable event; here it proves nothing.
        if isinstance(values, UnreadableRow):
            continue
        event_id, target, tenant_id, owner_id, chain, sequence, action, created_at, document = values
        row = rows.get(target)
        if row is not None and row.tenant_id in (None, tenant_id) and row.user_id in (None, owner_id):
            by = EventPlace(chain, sequence, event_id)
            folded = recorded.setdefault(target, RecordedRow())
            _fold(folded, kind, row, action.partition(".")[2], document, created_at, by)
    return recorded


def _fold(
    told: RecordedRow, kind: Kind, row: RowState, verb: str, document: Any, created_at: datetime, by: EventPlace
) -> None:
    """One event more."""
    said = said_in(document)
    after: Mapping[str, Any] = said["after"] or {}
    if verb in _CLOSING:
        told.ending, told.closed = RecordedEnding(document is not None, id_in(after, "superseded_by"), created_at), True
    elif verb == "revived":
        told.closed = False
    elif verb == "created":
        told.created, told.imported = True, said["reason"] == _IMPORTED
        told.written = _hash_told(kind, row, after)
    elif verb == "evicted":
        told.evicted = True
    elif verb == "restored":
        told.restores = id_in(after, "restores")
    if verb not in _LEAVES_IT:
        _stand(told, said, by)
        told.latest = by


def _stand(told: RecordedRow, said: Mapping[str, Any], by: EventPlace) -> None:
    """The row as it was after an event; an event whose record was taken out leaves it open."""
    record: Record | None = said["row"]
    if record is None:
        told.record = None
        _remember_early(told, said, by)
    elif told.record is None:
        told.record, told.began, told.since = record, by, {}
    elif version_of(record) >= version_of(told.record):  # else two clocks differ, and it was before that one
        for name in told.record.keys() | record.keys():
            if told.record.get(name) != record.get(name):
                told.since[name] = by
        told.record = record


def _remember_early(told: RecordedRow, said: Mapping[str, Any], by: EventPlace) -> None:
    # The oldest events of an ending hold the row after it under `before`.
    snapshot = {**(said["before"] or {}), **(said["after"] or {})}
    if "learned_at" not in snapshot:
        return
    for name in (*_TOLD_EARLY, *_TOLD_UNLESS_IMPORTED):
        if name in snapshot and (name not in told.since or told.early.get(name) != snapshot[name]):
            told.early[name], told.since[name] = snapshot[name], by


def deviations(told: RecordedRow, row: RowState, stands: Record) -> Iterator[tuple[str, EventPlace | None]]:
    """The columns in which a row differs from its events, each with the event that set it."""
    if not told.created:
        yield "was written without an audit event", None
    if row.superseded_at is not None and told.ending is None:
        return  # that it ended is a fault of its own, and nothing tells how it ought to be
    if row.status == Status.EVICTED and not told.evicted:
        yield "was evicted without an audit event", told.latest
    if told.record is not None:
        for name in differing(stands, told.record):
            yield _another(name), told.by(name)
        return
    if told.restores is not None and row.restores != told.restores:
        yield _another("restores"), told.latest
    names = _TOLD_EARLY if told.imported else (*_TOLD_EARLY, *_TOLD_UNLESS_IMPORTED)
    for name in names:
        if name in told.early and not _same(stands.get(name), told.early[name]):
            yield _another(name), told.by(name)


def _another(column: str) -> str:
    return f"has another {column.removesuffix('_id').replace('_', ' ')} than the audit tells of"


def _same(now: Any, told: Any) -> bool:
    """Whether a column is as an event of long ago tells, which wrote times as they came."""
    if now and told and str(now) != str(told):
        try:
            return parse_datetime(str(now)) == parse_datetime(str(told)) is not None
        except ValueError:
            return False
    return (now or "") == (told or "")


def id_in(after: Mapping[str, Any], name: str) -> UUID | None:
    """An id in the `after` of a payload; None if it is not there, or if somebody made it unreadable."""
    try:
        return UUID(str(after[name]))
    except (KeyError, ValueError):
        return None


def _hash_told(kind: Kind, row: RowState, after: Mapping[str, Any]) -> str | None:
    """The hash of the words with which a member's row was written, where the audit log still has them."""
    words = [after.get(name) for name in WORDS[kind]]
    steps = words.pop() if kind is Kind.PROCEDURAL else []
    if row.user_id is None or None in words or not isinstance(steps, list):
        return None
    return content_hash(*map(str, words), *map(str, steps))

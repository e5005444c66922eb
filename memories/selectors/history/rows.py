"""Reads facts and playbooks for the chain verification: their states, audit records, and unreadable rows.

A record holds the plain values of a row that an audit event keeps; it omits empty columns. Equal rows give equal
records. Of the words it holds a keyed digest (`wording`), because the events of a shared row outlive it, and because
`content_hash`, by which equal memories are found, is the same for many texts. A row that cannot be
read, because somebody changed the database outside the program, is a fault and must not hide other faults.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby, islice
from operator import attrgetter
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db.models import BinaryField, CharField, Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Cast

from memories.hygiene.text import content_hash
from memories.models import CHAINED_MODELS, MEMORY_MODELS, ErasureRequest, MessageState
from memories.models.base import MemoryQuerySet, MemoryRow
from memories.models.erasure import OPEN_ERASURES
from memories.selectors.history.chain_checks import RowState
from memories.selectors.history.listing import NOUN
from memories.types import Kind, Owner
from memoryhub.signing.keyed import keyed_digest
from tenants.audit.digests import canonical_json
from tenants.models import AuditEvent, said_in

Record = Mapping[str, Any]

_COMMON = (
    "id", "user_id", "scope", "task", "content_hash", "category", "sensitivity", "version", "created_at", "status",
    "learned_at", "superseded_at", "superseded_by_id", "contradiction", "retracted", "restores", "promoted_from",
    "archived_at", "evicted_at", "evicted_from", "app", "metadata",
)  # fmt: skip
RECORDED: Mapping[Kind, tuple[str, ...]] = {
    Kind.SEMANTIC: (
        *_COMMON, "key", "confidence", "source", "pinned", "valid_from", "valid_to", "last_verified_at", "review_after",
        "expires_at",
    ),
    Kind.PROCEDURAL: (*_COMMON, "success_count", "failure_count", "last_success_at", "last_failure_at", "proposed"),
}  # fmt: skip
"""The columns that a record is made of, by kind."""

WORDS: Mapping[Kind, tuple[str, ...]] = {
    Kind.SEMANTIC: ("text",),
    Kind.PROCEDURAL: ("title", "trigger", "text", "steps"),
    Kind.EPISODIC: ("text", "context", "speaker", "happened_at"),
    Kind.CATALOG: ("title", "text", "source_url"),
    Kind.ITEM: ("namespace", "key", "value"),
}
"""The columns that a reader reads; of kinds without chains, a record is made of these and the attributes alone."""

# The digest covers the words, and the chain of a row's events identifies its owner.
_ELSEWHERE = frozenset({"id", "user_id", "content_hash", "metadata", *WORDS[Kind.PROCEDURAL]})
_NAMED = ("task", "key", "category")
_WORDING = "wording"


def record_of(row: MemoryRow) -> dict[str, Any]:
    """The record of a row that was loaded with all columns and has been saved."""
    if row.kind not in CHAINED_MODELS:
        columns = {name: getattr(row, name) for name in _UNCHAINED[row.kind]}
        return {_WORDING: wording_digest(columns, _unchained(row.kind, columns))}
    return record_from(row.kind, {name: getattr(row, name) for name in (*RECORDED[row.kind], *WORDS[row.kind])})


# Their record is one digest. Earlier versions had no attributes, so empty ones are left out.
_ATTRIBUTES = ("app", "metadata")
_UNCHAINED = {kind: ("id", *WORDS[kind], *_ATTRIBUTES) for kind in (Kind.EPISODIC, Kind.CATALOG, Kind.ITEM)}


def _unchained(kind: Kind, columns: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns of the digest of a row without a chain."""
    return ("id", *WORDS[kind], *(name for name in _ATTRIBUTES if columns[name]))


def wording_digest(columns: Mapping[str, Any], names: Sequence[str], *, like: str = "") -> str:
    """The keyed digest of these columns, with the key of `like`. Another digest if that key is not configured."""
    values = [columns.get(name) or "" for name in names]
    # SQL may have stored bytes; these give a different digest, not an error.
    return keyed_digest(_WORDING, canonical_json([str(v) if isinstance(v, bytes) else v for v in values]), like=like)


def records_of(kind: Kind, ids: Collection[UUID]) -> dict[UUID, dict[str, Any]]:
    """The present records of rows in the database, by id."""
    model = CHAINED_MODELS[kind]
    rows = model.objects.unscoped("rows by ids under the lock").filter(pk__in=ids)
    return {row["id"]: record_from(kind, row) for row in rows.values(*RECORDED[kind], *WORDS[kind])}


def record_from(kind: Kind, columns: Mapping[str, Any], *, like: Record | None = None) -> dict[str, Any]:
    """The record of a row from its `RECORDED` columns and its words; with the digests that `like` has, if given."""
    shared = columns["user_id"] is None
    left_out = _ELSEWHERE.union(_NAMED) if shared else _ELSEWHERE
    record = {name: _plain(value) for name, value in columns.items() if value and name not in left_out}
    if like is None or _WORDING in like:
        names = ("id", *WORDS[kind], *(_NAMED if shared else ()))
        record[_WORDING] = wording_digest(columns, names, like=str(like[_WORDING]) if like else "")
        if columns["metadata"]:  # for the events of a shared row outlive it
            key = str(like.get("metadata", "")) if like else ""
            record["metadata"] = wording_digest(columns, ("id", "metadata"), like=key)
    elif shared:  # as recorded before digests were keyed
        words = [str(columns["id"]), *(columns.get(name) or "" for name in ("content_hash", "key", "category"))]
        record["words"] = hashlib.sha256(canonical_json(words).encode()).hexdigest()
    return record


def differing(now: Record, recorded: Record) -> Iterator[str]:
    """The columns in which a row differs from its record.

    The successor is ignored, because an erasure may have redirected it. A version counts only if it is lower than
    recorded.
    """
    for name in sorted((now.keys() | recorded.keys()) - {"superseded_by_id", "version"}):
        if now.get(name) != recorded.get(name):
            yield name
    # Redirecting a link raises the version without an event, but no change ever lowers it.
    if version_of(now) < version_of(recorded):
        yield "version"


def version_of(record: Record) -> int:
    """The version of the row that a record describes; 0 if missing."""
    version = record.get("version")
    return version if isinstance(version, int) else 0


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    if isinstance(value, str):  # a row that was just written holds members of an enumeration
        return str(value)
    return str(value) if isinstance(value, UUID) else value


AT_ONCE = 500
# Errors that Django raises for a value that does not fit its column.
READING_FAILS = (ValueError, TypeError, AttributeError, OverflowError, ValidationError)
CANNOT_BE_READ = "cannot be read"
PAYLOAD_IS_GONE = "is there although the payload of its event is gone"

_STATE_COLUMNS = (
    "id", "tenant_id", "user_id", "scope", "task", "content_hash", "status", "learned_at", "superseded_at",
    "superseded_by_id", "contradiction", "retracted", "restores", "promoted_from", "archived_at", "evicted_at",
    "evicted_from", "app",
)  # fmt: skip
_CALLED = {Kind.SEMANTIC: "fact", Kind.PROCEDURAL: "how-to"}


@dataclass(frozen=True, slots=True)
class UnreadableRow:
    """A row with a value that does not fit its column; `id` or `owner` is None if it cannot be read itself."""

    id: UUID | None
    owner: Owner | None = None


def each_row(rows: QuerySet[Any, Any], names: Sequence[str]) -> Iterator[tuple[Any, ...] | UnreadableRow]:
    """Yield these columns of each row; after the first unreadable row, read the rest one by one.

    `names` must begin with an id.
    """
    required = [place for place, name in enumerate(names) if not _may_be_null(rows.model, name)]
    rows = rows if rows.query.order_by else rows.order_by("pk")
    seen = 0
    try:
        for values in rows.values_list(*names).iterator(chunk_size=AT_ONCE):
            # A driver returns None for a malformed time.
            lost = any(values[place] is None for place in required)
            yield UnreadableRow(values[0]) if lost else values
            seen += 1
    except READING_FAILS:
        for pk in rows.values_list(Cast("pk", CharField()), flat=True)[seen:]:
            try:
                values = rows.values_list(*names).get(pk=pk)
            except READING_FAILS:
                yield UnreadableRow(_id(pk))
                continue
            yield UnreadableRow(_id(pk)) if any(values[place] is None for place in required) else values


def _every(kind: Kind) -> MemoryQuerySet[Any]:
    rows: MemoryQuerySet[Any] = MEMORY_MODELS[kind].objects.unscoped("proof of every chain").all()
    return rows


def states(kind: Kind, *, ordered_by: Sequence[str] = ("pk",), **only: object) -> Iterator[RowState | UnreadableRow]:
    """The rows of a kind without their text, which is hashed."""
    columns = (*_STATE_COLUMNS, "key") if kind is Kind.SEMANTIC else _STATE_COLUMNS
    rows = _every(kind).filter(**only).order_by(*ordered_by)
    for values in each_row(rows, (*columns, *WORDS[kind])):
        if isinstance(values, UnreadableRow):
            yield UnreadableRow(values.id, owner_of_row(kind, values.id) if values.id else None)
            continue
        words = list(values[len(columns) :])
        steps = words.pop() if kind is Kind.PROCEDURAL else ()
        row = {"key": "", **dict(zip(columns, values, strict=False))}
        yield RowState(**row, rehashed=content_hash(*map(str, words), *map(str, steps)))


def states_by_owner(kind: Kind) -> Iterator[tuple[Owner | None, list[RowState | UnreadableRow]]]:
    """The rows grouped by owner; rows whose owner cannot be read come last under None."""
    ownerless: list[RowState | UnreadableRow] = []

    def owned() -> Iterator[RowState | UnreadableRow]:
        for row in states(kind, ordered_by=("tenant_id", "user_id", "pk")):
            if row.owner is None:
                ownerless.append(row)
            else:
                yield row

    for owner, group in groupby(owned(), key=attrgetter("owner")):
        yield owner, list(group)
    if ownerless:
        yield None, ownerless


def columns_of(kind: Kind, ids: Collection[UUID]) -> Iterator[dict[str, Any]]:
    """The recorded columns and the words of each of these rows that can be read."""
    names = (*RECORDED[kind], *WORDS[kind])
    for values in each_row(_every(kind).filter(pk__in=ids), names):
        if not isinstance(values, UnreadableRow):
            yield dict(zip(names, values, strict=True))


def unreadable_rows(tenant_id: UUID | None) -> list[str]:
    """A sentence for each unreadable row of a tenant (None: of the memory shared by all), for a page that failed."""
    sentences: list[str] = []
    for kind, model in CHAINED_MODELS.items():
        names = [field.attname for field in model._meta.concrete_fields if not isinstance(field, BinaryField)]
        for values in each_row(_every(kind).filter(Q(tenant_id=tenant_id)), names):
            if isinstance(values, UnreadableRow):
                sentences += [f"A {_CALLED[kind]} ({values.id or 'without an id'}) {CANNOT_BE_READ}."]
    return sentences


def owner_of_row(kind: Kind, memory_id: UUID) -> Owner | None:
    """The owner of a row whose other columns may be unreadable; None without a readable owner."""
    for values in each_row(_every(kind).filter(pk=memory_id), ("id", "tenant_id", "user_id")):
        return None if isinstance(values, UnreadableRow) else Owner(*values[1:])
    return None


def owners_of_memories() -> list[Owner]:
    """All owners of memories, sorted, including shared memory. For commands and daily jobs."""
    pairs: set[tuple[UUID | None, UUID | None]] = set()
    for kind in MEMORY_MODELS:
        try:
            pairs |= set(_every(kind).order_by().values_list("tenant_id", "user_id").distinct())
        except READING_FAILS:
            if kind not in CHAINED_MODELS:
                continue
            owners = (owner or Owner(None, None) for owner, _ in states_by_owner(kind))
            pairs |= {(owner.tenant_id, owner.user_id) for owner in owners}
    return [Owner(*pair) for pair in sorted(pairs, key=lambda pair: [str(part or "") for part in pair])]


def ownerless_rows(kind: Kind) -> list[UnreadableRow]:
    """Rows whose owner cannot be read; the verification of the memory shared by all tenants reports them."""
    try:
        list(_every(kind).order_by().values_list("tenant_id", "user_id").distinct())
    except READING_FAILS:
        found = each_row(_every(kind), ("id", "tenant_id", "user_id"))
        return [row for row in found if isinstance(row, UnreadableRow)]
    return []


@dataclass(frozen=True, slots=True)
class EventPlace:
    """The position of an audit event: its chain, its sequence number and its id."""

    chain: str
    sequence: int
    id: UUID


_MESSAGE = ("message_id", "message__text", "message__state")
NOUN_OF = {**NOUN, Kind.EPISODIC: "episode", Kind.CATALOG: "catalog", Kind.ITEM: "item"}
"""The beginning of the actions on a kind of memory in the audit log."""


@dataclass(frozen=True, slots=True)
class WordingFault:
    """A row without a chain that is not what its event recorded."""

    kind: Kind
    id: UUID | None
    problem: str
    event: EventPlace | None


def wording_faults(owner: Owner | None) -> Iterator[WordingFault]:
    """Compare the rows without chains of an owner (None: of all) with the events that record them.

    The events of earlier versions record no wording; such rows prove no more than that they are there. The message of
    an episode must have the episode's text, or none if it was redacted.
    """
    for kind in _UNCHAINED:
        rows = _every(kind)
        if owner is not None:
            rows = rows.filter(tenant_id=owner.tenant_id, user_id=owner.user_id)
        names = ("id", "tenant_id", "user_id", *_UNCHAINED[kind][1:], *(_MESSAGE if kind is Kind.EPISODIC else ()))
        each = each_row(rows, names)
        while some := list(islice(each, AT_ONCE)):
            unread = [row for row in some if isinstance(row, UnreadableRow)]
            yield from (WordingFault(kind, row.id, CANNOT_BE_READ, None) for row in unread)
            read = (row for row in some if not isinstance(row, UnreadableRow))
            yield from _wording_faults(kind, [dict(zip(names, values, strict=True)) for values in read])


# The events that record a row; the last one counts.
_RECORDING = {Kind.ITEM: ("created", "replaced", "restored", "deleted")}


def _wording_faults(kind: Kind, rows: Sequence[Mapping[str, Any]]) -> Iterator[WordingFault]:
    actions = [f"{NOUN_OF[kind]}.{verb}" for verb in _RECORDING.get(kind, ("created",))]
    wanted = AuditEvent.objects.filter(target_id__in=[row["id"] for row in rows], action__in=actions)
    names = ("id", "target_id", "tenant_id", "owner_id", "chain", "sequence", "payload__document")
    known: dict[UUID, list[tuple[Any, ...]]] = {}
    for values in each_row(wanted.order_by("sequence", "id"), names):
        if not isinstance(values, UnreadableRow):
            known.setdefault(values[1], []).append(values)
    for row in rows:
        own = [each for each in known.get(row["id"], ()) if each[2] == row["tenant_id"] or row["tenant_id"] is None]
        own = [each for each in own if row["user_id"] in (None, each[3])]
        if not own:
            yield WordingFault(kind, row["id"], "was written without an audit event", None)
            continue
        event_id, _, _, _, chain, sequence, document = own[-1]
        recorded = (said_in(document)["row"] or {}).get(_WORDING)
        if document is None:
            problem = PAYLOAD_IS_GONE
        elif recorded and wording_digest(row, _unchained(kind, row), like=str(recorded)) != recorded:
            problem = "has other words than the audit tells of"
        elif row.get("message_id") and row["message__text"] != ("" if _is_redacted(row) else row["text"]):
            problem = "has other words in the transcript"
        else:
            continue
        yield WordingFault(kind, row["id"], problem, EventPlace(chain, sequence, event_id))


def _is_redacted(row: Mapping[str, Any]) -> bool:
    return bool(row["message__state"] == MessageState.REDACTED)


# The id of a row, None if unreadable, and the problem.
Fault = tuple[UUID | None, str]


def vanished(chain: str = "") -> Iterator[tuple[Kind, UUID, EventPlace]]:
    """Rows that were created, no longer exist and were not erased, with the event that created them; one statement.

    Covers one chain, or all if empty. An event without a payload belongs to a member who was erased or is being erased.
    """
    actions = {f"{noun}.created": kind for kind, noun in NOUN_OF.items()}
    target = OuterRef("target_id")
    erasures = [f"{noun}.{verb}" for noun in NOUN_OF.values() for verb in ("forgotten", "erased", "expired")]
    begun = ErasureRequest.objects.filter(
        tenant=OuterRef("tenant_id"), membership__user=OuterRef("owner_id"), state__in=OPEN_ERASURES
    ).exclude(started_at=None)
    events = AuditEvent.objects.filter(
        ~Exists(AuditEvent.objects.filter(target_id=target, action__in=erasures)),
        *(~Exists(_every(kind).filter(pk=target)) for kind in MEMORY_MODELS),
        ~Exists(begun),
        action__in=actions,
        payload__isnull=False,
    )
    if chain:
        events = events.filter(chain=chain)
    names = ("id", "target_id", "chain", "sequence", "action")
    for values in each_row(events, names):
        if not isinstance(values, UnreadableRow):
            event_id, lost, of, sequence, action = values
            yield actions[action], lost, EventPlace(of, sequence, event_id)


def _may_be_null(model: Any, name: str) -> bool:
    """Whether a column may be null; always true for a column across a relation."""
    return "__" in name or bool(model._meta.get_field(name).null)


def _id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None

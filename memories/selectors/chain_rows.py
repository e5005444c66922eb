"""The rows that the proof of chains looks at, read with nothing taken for granted.

Invariant: words are hashed and let go; a row with a value that its column cannot have is told apart and hides no other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import BinaryField

from memories.hygiene.text import content_hash
from memories.models import CHAINED_MODELS
from memories.selectors.chain_checks import State
from memories.selectors.chain_record import RECORDED
from memories.selectors.chain_trail import AT_ONCE, WORDS
from memories.types import Kind
from memoryhub.as_stored import UNREADABLE, rows_as_stored

# Tenant and user; UNREADABLE where somebody made that of a row unreadable.
Whose = tuple[Any, Any]

OWNED = ("tenant_id", "user_id")
_COLUMNS = (
    "id", "tenant_id", "user_id", "scope", "task", "content_hash", "status", "learned_at", "superseded_at",
    "superseded_by_id", "contradiction", "retracted", "restores", "promoted_from", "archived_at", "evicted_at",
    "evicted_from",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Unread:
    """A row with values that its columns cannot have: what was read of its id and of whose it is, and what was not."""

    id: UUID | None
    whose: Whose
    problem: str
    place: int | None = None


def states_of(kind: Kind, whose: Whose) -> Iterator[State | Unread]:
    """All rows of an owner; with those that all share, also the rows of which nobody can read whose they are."""
    tenant_id, user_id = whose
    yield from states(kind, tenant_id=tenant_id, user_id=user_id)
    if tenant_id is None and user_id is None:
        names = ("id", *OWNED)
        for values, place in rows_as_stored(CHAINED_MODELS[kind].objects.order_by("pk"), names, chunk_size=AT_ONCE):
            if UNREADABLE in values[1:]:
                yield _unread(names, values, place)


def states(kind: Kind, *, ordered_by: Sequence[str] = ("pk",), **only: object) -> Iterator[State | Unread]:
    """The rows of a kind, one at a time."""
    columns = (*_COLUMNS, "key") if kind is Kind.SEMANTIC else _COLUMNS
    names = (*columns, *WORDS[kind])
    rows = CHAINED_MODELS[kind].objects.filter(**only).order_by(*ordered_by)
    for values, place in rows_as_stored(rows, names, chunk_size=AT_ONCE):
        if UNREADABLE in values:
            yield _unread(names, values, place)
            continue
        words = list(values[len(columns) :])
        steps: Iterable[object] = words.pop() if kind is Kind.PROCEDURAL else ()
        row = {"key": "", **dict(zip(columns, values, strict=False))}
        yield State(**row, rehashed=content_hash(*words, *map(str, steps)))


def columns_of(kind: Kind, ids: Collection[UUID]) -> Iterator[tuple[UUID, dict[str, Any], str]]:
    """What a record is made of, by the id of a row, and what cannot be read of all its columns; one statement."""
    recorded = RECORDED[kind]
    names = (*recorded, *(name for name in _readable(kind) if name not in recorded))
    rows = CHAINED_MODELS[kind].objects.filter(pk__in=ids)
    for values, place in rows_as_stored(rows, names, chunk_size=AT_ONCE):
        columns = dict(zip(recorded, values, strict=False))
        yield columns["id"], columns, _unread(names, values, place).problem if UNREADABLE in values else ""


def unread_rows(kind: Kind, **only: object) -> Iterator[Unread]:
    """Those of all rows that have what cannot be read in any column: where a page failed, and for nothing else."""
    names = _readable(kind)
    rows = CHAINED_MODELS[kind].objects.filter(**only).order_by()
    for values, place in rows_as_stored(rows, names, chunk_size=AT_ONCE):
        if UNREADABLE in values:
            yield _unread(names, values, place)


def _readable(kind: Kind) -> tuple[str, ...]:
    """Every column but those that hold bytes."""
    fields = CHAINED_MODELS[kind]._meta.concrete_fields
    return tuple(field.attname for field in fields if not isinstance(field, BinaryField))


def _unread(names: Sequence[str], values: Sequence[Any], place: int | None) -> Unread:
    """Which columns of a row cannot be read; a row without an id is called by its place in the table."""
    known = dict(zip(names, values, strict=True))
    bad = sorted(name.removesuffix("_id").replace("_", " ") for name in names if known[name] is UNREADABLE)
    lost = known["id"] is UNREADABLE
    where = f" (row {place} of its table)" if lost and place is not None else ""
    whose = (known.get("tenant_id"), known.get("user_id"))
    return Unread(
        None if lost else known["id"], whose, f"has what cannot be read as its {', '.join(bad)}{where}", place
    )

"""The rows that the proof of chains looks at, read with nothing taken for granted.

Invariant: words are hashed and let go; a row with a value that its column cannot have is told apart and hides no other.

Which audit event tells of a fault that the proof of chains found, and which tells of a row that is not there.

Invariant: only events in a chain of the row's own owner count (of its tenant, for what is shared); nothing here reads a
payload.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import BinaryField, Exists, OuterRef, Q

from memories.hygiene.text import content_hash
from memories.models import CHAINED_MODELS, ErasureRequest
from memories.models.erasure_request import OPEN_ERASURES
from memories.selectors.history.chain_checks import State
from memories.selectors.history.chain_events import AT_ONCE, NOUN, WORDS, ToldBy
from memories.selectors.history.row_record import RECORDED
from memories.types import Kind
from memoryhub.db.raw_rows import UNREADABLE, rows_as_stored
from tenants.models import AuditEvent

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
        for values, place in rows_as_stored(
            CHAINED_MODELS[kind].objects.unscoped("proof of every chain").order_by("pk"), names, chunk_size=AT_ONCE
        ):
            if UNREADABLE in values[1:]:
                yield _unread(names, values, place)


def states(kind: Kind, *, ordered_by: Sequence[str] = ("pk",), **only: object) -> Iterator[State | Unread]:
    """The rows of a kind, one at a time."""
    columns = (*_COLUMNS, "key") if kind is Kind.SEMANTIC else _COLUMNS
    names = (*columns, *WORDS[kind])
    rows = CHAINED_MODELS[kind].objects.unscoped("proof of every chain").filter(**only).order_by(*ordered_by)
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
    rows = CHAINED_MODELS[kind].objects.unscoped("proof of every chain").filter(pk__in=ids)
    for values, place in rows_as_stored(rows, names, chunk_size=AT_ONCE):
        columns = dict(zip(recorded, values, strict=False))
        yield columns["id"], columns, _unread(names, values, place).problem if UNREADABLE in values else ""


def unread_rows(kind: Kind, **only: object) -> Iterator[Unread]:
    """Those of all rows that have what cannot be read in any column: where a page failed, and for nothing else."""
    names = _readable(kind)
    rows = CHAINED_MODELS[kind].objects.unscoped("proof of every chain").filter(**only).order_by()
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


# Which row, if its id can be read, and what is wrong with it.
Fault = tuple[UUID | None, str]

_COLUMN_OF_FIELD = ("target_id", "tenant_id", "owner_id", "chain", "sequence", "id", "action")
_CLOSING_VERBS = ("superseded", "retired", "retracted")
# How a problem begins -> what the events do that tell of it.
_TOLD_IN: tuple[tuple[str, Sequence[str]], ...] = (
    ("has other words", ("created",)),
    ("says the same", ("created",)),
    ("has the key", ("created", "merged")),
    ("brings back", ("restored",)),
    ("was promoted", ("created",)),
    ("is evicted", ("evicted",)),
    ("would return", ("evicted",)),
    ("was archived", ("archived",)),
)
# That staff looked at a memory, or took its history along, tells nothing of what became of it.
_LOOKING = Q(action__endswith=".read") | Q(action__endswith=".exported")


def telling_events(owners: Mapping[UUID, Whose], faults: Collection[Fault]) -> dict[Fault, ToldBy]:
    """For each fault of a row the event that tells of it: the latest that did what is wrong, else the latest on it.

    Of a row of which nobody can read whose it is, anybody's.
    """
    events = _events({memory_id for memory_id, _ in faults if memory_id}, owners)
    found: dict[Fault, ToldBy] = {}
    for memory_id, problem in faults:
        told = events.get(memory_id, [])
        verbs = next((verbs for beginning, verbs in _TOLD_IN if problem.startswith(beginning)), _CLOSING_VERBS)
        telling = [event for verb, event in told if verb in verbs] or [event for _, event in told]
        if telling:
            found[memory_id, problem] = telling[-1]
    return found


def vanished(chain: str = "") -> Iterator[tuple[Kind, UUID, ToldBy]]:
    """Rows that were written, are not there, and that nobody erased, by the event of their writing; one statement.

    Of one chain, or of all. What says nothing any more is of a member who was erased, or is being erased.
    """
    actions = {f"{noun}.created": kind for kind, noun in NOUN.items()}
    target = OuterRef("target_id")
    erasures = [f"{noun}.{verb}" for noun in NOUN.values() for verb in ("forgotten", "erased")]
    begun = ErasureRequest.objects.filter(
        tenant=OuterRef("tenant_id"), membership__user=OuterRef("owner_id"), state__in=OPEN_ERASURES
    ).exclude(started_at=None)
    events = AuditEvent.objects.filter(
        ~Exists(AuditEvent.objects.filter(target_id=target, action__in=erasures)),
        *(
            ~Exists(model.objects.unscoped("proof of every chain").filter(pk=target))
            for model in CHAINED_MODELS.values()
        ),
        ~Exists(begun),
        action__in=actions,
        payload__isnull=False,
    )
    if chain:
        events = events.filter(chain=chain)
    for (lost, _, _, of, sequence, event_id, action), _ in rows_as_stored(events, _COLUMN_OF_FIELD, chunk_size=AT_ONCE):
        if UNREADABLE not in (lost, of, sequence, event_id, action):
            yield actions[action], lost, ToldBy(of, sequence, event_id)


def _events(ids: Collection[UUID], owners: Mapping[UUID, Whose]) -> dict[UUID | None, list[tuple[str, ToldBy]]]:
    """What was done to each of these rows, and the event that tells of it, in their order."""
    found: dict[UUID | None, list[tuple[str, ToldBy]]] = defaultdict(list)
    every = sorted(ids)
    for start in range(0, len(every), AT_ONCE):
        events = AuditEvent.objects.filter(target_id__in=every[start : start + AT_ONCE]).exclude(_LOOKING)
        told = rows_as_stored(events.order_by("created_at", "sequence"), _COLUMN_OF_FIELD, chunk_size=AT_ONCE)
        for (target, tenant_id, user_id, chain, sequence, event_id, action), _ in told:
            tenant, user = owners[target]
            if tenant not in (None, UNREADABLE, tenant_id) or user not in (None, UNREADABLE, user_id):
                continue
            if UNREADABLE not in (chain, sequence, event_id, action):
                found[target].append((action.rpartition(".")[2], ToldBy(chain, sequence, event_id)))
    return found

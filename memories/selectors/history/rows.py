"""Rows of memories and their audit events as the verification of chains reads them.

A row that cannot be read, because somebody changed the database past the program, is a fault and hides no other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db.models import BinaryField, CharField, Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Cast

from memories.hygiene.text import content_hash
from memories.models import CHAINED_MODELS, ErasureRequest
from memories.models.erasure import OPEN_ERASURES
from memories.selectors.history.chain_checks import RowState
from memories.selectors.history.listing import NOUN
from memories.selectors.history.row_record import RECORDED
from memories.types import Kind, Owner
from tenants.models import AuditEvent

AT_ONCE = 500  # SQLite bounds the variables of a statement; the least that builds allow is 999.
WORDS = {Kind.SEMANTIC: ("text",), Kind.PROCEDURAL: ("title", "trigger", "text", "steps")}
# What Django and its callers raise for a value that does not fit its column.
READING_FAILS = (ValueError, TypeError, AttributeError, OverflowError, ValidationError)
CANNOT_BE_READ = "cannot be read"

_STATE_COLUMNS = (
    "id", "tenant_id", "user_id", "scope", "task", "content_hash", "status", "learned_at", "superseded_at",
    "superseded_by_id", "contradiction", "retracted", "restores", "promoted_from", "archived_at", "evicted_at",
    "evicted_from",
)  # fmt: skip
_CALLED = {Kind.SEMANTIC: "fact", Kind.PROCEDURAL: "how-to"}


@dataclass(frozen=True, slots=True)
class UnreadableRow:
    """A row with a value that does not fit its column; `id` and `owner` are None where they are that value."""

    id: UUID | None
    owner: Owner | None = None


def each_row(rows: QuerySet[Any, Any], names: Sequence[str]) -> Iterator[tuple[Any, ...] | UnreadableRow]:
    """These columns of each row; after the first that cannot be read, the rest one by one. `names` begin with an id."""
    required = [place for place, name in enumerate(names) if not _may_be_null(rows.model, name)]
    rows = rows if rows.query.order_by else rows.order_by("pk")
    seen = 0
    try:
        for values in rows.values_list(*names).iterator(chunk_size=AT_ONCE):
            # A driver reads a malformed time as nothing.
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


def states(kind: Kind, *, ordered_by: Sequence[str] = ("pk",), **only: object) -> Iterator[RowState | UnreadableRow]:
    """The rows of a kind without their words, of which the hash is taken."""
    columns = (*_STATE_COLUMNS, "key") if kind is Kind.SEMANTIC else _STATE_COLUMNS
    rows = CHAINED_MODELS[kind].objects.unscoped("proof of every chain").filter(**only).order_by(*ordered_by)
    for values in each_row(rows, (*columns, *WORDS[kind])):
        if isinstance(values, UnreadableRow):
            yield UnreadableRow(values.id, owner_of_row(kind, values.id) if values.id else None)
            continue
        words = list(values[len(columns) :])
        steps = words.pop() if kind is Kind.PROCEDURAL else ()
        row = {"key": "", **dict(zip(columns, values, strict=False))}
        yield RowState(**row, rehashed=content_hash(*map(str, words), *map(str, steps)))


def states_by_owner(kind: Kind) -> Iterator[tuple[Owner | None, list[RowState | UnreadableRow]]]:
    """The rows of every owner; under None those whose owner cannot be read."""
    group: list[RowState | UnreadableRow] = []
    owner: Owner | None = None
    for row in states(kind, ordered_by=("tenant_id", "user_id", "pk")):
        whose = row.owner
        if whose is None:
            yield None, [row]
            continue
        if group and whose != owner:
            yield owner, group
            group = []
        owner = whose
        group.append(row)
    if group:
        yield owner, group


def columns_of(kind: Kind, ids: Collection[UUID]) -> Iterator[dict[str, Any]]:
    """The recorded columns of each of these rows that can be read."""
    for values in each_row(
        CHAINED_MODELS[kind].objects.unscoped("proof of every chain").filter(pk__in=ids), RECORDED[kind]
    ):
        if not isinstance(values, UnreadableRow):
            yield dict(zip(RECORDED[kind], values, strict=True))


def unreadable_rows(tenant_id: UUID | None) -> list[str]:
    """The rows of a tenant (None: of what all share) that cannot be read, a sentence each; for a page that failed."""
    sentences: list[str] = []
    for kind, model in CHAINED_MODELS.items():
        names = [field.attname for field in model._meta.concrete_fields if not isinstance(field, BinaryField)]
        for values in each_row(model.objects.unscoped("proof of every chain").filter(Q(tenant_id=tenant_id)), names):
            if isinstance(values, UnreadableRow):
                sentences += [f"A {_CALLED[kind]} ({values.id or 'without an id'}) {CANNOT_BE_READ}."]
    return sentences


def owner_of_row(kind: Kind, memory_id: UUID) -> Owner | None:
    """The owner of a row that may not be readable otherwise; None if that cannot be read either."""
    for values in each_row(
        CHAINED_MODELS[kind].objects.unscoped("proof of every chain").filter(pk=memory_id),
        ("id", "tenant_id", "user_id"),
    ):
        return None if isinstance(values, UnreadableRow) else Owner(*values[1:])
    return None


def owners_of_memories() -> list[Owner]:
    """Everybody who has a fact or a how-to, and whatever is shared, in a steady order. For commands and daily work."""
    pairs: set[tuple[UUID | None, UUID | None]] = set()
    for kind, model in CHAINED_MODELS.items():
        try:
            pairs |= set(
                model.objects.unscoped("proof of every chain").order_by().values_list("tenant_id", "user_id").distinct()
            )
        except READING_FAILS:
            owners = (owner or Owner(None, None) for owner, _ in states_by_owner(kind))
            pairs |= {(owner.tenant_id, owner.user_id) for owner in owners}
    return [Owner(*pair) for pair in sorted(pairs, key=lambda pair: [str(part or "") for part in pair])]


def ownerless_rows(kind: Kind) -> list[UnreadableRow]:
    """Rows whose owner cannot be read; the verification of what all tenants share reports them."""
    model = CHAINED_MODELS[kind]
    try:
        list(model.objects.unscoped("proof of every chain").order_by().values_list("tenant_id", "user_id").distinct())
    except READING_FAILS:
        found = each_row(model.objects.unscoped("proof of every chain").all(), ("id", "tenant_id", "user_id"))
        return [row for row in found if isinstance(row, UnreadableRow)]
    return []


@dataclass(frozen=True, slots=True)
class EventPlace:
    """An event of the audit log, by its chain, its number and its id."""

    chain: str
    sequence: int
    id: UUID


# A row, if its id can be read, and what is wrong with it.
Fault = tuple[UUID | None, str]

_CLOSING_VERBS = ("superseded", "retired", "retracted")
# How a problem begins, and the verbs of the events that record it.
_TOLD_BY: tuple[tuple[str, Sequence[str]], ...] = (
    ("has other words", ("created",)),
    ("says the same", ("created",)),
    ("has the key", ("created", "merged")),
    ("brings back", ("restored",)),
    ("was promoted", ("created",)),
    ("is evicted", ("evicted",)),
    ("would return", ("evicted",)),
    ("was archived", ("archived",)),
)
# Reads and exports by staff say nothing about the state of a memory.
_LOOKING = Q(action__endswith=".read") | Q(action__endswith=".exported")


def recording_events(owners: Mapping[UUID, RowState], faults: Collection[Fault]) -> dict[Fault, EventPlace]:
    """For each fault the audit event that records it: the latest that did what is wrong, else the latest on the row.

    Only events in a chain of the row's own owner count (of its tenant, for what is shared).
    """
    events = _events({memory_id for memory_id, _ in faults if memory_id}, owners)
    found: dict[Fault, EventPlace] = {}
    for memory_id, problem in faults:
        on_row = events.get(memory_id, [])
        verbs = next((verbs for beginning, verbs in _TOLD_BY if problem.startswith(beginning)), _CLOSING_VERBS)
        recording = [event for verb, event in on_row if verb in verbs] or [event for _, event in on_row]
        if recording:
            found[memory_id, problem] = recording[-1]
    return found


def vanished(chain: str = "") -> Iterator[tuple[Kind, UUID, EventPlace]]:
    """Rows that were written, no longer exist and were not erased, by the event of their writing; one statement.

    Of one chain, or of all. An event without a payload belongs to a member who was erased or is being erased.
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
    names = ("id", "target_id", "chain", "sequence", "action")
    for values in each_row(events, names):
        if not isinstance(values, UnreadableRow):
            event_id, lost, of, sequence, action = values
            yield actions[action], lost, EventPlace(of, sequence, event_id)


def _events(ids: Collection[UUID], owners: Mapping[UUID, RowState]) -> dict[UUID | None, list[tuple[str, EventPlace]]]:
    """The verbs of the events on each of these rows, in their order."""
    names = ("id", "target_id", "tenant_id", "owner_id", "chain", "sequence", "action")
    found: dict[UUID | None, list[tuple[str, EventPlace]]] = defaultdict(list)
    for some in pieces(ids):
        events = AuditEvent.objects.filter(target_id__in=some).exclude(_LOOKING).order_by("created_at", "sequence")
        for values in each_row(events, names):
            if isinstance(values, UnreadableRow):
                continue
            event_id, target, tenant_id, user_id, chain, sequence, action = values
            row = owners.get(target)
            if row is None or (row.tenant_id in (None, tenant_id) and row.user_id in (None, user_id)):
                found[target].append((action.rpartition(".")[2], EventPlace(chain, sequence, event_id)))
    return found


def pieces(ids: Collection[UUID]) -> Iterator[list[UUID]]:
    """The ids, AT_ONCE at a time."""
    every = sorted(ids)
    return (every[start : start + AT_ONCE] for start in range(0, len(every), AT_ONCE))


def _may_be_null(model: Any, name: str) -> bool:
    """Whether a column, or one across a relation, may be empty."""
    return "__" in name or bool(model._meta.get_field(name).null)


def _id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None

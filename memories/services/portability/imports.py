"""Shared parts of imports: ids, detection of facts that need no gate, screening, and the report.

Ids are derived from the owner and the source's key, so a repeated import finds the rows of the first. Facts that
replace nothing, have not ended and are unique in key and text are inserted in bulk; all others pass the gates one by
one. A blocked record is left out and the links of the others are repaired; the report holds its place in the source and
the kinds of its blocked values.
"""

from __future__ import annotations

import hashlib
import uuid
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.utils.translation import gettext as _

from memories.errors import Blocked, InvalidInput
from memories.hygiene.sensitivity.findings import could_have_been
from memories.hygiene.text import normalised
from memories.importing.peers import RefusedEntry
from memories.importing.records import Belief, MemoryRecord
from memories.models.base import MemoryRow
from memories.services.facts.gates import meeting_no_gate
from memories.services.screening import Screen, joined
from memories.types import CURRENT, Kind, Status
from tenants.models import AuditEvent
from tenants.principal import Principal


def alone(principal: Principal, beliefs: Sequence[Belief]) -> frozenset[str]:
    """The record ids of facts that replace nothing, have not ended, and meet no gate."""
    facts = {
        belief.record.id: belief.record.supersedes or belief.is_replaced or belief.ended_at is not None
        for belief in beliefs
        if belief.record.kind is Kind.SEMANTIC
    }
    records = (belief.record for belief in beliefs if belief.record.id in facts)
    unmet = meeting_no_gate(principal, {each.id: (each.task, each.key, each.text) for each in records})
    return frozenset(name for name in unmet if not facts[name])


def owner_id(principal: Principal, *parts: str) -> UUID:
    """A deterministic id for the owner's row that the source identifies by `parts`."""
    return uuid.uuid5(uuid.uuid5(principal.user_id, f"{principal.tenant_id}:import"), _joined(parts))


def shared_id(principal: Principal, *parts: str) -> UUID:
    """A deterministic id for a row that the principal's tenant shares."""
    return uuid.uuid5(uuid.uuid5(principal.tenant_id, "import"), _joined(parts))


def forgotten_ids(principal: Principal) -> frozenset[UUID]:
    """The ids of the memories, sessions and items that this owner erased, and of items that expired."""
    events = AuditEvent.objects.filter(
        Q(action__endswith=".forgotten") | Q(action="item.expired"),
        tenant_id=principal.tenant_id,
        owner_id=principal.user_id,
    )
    return frozenset(target for target in events.values_list("target_id", flat=True) if target)


def _joined(parts: Sequence[str]) -> str:
    """A digest that is unique for the sequence of parts. It accepts lone surrogates."""
    lengths = ":".join(f"{len(part)}" for part in parts)
    return hashlib.sha256("\x1f".join((lengths, *parts)).encode(errors="surrogatepass")).hexdigest()


_WORDS = ("text", "title", "trigger", "key", "category", "task", "source_url", "app")
# The fields that identify a memory; see `hash_of`.
_SAYING = ("text", "context", "title", "trigger")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A record that was not stored: its place in the source and the kinds of its blocked values."""

    place: str
    kinds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Screened:
    """The records that may be stored, the sensitivity marks by record id, and the records that were left out."""

    records: tuple[MemoryRecord, ...]
    marks: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()


class Passed(Screen):
    """A screen for texts that were screened before; it returns their `marks`."""

    def __init__(self, principal: Principal, marks: Mapping[str, str]) -> None:
        super().__init__(principal)
        self._marks = marks

    def memory(self, fields: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
        """The fields unchanged, with the marks."""
        return dict(fields), dict(self._marks)

    def metadata(
        self,
        value: Mapping[str, Any],
        *,
        said: bool = False,  # noqa: ARG002 - the signature of `Screen`
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """Metadata unchanged; its marks are among those of the texts."""
        return dict(value), {}


def screened(screen: Screen, records: Sequence[MemoryRecord], known: Container[str]) -> Screened:
    """Screen records. Episodes, and records whose ids are in `known`, pass unscreened.

    Conversations are masked when they are stored; see `sessions_import.py`.
    """
    kept: list[MemoryRecord] = []
    marks: dict[str, dict[str, str]] = {}
    blocked: dict[str, MemoryRecord] = {}
    left_out: list[LeftOut] = []
    for record in records:
        if record.kind is Kind.EPISODIC or record.id in known:
            kept.append(record)
            continue
        try:
            words, marks[record.id] = screen.memory(dict(_words(record)))
            metadata, more = screen.metadata(record.metadata or {})
            marks[record.id] = joined(marks[record.id], more)
        except InvalidInput as error:
            raise InvalidInput(
                record.place, _('"%(field)s" %(reason)s') % {"field": error.field, "reason": error.reason}
            ) from None
        except Blocked as error:
            blocked[record.id] = record
            left_out.append(LeftOut(record.place, tuple(sorted({spot.kind.value for spot in error.spots}))))
        else:
            kept.append(replace(_with_words(record, words), metadata=metadata or None))
    return Screened(_relinked(kept, blocked) if blocked else tuple(kept), marks, tuple(left_out))


def is_as_stored(row: MemoryRow, record: MemoryRecord) -> bool:
    """Whether `row` has the text of `record`, apart from masked values."""
    steps = list(getattr(row, "steps", ()))
    if len(steps) != len(record.steps):
        return False
    pairs = [(getattr(row, name), getattr(record, name)) for name in _SAYING if hasattr(row, name)]
    # A title that the record lacks was derived from its other fields.
    told = [(stored, said) for stored, said in pairs if said or stored != getattr(row, "title", "")]
    told += zip(steps, record.steps, strict=True)
    return all(could_have_been(normalised(stored), normalised(said)) for stored, said in told)


def _words(record: MemoryRecord) -> Iterator[tuple[str, str]]:
    yield from ((name, getattr(record, name)) for name in _WORDS if getattr(record, name))
    yield from ((f"steps.{place}", step) for place, step in enumerate(record.steps))


def _with_words(record: MemoryRecord, words: Mapping[str, str]) -> MemoryRecord:
    stored: dict[str, Any] = {name: words[name] for name in _WORDS if name in words}
    return replace(record, **stored, steps=tuple(words[f"steps.{place}"] for place in range(len(record.steps))))


def _relinked(kept: Sequence[MemoryRecord], blocked: Mapping[str, MemoryRecord]) -> tuple[MemoryRecord, ...]:
    """The records without the blocked ones, relinked. A record that a blocked one superseded still ends."""
    bridged = [replace(record, supersedes=_past(record.supersedes, blocked)) for record in kept]
    replaced = {name for record in bridged for name in record.supersedes}
    ended = {
        name: record
        for record in blocked.values()
        for name in _past(record.supersedes, blocked)
        if name not in replaced
    }
    return tuple(_ended_by(record, ended.get(record.id)) for record in bridged)


def _past(names: Sequence[str], blocked: Mapping[str, MemoryRecord]) -> tuple[str, ...]:
    """`names`, with each blocked name replaced by the names that it supersedes, recursively."""
    found: dict[str, None] = {}
    seen: set[str] = set()
    waiting = list(reversed(names))
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in blocked:
            waiting += reversed(blocked[name].supersedes)
        else:
            found[name] = None
    return tuple(found)


def _ended_by(record: MemoryRecord, successor: MemoryRecord | None) -> MemoryRecord:
    """A record whose successor was left out, ended at the time of that successor."""
    if successor is None or (record.status is not None and record.status not in CURRENT):
        return record
    began = successor.learned_at or successor.valid_from or successor.happened_at
    return replace(record, status=Status.SUPERSEDED, superseded_at=record.superseded_at or began)


# Called with the number of items done since the last call, for a progress bar.
Advance = Callable[[int], None]


def unwatched(_done: int) -> None:
    """An `Advance` that does nothing."""


@dataclass(slots=True)
class ImportReport:
    """The result of an import: `added` by kind, `merged` into equal memories, `known` from an earlier import.

    `forgotten` counts records that the owner had erased; `left_out` lists records with blocked values; `masked` counts
    messages stored with masked values; `changed` are the places of records that were imported with another text, and
    `refused` are items that cannot be put. `ids` maps the source's ids to memories.
    """

    sessions: int = 0
    messages: int = 0
    added: Counter[Kind] = field(default_factory=Counter)
    merged: int = 0
    known: int = 0
    forgotten: int = 0
    masked: int = 0
    left_out: tuple[LeftOut, ...] = ()
    changed: tuple[str, ...] = ()
    refused: tuple[RefusedEntry, ...] = ()
    ids: dict[str, UUID] = field(default_factory=dict)

    def add(self, other: ImportReport) -> None:
        """Add the report of another part of the same import."""
        for name in ("sessions", "messages", "merged", "known", "forgotten", "masked"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.added += other.added
        self.left_out += other.left_out
        self.changed += other.changed
        self.refused += other.refused
        self.ids |= other.ids

    @property
    def total_added(self) -> int:
        """The number of new memories of all kinds."""
        return self.added.total()

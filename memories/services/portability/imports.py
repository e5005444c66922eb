"""What imports share: ids of imported rows, facts that meet no gate, screening, and the report.

Ids are made from the owner and the source's key, so a second import finds the rows of the first. Facts that replace
nothing, end by nothing and are unique in key and wording are stored in bulk; all others go through the gates one by
one. A record that must not be stored is left out, and the links of the others are kept; the report and the audit log
have its place and kind.
"""

from __future__ import annotations

import hashlib
import uuid
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any
from uuid import UUID

from memories.consolidation.rules import likeness
from memories.errors import Blocked
from memories.hygiene.sensitivity.findings import could_have_been
from memories.hygiene.text import content_hash, normalised
from memories.importing.records import Belief, MemoryRecord
from memories.models import Fact
from memories.models.base import MemoryRow
from memories.services.screening import Screen
from memories.types import CURRENT, Kind, Status
from tenants.models import AuditEvent
from tenants.principal import Principal


def meeting_no_gate(principal: Principal, beliefs: Sequence[Belief]) -> frozenset[str]:
    """The ids of facts whose key and wording are unique in the file and among the owner's memories."""
    facts = [belief for belief in beliefs if belief.record.kind is Kind.SEMANTIC]
    gates = {
        each.id: _gates(each.task, key=each.key, wording=content_hash(each.text), alike=likeness(each.text))
        for each in (belief.record for belief in facts)
    }
    rows = Fact.objects.of(principal).current().values_list("task", "key", "content_hash", "likeness")
    stored = (_gates(task or "", key=key, wording=wording, alike=alike) for task, key, wording, alike in rows)
    met = Counter(chain.from_iterable([*gates.values(), *stored]))
    return frozenset(
        belief.record.id
        for belief in facts
        if not belief.record.supersedes
        and not belief.is_replaced
        and belief.ended_at is None
        and all(met[gate] == 1 for gate in gates[belief.record.id])
    )


def _gates(task: str, **values: str) -> list[tuple[str, str, str]]:
    return [(task, gate, value) for gate, value in values.items() if value]


# SQLite bounds the variables of a statement; the least that builds allow is 999.
IDS_PER_STATEMENT = 500


def owner_id(principal: Principal, *parts: str) -> UUID:
    """The id of a row of this owner that the source names by `parts`."""
    return uuid.uuid5(uuid.uuid5(principal.user_id, f"{principal.tenant_id}:import"), _joined(parts))


def shared_id(principal: Principal, *parts: str) -> UUID:
    """The id of a row that the principal's tenant shares."""
    return uuid.uuid5(uuid.uuid5(principal.tenant_id, "import"), _joined(parts))


def forgotten_ids(principal: Principal) -> frozenset[UUID]:
    """What this owner had erased: memories and sessions."""
    events = AuditEvent.objects.filter(
        tenant_id=principal.tenant_id, owner_id=principal.user_id, action__endswith=".forgotten"
    )
    return frozenset(target for target in events.values_list("target_id", flat=True) if target)


def in_statements(ids: Sequence[UUID]) -> Iterator[Sequence[UUID]]:
    """`ids` in slices that fit into one statement."""
    for start in range(0, len(ids), IDS_PER_STATEMENT):
        yield ids[start : start + IDS_PER_STATEMENT]


def _joined(parts: Sequence[str]) -> str:
    """One text for the parts, another for any other parts; a lone surrogate in a name does not stop it."""
    lengths = ":".join(f"{len(part)}" for part in parts)
    return hashlib.sha256("\x1f".join((lengths, *parts)).encode(errors="surrogatepass")).hexdigest()


_WORDS = ("text", "title", "trigger", "key", "category", "task", "source_url")
# What makes a memory the one that it is; see `hash_of`.
_SAYING = ("text", "context", "title", "trigger")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A record that was not stored: its place in the source and the kinds of its blocked values."""

    place: str
    kinds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Screened:
    """The records that may be stored, with the marks of their words by id, and those that may not."""

    records: tuple[MemoryRecord, ...]
    marks: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()


class Passed(Screen):
    """For words that were screened before, with their `marks`."""

    def __init__(self, principal: Principal, marks: Mapping[str, str]) -> None:
        super().__init__(principal)
        self._marks = marks

    def memory(self, fields: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
        """The words as they are."""
        return dict(fields), dict(self._marks)


def screened(screen: Screen, records: Sequence[MemoryRecord], known: Container[str]) -> Screened:
    """The records that may be stored. Records with `known` ids are stored already and pass; so do episodes.

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
        except Blocked as error:
            blocked[record.id] = record
            left_out.append(LeftOut(record.place, tuple(sorted({spot.kind.value for spot in error.spots}))))
        else:
            kept.append(_with_words(record, words))
    return Screened(_relinked(kept, blocked) if blocked else tuple(kept), marks, tuple(left_out))


def is_as_stored(row: MemoryRow, record: MemoryRecord) -> bool:
    """True if `row` has the text of `record`, apart from masked values."""
    steps = list(getattr(row, "steps", ()))
    if len(steps) != len(record.steps):
        return False
    pairs = [(getattr(row, name), getattr(record, name)) for name in _SAYING if hasattr(row, name)]
    # A title that the record does not give was made of the rest.
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
    """The records without the blocked ones: a record that a blocked one replaced has ended all the same."""
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
    """`names`, and in the place of each that is blocked those that it supersedes."""
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
    """A record whose successor is left out, ended at the time of that successor."""
    if successor is None or (record.status is not None and record.status not in CURRENT):
        return record
    began = successor.learned_at or successor.valid_from or successor.happened_at
    return replace(record, status=Status.SUPERSEDED, superseded_at=record.superseded_at or began)


# Called with the number of things done since the last call, for a progress bar.
Advance = Callable[[int], None]


def unwatched(_done: int) -> None:
    """Nobody watches the progress."""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """`added` counts new memories by kind; `merged` equalled one of the owner's; `known` were imported before.

    `forgotten` were erased by their owner before; `left_out` hold blocked values; `masked` counts messages stored
    without a value. `ids` maps the source's ids to the memories that hold them.
    """

    sessions: int = 0
    messages: int = 0
    added: Mapping[Kind, int] = field(default_factory=dict)
    merged: int = 0
    known: int = 0
    forgotten: int = 0
    masked: int = 0
    left_out: tuple[LeftOut, ...] = ()
    ids: Mapping[str, UUID] = field(default_factory=dict)

    @property
    def total_added(self) -> int:
        """New memories of all kinds."""
        return sum(self.added.values())

"""In which order imported memories came to be believed, and since when.

Invariant: what a record supersedes comes before it, whatever the order of the file; else earlier beliefs come first.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from graphlib import CycleError, TopologicalSorter

from memories.errors import InvalidInput
from memories.hygiene.sensitivity.detecting import without_secrets
from memories.importing.records import MemoryRecord
from memories.types import CURRENT, Kind

_SUPERSEDABLE = (Kind.SEMANTIC, Kind.PROCEDURAL)


@dataclass(frozen=True, slots=True)
class Belief:
    """A record, since when it was believed, and whether another record of the file replaces it."""

    record: MemoryRecord
    learned_at: datetime
    is_replaced: bool

    @property
    def is_dated(self) -> bool:
        """Whether the source says since when, so that it says the same the next time."""
        return _told(self.record) is not None

    @property
    def ended_at(self) -> datetime | None:
        """When it ended without a successor in the file, if it did."""
        record = self.record
        if self.is_replaced or record.status is None or record.status in CURRENT:
            return None
        return max(record.superseded_at or record.valid_to or self.learned_at, self.learned_at)


def in_order_of_belief(
    records: Sequence[MemoryRecord], *, now: datetime, stored: Container[str] = ()
) -> tuple[Belief, ...]:
    """The records, which all have ids of their own, each after what it supersedes.

    A record is believed since `learned_at`, else since it became true (`valid_from`), else since it happened; one
    without any time since its successor at the latest, else `now`. Nothing is believed since a time after `now`.
    `stored` holds the ids that may be superseded though they are not in the file. Raises InvalidInput naming the place
    of an unknown id, one of another kind, or a circle.
    """
    by_id = {record.id: record for record in records}
    for record in records:
        _check_links(record, by_id, stored)
    olds = {record.id: [name for name in record.supersedes if name in by_id] for record in records}
    sequence = _predecessors_first(by_id, olds)
    since = {record.id: min(_told(record) or now, now) for record in records}
    for name in reversed(sequence):
        for old in olds[name]:
            if _told(by_id[old]) is None:
                since[old] = min(since[old], since[name])
    # A file may say that a successor is older than what it replaced; it still comes after it.
    turn: dict[str, datetime] = {}
    for name in sequence:
        turn[name] = max([since[name], *(turn[old] for old in olds[name])])
    replaced = {old for names in olds.values() for old in names}
    ordered = sorted(sequence, key=turn.__getitem__)
    return tuple(Belief(by_id[name], since[name], name in replaced) for name in ordered)


def _told(record: MemoryRecord) -> datetime | None:
    return record.learned_at or record.valid_from or record.happened_at


def _check_links(record: MemoryRecord, by_id: Mapping[str, MemoryRecord], stored: Container[str]) -> None:
    if record.supersedes and record.kind not in _SUPERSEDABLE:
        raise InvalidInput(record.place, '"supersedes" is for semantic and procedural memories.')
    for name in record.supersedes:
        old = by_id.get(name)
        if old is None and name not in stored:
            problem = f'"supersedes" names {without_secrets(name)!r}, neither in the file nor a memory of this member.'
            raise InvalidInput(record.place, problem)
        if old is not None and old.kind is not record.kind:
            raise InvalidInput(
                record.place, f'"supersedes" names {without_secrets(name)!r}, which is {old.kind.value}.'
            )


def _predecessors_first(by_id: Mapping[str, MemoryRecord], olds: Mapping[str, Sequence[str]]) -> list[str]:
    graph: TopologicalSorter[str] = TopologicalSorter()
    for name, earlier in olds.items():
        graph.add(name, *earlier)
    try:
        return list(graph.static_order())
    except CycleError as error:
        place = next(record.place for record in by_id.values() if record.id in error.args[1])
        raise InvalidInput(place, '"supersedes" leads in a circle back to this memory.') from None

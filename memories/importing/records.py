"""Memories as JSON lines, the form of `import_memories` and `export_memories`, and the order to import them in.

`{"id"?, "kind", "text", "session"?, "title"?, "trigger"?, "steps"?, "key"?, "category"?, "confidence"?, "happened_at"?,
"valid_from"?, "supersedes"?: [ids]}`; an export adds what restores the memory as it was (status, times, speaker,
outcomes, support). Unknown keys are ignored. `parse_memory` reads back exactly what `record_line` writes.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from datetime import datetime
from enum import StrEnum
from graphlib import CycleError, TopologicalSorter
from typing import Any, TypeVar

from memories.errors import InvalidInput
from memories.hygiene.sensitivity.detecting import without_secrets
from memories.importing.conversations import json_lines, text_of, time_of
from memories.types import CURRENT, Contradiction, Kind, Source, Status

Choice = TypeVar("Choice", bound=StrEnum)

_TEXTS = ("text", "speaker", "context", "title", "trigger", "key", "category", "task", "source_url")
_TIMES = (
    "happened_at", "valid_from", "valid_to", "learned_at", "superseded_at", "last_success_at", "last_failure_at",
    "last_verified_at", "review_after", "expires_at", "archived_at", "evicted_at",
)  # fmt: skip
_COUNTS = ("success_count", "failure_count")
_ID_LISTS = ("supersedes", "supported_by")
_CHOICES: Mapping[str, type[StrEnum]] = {
    "source": Source, "status": Status, "evicted_from": Status, "contradiction": Contradiction,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """One memory of an import or export.

    `id`, `session`, `supersedes`, `supported_by`, `restores` and `promoted_from` are the source's own names. Without a
    `status` a record is current unless another one supersedes it.
    """

    kind: Kind
    text: str = ""
    id: str = ""
    session: str = ""
    speaker: str = ""
    context: str = ""
    title: str = ""
    trigger: str = ""
    steps: tuple[str, ...] = ()
    key: str = ""
    category: str = ""
    confidence: float | None = None
    source: Source | None = None
    pinned: bool = False
    happened_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    learned_at: datetime | None = None
    supersedes: tuple[str, ...] = ()
    supported_by: tuple[str, ...] = ()
    status: Status | None = None
    superseded_at: datetime | None = None
    contradiction: Contradiction | None = None
    success_count: int = 0
    failure_count: int = 0
    last_success_at: datetime | None = None
    last_failure_at: datetime | None = None
    last_verified_at: datetime | None = None
    review_after: datetime | None = None
    expires_at: datetime | None = None
    archived_at: datetime | None = None
    evicted_at: datetime | None = None
    evicted_from: Status | None = None
    restores: str = ""
    promoted_from: str = ""
    task: str = ""
    source_url: str = ""
    place: str = ""


def parse_memories(lines: Iterable[bytes | str]) -> tuple[MemoryRecord, ...]:
    """The records of a file in its order. Raises InvalidInput naming the line, also for an id used twice."""
    records: list[MemoryRecord] = []
    places: dict[str, str] = {}
    for place, line in json_lines(lines):
        record = parse_memory(line, place=place)
        if record.id and record.id in places:
            raise InvalidInput(place, f'has the same "id" as {places[record.id]}.')
        if record.id:
            places[record.id] = place
        records.append(record)
    return tuple(records)


def parse_memory(line: Mapping[str, Any], *, place: str = "memory") -> MemoryRecord:
    """One record of JSON values. Raises InvalidInput naming `place`."""
    kind = _choice(line, "kind", Kind, place)
    if kind is None:
        raise InvalidInput(place, f'needs "kind", one of {", ".join(Kind)}.')
    values: dict[str, Any] = {name: text_of(line.get(name), name, place=place) for name in _TEXTS}
    values |= {name: _name(line.get(name), name, place) for name in ("id", "session", "restores", "promoted_from")}
    values |= {name: None if line.get(name) is None else time_of(line[name], name, place=place) for name in _TIMES}
    values |= {name: _checked(line, name, place, _is_count, "a whole number, 0 or more") or 0 for name in _COUNTS}
    values |= {name: _names(line.get(name), name, place) for name in _ID_LISTS}
    values |= {name: _choice(line, name, choices, place) for name, choices in _CHOICES.items()}
    confidence = _checked(line, "confidence", place, _is_share, "a number from 0 to 1")
    return MemoryRecord(
        kind=kind,
        confidence=None if confidence is None else float(confidence),
        steps=tuple(_checked(line, "steps", place, _is_texts, "a list of texts") or ()),
        pinned=bool(_checked(line, "pinned", place, lambda value: isinstance(value, bool), "true or false")),
        place=place,
        **values,
    )


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0.0 <= value <= 1.0


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def named(records: Iterable[MemoryRecord]) -> tuple[MemoryRecord, ...]:
    """The records, each with an id; a missing one is made from the record's content."""
    seen: Counter[str] = Counter()
    complete: list[MemoryRecord] = []
    for record in records:
        if not record.id:
            digest = hashlib.sha256(record_line(record).encode(errors="surrogatepass")).hexdigest()
            seen[digest] += 1
            record = replace(record, id=f"{digest}:{seen[digest]}")  # noqa: PLW2901 - the same record, named
        complete.append(record)
    return tuple(complete)


def record_line(record: MemoryRecord) -> str:
    """The JSON line of a record, without empty fields and without a line end."""
    line: dict[str, object] = {"id": record.id} if record.id else {}
    line |= {"kind": record.kind.value, "text": record.text}
    for field in fields(record):
        value = getattr(record, field.name)
        if field.name in line or field.name == "place" or value == field.default or field.default is MISSING:
            continue
        line[field.name] = value.isoformat() if isinstance(value, datetime) else value
    return json.dumps(line, ensure_ascii=False)


def _checked(line: Mapping[str, Any], name: str, place: str, fits: Callable[[Any], bool], what: str) -> Any:
    """The value of a member, None if it is missing. Raises InvalidInput unless `fits(value)`; `what` says why."""
    value = line.get(name)
    if value is not None and not fits(value):
        raise InvalidInput(place, f'"{name}" must be {what}.')
    return value


def _choice(line: Mapping[str, Any], name: str, choices: type[Choice], place: str) -> Choice | None:
    values = [str(choice.value) for choice in choices]
    value = _checked(line, name, place, lambda value: str(value) in values, f"one of {', '.join(values)}")
    return None if value is None else choices(str(value))


def _name(value: object, name: str, place: str) -> str:
    """An id or the name of a session: a text or a whole number."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return text_of(value, name, place=place).strip()


def _names(value: object, name: str, place: str) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [] if value is None else [value]
    names = tuple(dict.fromkeys(_name(each, name, place) for each in values))
    if not all(names):
        raise InvalidInput(place, f'"{name}" must be a list of ids.')
    return names


_SUPERSEDABLE = (Kind.SEMANTIC, Kind.PROCEDURAL)


@dataclass(frozen=True, slots=True)
class Belief:
    """A record, since when it was believed, and whether another record of the file replaces it."""

    record: MemoryRecord
    learned_at: datetime
    is_replaced: bool

    @property
    def is_dated(self) -> bool:
        """True if the source gives the time, so that the next import gives the same."""
        return _dated(self.record) is not None

    @property
    def ended_at(self) -> datetime | None:
        """The end of a record that ended without a successor in the file."""
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
    since = {record.id: min(_dated(record) or now, now) for record in records}
    for name in reversed(sequence):
        for old in olds[name]:
            if _dated(by_id[old]) is None:
                since[old] = min(since[old], since[name])
    # A file may say that a successor is older than what it replaced; it still comes after it.
    turn: dict[str, datetime] = {}
    for name in sequence:
        turn[name] = max([since[name], *(turn[old] for old in olds[name])])
    replaced = {old for names in olds.values() for old in names}
    ordered = sorted(sequence, key=turn.__getitem__)
    return tuple(Belief(by_id[name], since[name], name in replaced) for name in ordered)


def _dated(record: MemoryRecord) -> datetime | None:
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

"""Memories as JSON lines, the form of `import_memories` and `export_memories`.

`{"id"?, "kind", "text", "session"?, "title"?, "trigger"?, "steps"?, "key"?, "category"?, "confidence"?, "happened_at"?,
"valid_from"?, "supersedes"?: [ids]}`; an export adds what is needed to come back as it was (status, times, speaker,
outcomes, support). Unknown keys are left aside. Invariant: what `record_line` writes, `parse_memory` reads back equal.

In which order imported memories came to be believed, and since when.

Invariant: what a record supersedes comes before it, whatever the order of the file; else earlier beliefs come first.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
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


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """One memory on its way in or out.

    `id`, `session`, `supersedes`, `supported_by`, `restores` and `promoted_from` are the source's own names.

    `status` is None where the source does not say: then it is current unless another record supersedes it.
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
    kind = _choice(line.get("kind"), Kind, "kind", place)
    if kind is None:
        raise InvalidInput(place, f'needs "kind", one of {_listed(Kind)}.')
    values: dict[str, Any] = {name: text_of(line.get(name), name, place=place) for name in _TEXTS}
    values |= {name: _name(line.get(name), name, place) for name in ("id", "session", "restores", "promoted_from")}
    values |= {name: _time(line, name, place) for name in _TIMES}
    values |= {name: _count(line.get(name), name, place) for name in _COUNTS}
    values |= {name: _names(line.get(name), name, place) for name in _ID_LISTS}
    return MemoryRecord(
        kind=kind,
        confidence=_share(line.get("confidence"), place),
        source=_choice(line.get("source"), Source, "source", place),
        status=_choice(line.get("status"), Status, "status", place),
        evicted_from=_choice(line.get("evicted_from"), Status, "evicted_from", place),
        contradiction=_choice(line.get("contradiction"), Contradiction, "contradiction", place),
        steps=_strings(line.get("steps"), "steps", place),
        pinned=_flag(line.get("pinned"), "pinned", place),
        place=place,
        **values,
    )


def named(records: Iterable[MemoryRecord]) -> tuple[MemoryRecord, ...]:
    """The records, each with an id: where the source gives none, one made of what it says."""
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
    """The JSON line of a record, without what is empty and without a line end."""
    line: dict[str, object] = {"id": record.id} if record.id else {}
    line |= {"kind": record.kind.value, "text": record.text}
    for field in fields(record):
        value = getattr(record, field.name)
        if field.name in line or field.name == "place" or value == field.default or field.default is MISSING:
            continue
        line[field.name] = value.isoformat() if isinstance(value, datetime) else value
    return json.dumps(line, ensure_ascii=False)


def _time(line: Mapping[str, Any], name: str, place: str) -> datetime | None:
    value = line.get(name)
    return None if value is None else time_of(value, name, place=place)


def _choice(value: object, choices: type[Choice], name: str, place: str) -> Choice | None:
    if value is None:
        return None
    try:
        return choices(str(value))
    except ValueError:
        raise InvalidInput(place, f'"{name}" must be one of {_listed(choices)}.') from None


def _name(value: object, name: str, place: str) -> str:
    """An id or the name of a session: text, or a whole number."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return text_of(value, name, place=place).strip()


def _names(value: object, name: str, place: str) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [] if value is None else [value]
    names = tuple(dict.fromkeys(_name(each, name, place) for each in values))
    if not all(names):
        raise InvalidInput(place, f'"{name}" must be a list of ids.')
    return names


def _strings(value: object, name: str, place: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise InvalidInput(place, f'"{name}" must be a list of texts.')
    return tuple(value)


def _count(value: object, name: str, place: str) -> int:
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise InvalidInput(place, f'"{name}" must be a whole number, 0 or more.')
    return value


def _flag(value: object, name: str, place: str) -> bool:
    if value is not None and not isinstance(value, bool):
        raise InvalidInput(place, f'"{name}" must be true or false.')
    return bool(value)


def _share(value: object, place: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
        raise InvalidInput(place, '"confidence" must be a number from 0 to 1.')
    return float(value)


def _listed(choices: type[StrEnum]) -> str:
    return ", ".join(choice.value for choice in choices)


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

"""Memories and items as JSON lines, the format of `import_memories` and `export_memories`, and their import order.

`MemoryRecord` and `ItemRecord` define a line: `parse_memory` and `parse_item` validate one by its annotations, and
`record_line` writes it back exactly. Of a memory only `kind` is required. An export adds the fields that restore the
memory's state (status, times, speaker, outcomes, support). Unknown keys are ignored; null and "" count as absent.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, Any, ClassVar, TypeVar

from annotated_types import Ge, Le, Lt, MinLen
from pydantic import (
    BeforeValidator,
    Strict,
    StrictBool,
    StrictStr,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
)

from memories.attributes.metadata import checked_metadata
from memories.errors import InvalidInput
from memories.hygiene.sensitivity.detecting import without_secrets
from memories.importing.conversations import ConversationSession, ConversationTurn, json_lines, time_of
from memories.types import ALL_KINDS, CURRENT, Contradiction, Kind, Source, Status


def _moment(value: object, info: ValidationInfo) -> datetime:
    if isinstance(value, datetime):
        return value
    return time_of(value, str(info.field_name), place=str(info.context))


def _name(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value.strip() if isinstance(value, str) else value


def _list(value: object) -> object:
    names = value if isinstance(value, list) else [value]
    return list({str(name): name for name in map(_name, names)}.values())


def _kind(value: object) -> object:
    if value not in ALL_KINDS:
        *others, last = (f"'{kind}'" for kind in ALL_KINDS)
        raise ValueError(f"It should be {', '.join(others)} or {last}")
    return value


Moment = Annotated[datetime, BeforeValidator(_moment)]
# An id or the name of a session: a string or an integer.
Name = Annotated[StrictStr, BeforeValidator(_name)]
Names = Annotated[tuple[Annotated[Name, MinLen(1)], ...], BeforeValidator(_list)]
Count = Annotated[int, Strict(), Ge(0), Lt(2**31)]
Share = Annotated[float, Strict(), Ge(0), Le(1)]


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """One memory of an import or export.

    `id`, `session`, `supersedes`, `supported_by`, `restores` and `promoted_from` are identifiers of the source. Without
    a `status` a record is current unless another one supersedes it.
    """

    kind: Annotated[Kind, BeforeValidator(_kind)]
    text: StrictStr = ""
    id: Name = ""
    session: Name = ""
    speaker: StrictStr = ""
    context: StrictStr = ""
    title: StrictStr = ""
    trigger: StrictStr = ""
    steps: tuple[StrictStr, ...] = ()
    key: StrictStr = ""
    category: StrictStr = ""
    confidence: Share | None = None
    source: Source | None = None
    pinned: StrictBool = False
    happened_at: Moment | None = None
    valid_from: Moment | None = None
    valid_to: Moment | None = None
    learned_at: Moment | None = None
    supersedes: Names = ()
    supported_by: Names = ()
    status: Status | None = None
    superseded_at: Moment | None = None
    contradiction: Contradiction | None = None
    success_count: Count = 0
    failure_count: Count = 0
    last_success_at: Moment | None = None
    last_failure_at: Moment | None = None
    proposed: StrictBool = False
    last_verified_at: Moment | None = None
    review_after: Moment | None = None
    expires_at: Moment | None = None
    archived_at: Moment | None = None
    evicted_at: Moment | None = None
    evicted_from: Status | None = None
    restores: Name = ""
    promoted_from: Name = ""
    task: StrictStr = ""
    source_url: StrictStr = ""
    metadata: dict[str, Any] | None = None
    app: StrictStr = ""
    place: StrictStr = ""


@dataclass(frozen=True, slots=True)
class ItemRecord:
    """One item of an import or export. `index`: whether a search reads it."""

    kind: ClassVar = Kind.ITEM

    namespace: tuple[StrictStr, ...]
    key: StrictStr
    value: Any
    id: StrictStr = ""
    index: StrictBool | tuple[StrictStr, ...] = True
    ttl_minutes: Annotated[float, Strict()] | None = None
    expires_at: Moment | None = None
    app: StrictStr = ""
    place: StrictStr = ""


Record = TypeVar("Record", MemoryRecord, ItemRecord)
_MEMORY, _ITEM = TypeAdapter(MemoryRecord), TypeAdapter(ItemRecord)


def parse_memories(lines: Iterable[bytes | str]) -> tuple[MemoryRecord, ...]:
    """Return the records of a file in order. Raises InvalidInput naming the line, also for a duplicate id."""
    return memories_of(json_lines(lines))


def memories_of(lines: Iterable[tuple[str, Mapping[str, Any]]]) -> tuple[MemoryRecord, ...]:
    """Return the records of lines with their places, as `parse_memories` does."""
    records: list[MemoryRecord] = []
    places: dict[str, str] = {}
    for place, line in lines:
        record = parse_memory(line, place=place)
        if record.id and record.id in places:
            raise InvalidInput(place, f'has the same "id" as {places[record.id]}.')
        if record.id:
            places[record.id] = place
        records.append(record)
    return tuple(records)


def parse_memory(line: Mapping[str, Any], *, place: str = "memory") -> MemoryRecord:
    """Validate one record from JSON values or a row's values. Raises InvalidInput naming `place`."""
    record = _validated(_MEMORY, {name: value for name, value in line.items() if value not in (None, "", {})}, place)
    if record.metadata:
        try:
            checked_metadata(record.metadata)
        except InvalidInput as error:
            raise InvalidInput(place, f'"metadata" {error.reason}') from None
    return record


def parse_item(line: Mapping[str, Any], *, place: str = "item") -> ItemRecord:
    """Validate the types of an item's line; its put checks the rest. Raises InvalidInput naming `place`."""
    given = {name: value for name, value in line.items() if name == "value" or value not in (None, "")}
    return _validated(_ITEM, given, place)


def _validated(shape: TypeAdapter[Record], given: Mapping[str, Any], place: str) -> Record:
    try:
        return shape.validate_python({**given, "place": place}, context=place)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name, rule = first["loc"][0], first["msg"].partition(" should ")[2]
        problem = f'needs "{name}".' if first["type"] == "missing" else f'"{name}" should {rule}.'
        raise InvalidInput(place, problem) from None


def named(records: Iterable[MemoryRecord]) -> tuple[MemoryRecord, ...]:
    """Return the records, deriving missing ids from the content."""
    seen: Counter[str] = Counter()
    complete: list[MemoryRecord] = []
    for record in records:
        if not record.id:
            digest = hashlib.sha256(record_line(record).encode(errors="surrogatepass")).hexdigest()
            seen[digest] += 1
            record = replace(record, id=f"{digest}:{seen[digest]}")  # noqa: PLW2901 - the same record, named
        complete.append(record)
    return tuple(complete)


def record_line(record: MemoryRecord | ItemRecord) -> str:
    """Return the JSON line of a record, without empty fields and without a line end."""
    line: dict[str, object] = {"id": record.id} if record.id else {}
    line["kind"] = record.kind.value
    if isinstance(record, MemoryRecord):
        line["text"] = record.text
    for field in fields(record):
        value = getattr(record, field.name)
        if field.name in line or field.name == "place" or value == field.default:
            continue
        line[field.name] = value.isoformat() if isinstance(value, datetime) else value
    return json.dumps(line, ensure_ascii=False)


_SUPERSEDABLE = (Kind.SEMANTIC, Kind.PROCEDURAL)


@dataclass(frozen=True, slots=True)
class Belief:
    """A record, the time since which it was believed, and whether another record of the file replaces it."""

    record: MemoryRecord
    learned_at: datetime
    is_replaced: bool

    @property
    def is_dated(self) -> bool:
        """True if the time comes from the source, so that a repeated import gives the same one."""
        return _dated(self.record) is not None

    @property
    def ended_at(self) -> datetime | None:
        """The end of a record that ended without a successor in the file, or None."""
        record = self.record
        if self.is_replaced or record.status is None or record.status in CURRENT:
            return None
        return max(record.superseded_at or record.valid_to or self.learned_at, self.learned_at)


def in_order_of_belief(
    records: Sequence[MemoryRecord], *, now: datetime, stored: Container[str] = ()
) -> tuple[Belief, ...]:
    """Order the records so that each follows those it supersedes; all records need distinct ids.

    A record is believed since `learned_at`, else since `valid_from`, else since `happened_at`. Without any time it is
    believed since its successor's time or `now`, whichever is earlier. No time lies after `now`.

    `stored` holds ids outside the file that may be superseded. Raises InvalidInput naming the place of an unknown id,
    an id of another kind, or a cycle.
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
    # A file may date a successor before the record it replaced; it is still ordered after it.
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


def sessions_of(records: Sequence[MemoryRecord], now: datetime) -> tuple[ConversationSession, ...]:
    """Group episodes by session, in the order of the file; those without a session are grouped by day."""
    turns: dict[str, list[ConversationTurn]] = defaultdict(list)
    for record in records:
        if record.kind is Kind.EPISODIC:
            turn = ConversationTurn(
                key=record.id,
                place=record.place,
                text=record.text,
                happened_at=record.happened_at or now,
                speaker=record.speaker,
                context=record.context,
                metadata=record.metadata or {},
                app=record.app,
            )
            turns[session_key(record, now)].append(turn)
    return tuple(ConversationSession(key, tuple(said)) for key, said in turns.items())


def session_key(record: MemoryRecord, now: datetime) -> str:
    """Return the session key of an episode: its own session, or the session of its day."""
    return f"session:{record.session}" if record.session else f"day:{record.happened_at or now:%Y-%m-%d}"

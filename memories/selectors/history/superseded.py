"""States that ended in a period by the audit log and by the rows themselves, and the reason for each difference.

The audit log says when an end was recorded, a row when the state ended; an import or a late correction puts the two
apart. No text of a memory is read, so the comparison spans all members of a tenant.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from operator import attrgetter
from uuid import UUID

from memories.models import CHAINED_MODELS
from memories.selectors.history.listing import ENDINGS, NOUN, ChainedRow, HistoryFilter, histories
from memories.types import Kind
from memoryhub.db.statements import in_statements
from tenants.models import AuditEvent

MOST_COMPARED = 2000
"""States read from each side; a longer period is compared in parts."""

ENDED_ACTIONS = tuple(f"{noun}.{verb}" for noun in NOUN.values() for verb in ENDINGS)
_ERASED_BY = ("forgotten", "erased")
_KIND_OF = {noun: kind for kind, noun in NOUN.items()}


class Difference(StrEnum):
    """Why a state is on one side alone."""

    ENDED_BEFORE = "ended_before"
    ENDED_AFTER = "ended_after"
    RECORDED_BEFORE = "recorded_before"
    RECORDED_AFTER = "recorded_after"
    ENDED_AGAIN = "ended_again"
    ERASED = "erased"
    IMPORTED = "imported"
    # Neither an erasure nor any other event accounts for these.
    NOT_ENDED = "not_ended"
    ROW_MISSING = "row_missing"
    EVENT_MISSING = "event_missing"


ALARMING = frozenset({Difference.NOT_ENDED, Difference.ROW_MISSING, Difference.EVENT_MISSING})


@dataclass(frozen=True, slots=True)
class EndedState:
    """A state that ended. `event`: the end as recorded, if it was; `row`: the state, if it is there.

    `difference` is None for a state that both sides have in the period; `explained_at` is the time of the end, the
    event or the erasure that explains the difference.
    """

    kind: Kind
    memory_id: UUID
    owner_id: UUID | None
    event: AuditEvent | None
    row: ChainedRow | None
    difference: Difference | None = None
    explained_at: datetime | None = None

    @property
    def ended_at(self) -> datetime | None:
        """When the state ended, by its row."""
        return self.row.superseded_at if self.row else None

    @property
    def alarming(self) -> bool:
        """Whether nothing accounts for the difference."""
        return self.difference in ALARMING


@dataclass(frozen=True, slots=True)
class EndedStates:
    """The states that ended in a period on either side, by time. `partial`: a side had more than MOST_COMPARED."""

    states: tuple[EndedState, ...]
    in_log: int
    in_history: int
    partial: bool = False

    @property
    def in_both(self) -> int:
        """The number of states on which both sides agree."""
        return sum(each.difference is None for each in self.states)


@dataclass(slots=True)
class _Sides:
    """What was read: rows in the period and others by id, ends in the period, and all events of the ids."""

    since: datetime
    until: datetime
    rows: dict[UUID, ChainedRow] = field(default_factory=dict)
    known: dict[UUID, ChainedRow] = field(default_factory=dict)
    ends: dict[UUID, list[AuditEvent]] = field(default_factory=lambda: defaultdict(list))
    erased: dict[UUID, AuditEvent] = field(default_factory=dict)
    created: set[UUID] = field(default_factory=set)


def compare_superseded(
    tenant_id: UUID, *, since: datetime, until: datetime, user_id: UUID | None = None
) -> EndedStates:
    """Compare both sides from `since` inclusive to `until` exclusive, of all owners of the tenant or of one member."""
    events = AuditEvent.objects.filter(
        tenant_id=tenant_id, action__in=ENDED_ACTIONS, created_at__gte=since, created_at__lt=until
    ).order_by("created_at", "sequence")
    if user_id is not None:
        events = events.filter(owner_id=user_id)
    recorded = list(events[: MOST_COMPARED + 1])
    sides = _Sides(since, until)
    partial = len(recorded) > MOST_COMPARED
    recorded = recorded[:MOST_COMPARED]
    for kind in CHAINED_MODELS:
        by = HistoryFilter(tenant_id, kind, user_id=user_id, since=since, until=until)
        found = list(histories(by).order_by("superseded_at", "id")[: MOST_COMPARED + 1])
        partial = partial or len(found) > MOST_COMPARED
        sides.rows |= {row.pk: row for row in found[:MOST_COMPARED]}
    targets = {event.target_id for event in recorded if event.target_id} | sides.rows.keys()
    _read_around(sides, tenant_id, targets)
    states = [*_of_log(sides, recorded), *_of_history(sides, {event.target_id for event in recorded})]
    states.sort(key=lambda each: (_time(each) or since, str(each.memory_id)))
    return EndedStates(tuple(states), len(recorded), len(sides.rows), partial)


def _read_around(sides: _Sides, tenant_id: UUID, targets: Collection[UUID]) -> None:
    """Read the rows and the events of these states at any time."""
    sides.known |= sides.rows
    actions = [f"{noun}.{verb}" for noun in NOUN.values() for verb in (*ENDINGS, *_ERASED_BY, "created")]
    for ids in in_statements(sorted(targets)):
        for model in CHAINED_MODELS.values():
            rows = model.objects.in_place({"tenant_id": tenant_id}).filter(pk__in=ids)
            sides.known |= {row.pk: row for row in rows.defer("embedding", "token_ids") if row.pk not in sides.known}
        events = AuditEvent.objects.filter(tenant_id=tenant_id, target_id__in=ids, action__in=actions)
        for event in events.order_by("created_at", "sequence"):
            verb, target = event.action.partition(".")[2], event.target_id
            if target is None:
                continue
            if verb in ENDINGS:
                sides.ends[target].append(event)
            elif verb in _ERASED_BY:
                sides.erased[target] = event
            else:
                sides.created.add(target)


def _of_log(sides: _Sides, recorded: Collection[AuditEvent]) -> Iterator[EndedState]:
    for event in recorded:
        if event.target_id is None:
            continue
        row = sides.known.get(event.target_id)
        kind = _KIND_OF[event.action.partition(".")[0]]
        yield EndedState(
            kind, event.target_id, event.owner_id, event, row, *_missing_in_history(sides, event, event.target_id, row)
        )


def _missing_in_history(
    sides: _Sides, event: AuditEvent, target: UUID, row: ChainedRow | None
) -> tuple[Difference | None, datetime | None]:
    if row is None:
        erased = sides.erased.get(target)
        return (Difference.ERASED, erased.created_at) if erased else (Difference.ROW_MISSING, None)
    latest = sides.ends[target][-1] if sides.ends[target] else event
    if latest.pk != event.pk:
        return Difference.ENDED_AGAIN, latest.created_at
    if row.superseded_at is None:
        return Difference.NOT_ENDED, None
    if row.superseded_at < sides.since:
        return Difference.ENDED_BEFORE, row.superseded_at
    if row.superseded_at >= sides.until:
        return Difference.ENDED_AFTER, row.superseded_at
    return None, None


def _of_history(sides: _Sides, recorded: Collection[UUID | None]) -> Iterator[EndedState]:
    for row in sorted(sides.rows.values(), key=attrgetter("superseded_at", "pk")):
        if row.pk in recorded:
            continue
        event = sides.ends[row.pk][-1] if sides.ends[row.pk] else None
        if event is not None:
            before = event.created_at < sides.since
            why = Difference.RECORDED_BEFORE if before else Difference.RECORDED_AFTER
        else:
            why = Difference.IMPORTED if row.pk in sides.created else Difference.EVENT_MISSING
        yield EndedState(row.kind, row.pk, row.user_id, event, row, why, event.created_at if event else row.created_at)


def counted_by_difference(states: Collection[EndedState]) -> Mapping[Difference, int]:
    """The number of states for each difference, in the order of Difference."""
    return {why: count for why in Difference if (count := sum(each.difference is why for each in states))}


def _time(state: EndedState) -> datetime | None:
    return state.event.created_at if state.event else state.ended_at

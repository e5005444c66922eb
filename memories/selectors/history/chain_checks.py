"""The invariants of supersession: checks of one owner's rows against the audit log.

Pure functions on plain values. Each check yields a problem as a predicate without any text of the memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain
from uuid import UUID

from memories.types import CURRENT, Contradiction, Owner, Scope, Status

Place = tuple[UUID | None, UUID | None, str, str | None]

# The clocks of two machines differ; an audit event may precede the end that it records by this much.
_UNEVEN = timedelta(minutes=5)
# From the narrowest to the widest scope.
_WIDTH = (Scope.TASK, Scope.USER, Scope.TENANT, Scope.GLOBAL)


@dataclass(frozen=True, slots=True)
class RowState:
    """A fact or playbook without its text; `rehashed` is the hash of the stored text."""

    id: UUID
    tenant_id: UUID | None
    user_id: UUID | None
    scope: str
    task: str | None
    key: str
    content_hash: str
    rehashed: str
    status: str
    learned_at: datetime
    superseded_at: datetime | None
    superseded_by_id: UUID | None
    contradiction: str
    retracted: bool
    restores: UUID | None
    promoted_from: UUID | None
    archived_at: datetime | None
    evicted_at: datetime | None
    evicted_from: str
    app: str = ""

    @property
    def place(self) -> Place:
        """Owner, scope and task; a chain stays within one place."""
        return (self.tenant_id, self.user_id, self.scope, self.task)

    @property
    def owner(self) -> Owner:
        """The owner of the row."""
        return Owner(self.tenant_id, self.user_id)

    @property
    def is_current(self) -> bool:
        """Whether the row's status is a current one."""
        return self.status in CURRENT


@dataclass(frozen=True, slots=True)
class RecordedEnding:
    """The latest audit event that ended a row: its successor and time.

    `readable` is False if the payload was erased, so that the successor is unknown.
    """

    readable: bool
    successor: UUID | None = None
    recorded_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """The audit evidence and the neighbouring rows for one owner's rows.

    `endings` are the recorded ends by row. `elsewhere` are rows of other owners that rows of this one refer to. `gone`
    are erased rows, each with the rows to which its links were redirected; an empty set means that no event recorded
    the target. `promoted` are the copies that each promotion event names; None is an erased payload. `closed`
    are current rows that the audit log records as ended and not revived. `written` is the recorded hash of a row's
    first text. `unread` are rows with a value that cannot be read; each is reported as a fault of its own.
    """

    endings: Mapping[UUID, RecordedEnding] = field(default_factory=dict)
    elsewhere: Mapping[UUID, RowState] = field(default_factory=dict)
    gone: Mapping[UUID, AbstractSet[UUID | None]] = field(default_factory=dict)
    promoted: Mapping[UUID, AbstractSet[UUID | None]] = field(default_factory=dict)
    closed: AbstractSet[UUID] = frozenset()
    written: Mapping[UUID, str] = field(default_factory=dict)
    unread: AbstractSet[UUID] = frozenset()


def problems(rows: Mapping[UUID, RowState], known: Evidence) -> Iterator[tuple[UUID, str]]:
    """Yield the id and the problem of each violated invariant among one owner's rows."""
    for row in rows.values():
        checks = (_ending(row, known), _lateness(row, rows, known), _link(row, rows, known))
        origins = (_restoration(row, rows, known), _promotion(row, rows, known))
        for problem in chain(_state(row), _storage(row), _words(row, known), *checks, *origins):
            yield row.id, problem
    yield from _doubles(rows)
    yield from ((memory_id, "is part of a cycle") for memory_id in _cycles(rows))


def _state(row: RowState) -> Iterator[str]:
    """Problems of a row whose status, times, successor and contradiction disagree."""
    superseded = row.status == Status.SUPERSEDED
    going = not superseded and row.status != Status.EVICTED
    ended_at = row.superseded_at
    checks = {
        "is superseded without a time": superseded and ended_at is None,
        "has a time of supersession but is not superseded": going and ended_at is not None,
        "has a successor but is not superseded": going and row.superseded_by_id is not None,
        "is believed and yet contradicted": going and (row.contradiction or row.retracted),
        "was superseded without saying how": superseded and not row.contradiction,
        "is retracted without a harsh contradiction, or the other way round": (
            row.retracted != (row.contradiction == Contradiction.HARSH)
        ),
        "ended before it began": ended_at is not None and ended_at < row.learned_at,
    }
    yield from (problem for problem, wrong in checks.items() if wrong)


def _storage(row: RowState) -> Iterator[str]:
    """Problems of a row whose eviction, archiving or hash disagrees with its state."""
    evicted, ended_at = row.status == Status.EVICTED, row.superseded_at
    unsaid = evicted != (row.evicted_at is not None) or evicted != bool(row.evicted_from)
    returns_elsewhere = (row.evicted_from == Status.SUPERSEDED) != (ended_at is not None)
    archived = row.archived_at
    checks = {
        "is evicted without saying since when and from which state, or the other way round": unsaid,
        "would return from its eviction to a state that it was not in": not unsaid and evicted and returns_elsewhere,
        "was archived before it was superseded": archived is not None and (ended_at is None or archived < ended_at),
        "has other words than it was stored with": row.rehashed != row.content_hash,
    }
    yield from (problem for problem, wrong in checks.items() if wrong)


def _words(row: RowState, known: Evidence) -> Iterator[str]:
    """A problem if the text differs from the recorded text, even if the hash was changed along with it."""
    if row.rehashed == row.content_hash and known.written.get(row.id, row.content_hash) != row.content_hash:
        yield "has other words than the audit tells of"


def _ending(row: RowState, known: Evidence) -> Iterator[str]:
    """Problems of a row whose end was not recorded, or whose successor is neither the recorded one nor its redirect."""
    if row.is_current and row.id in known.closed:
        yield "is believed although the audit tells of its end"
    if row.superseded_at is None:
        return
    recorded = known.endings.get(row.id)
    if recorded is None:
        yield "was superseded without an audit event"
    elif recorded.readable and not _leads_to(recorded.successor, row.superseded_by_id, known):
        yield "has another successor than the audit tells of"


def _leads_to(recorded: UUID | None, successor: UUID | None, known: Evidence) -> bool:
    """Whether the recorded successor is this one, or was erased and its links were redirected to this one."""
    reached, edge = set[UUID](), recorded
    while edge != successor:
        if edge is None or edge in reached or edge not in known.gone:
            return False
        reached.add(edge)
        if not known.gone[edge]:
            return True  # erased before redirects were recorded
        (edge,) = known.gone[edge]
    return True


def _lateness(row: RowState, rows: Mapping[UUID, RowState], known: Evidence) -> Iterator[str]:
    """A problem if a row ended after its audit event, unless it or its successor was learned that late."""
    recorded = known.endings.get(row.id)
    if row.superseded_at is None or recorded is None or recorded.recorded_at is None:
        return
    latest = max(recorded.recorded_at, row.learned_at)
    next_one = row.superseded_by_id
    if next_one and (successor := rows.get(next_one) or known.elsewhere.get(next_one)):
        latest = max(latest, successor.learned_at)
    if row.superseded_at - latest > _UNEVEN:
        yield "ended after the audit told of its end"


def _has_gap(row: RowState, known: Evidence) -> bool:
    """Whether a gap in time may precede the successor, because a state between them was forgotten.

    A state with equal start and end was inserted into the past, possibly at the start of such a link.
    """
    if row.learned_at == row.superseded_at:
        return True
    recorded = known.endings.get(row.id)
    return recorded is not None and recorded.readable and recorded.successor in known.gone


def _link(row: RowState, rows: Mapping[UUID, RowState], known: Evidence) -> Iterator[str]:
    if row.superseded_by_id is None:
        return
    successor = rows.get(row.superseded_by_id) or known.elsewhere.get(row.superseded_by_id)
    if successor is None:
        if row.superseded_by_id not in known.unread:
            yield "points to a successor that is not there"
        return
    if row.place != successor.place:
        yield "has a successor of another owner or scope"
    if row.superseded_at is not None and row.superseded_at < successor.learned_at and not _has_gap(row, known):
        yield "ended before its successor was learned"


def _restoration(row: RowState, rows: Mapping[UUID, RowState], known: Evidence) -> Iterator[str]:
    """Problems of a row that an undo restored: the old row must have ended, with the same place and text."""
    if row.restores is None:
        return
    old = rows.get(row.restores) or known.elsewhere.get(row.restores)
    if old is None:
        if row.restores not in known.gone and row.restores not in known.unread:
            yield "brings back what never was there"
    elif old.place != row.place:
        yield "brings back what belongs to another owner or scope"
    elif old.is_current:
        yield "brings back what is believed"
    elif old.content_hash != row.content_hash:
        yield "brings back other words than there were"


def _promotion(row: RowState, rows: Mapping[UUID, RowState], known: Evidence) -> Iterator[str]:
    """Problems of a promoted copy: an event must name it, and the original's scope must be narrower."""
    if row.promoted_from is None:
        return
    copies = known.promoted.get(row.promoted_from, frozenset())
    if row.id not in copies and None not in copies:
        yield "was promoted without an audit event"
    original = rows.get(row.promoted_from) or known.elsewhere.get(row.promoted_from)
    if original is None:
        return
    if _WIDTH.index(Scope(original.scope)) >= _WIDTH.index(Scope(row.scope)):
        yield "was promoted from a scope that is not narrower"
    if row.tenant_id is not None and original.tenant_id != row.tenant_id:
        yield "was promoted from another tenant"
    if row.user_id is not None and original.user_id != row.user_id:
        yield "was promoted from another owner"


def _doubles(rows: Mapping[UUID, RowState]) -> Iterator[tuple[UUID, str]]:
    """Problems of current rows that share a text or a key within an owner, scope, task and app."""
    current = [row for row in rows.values() if row.is_current]
    wordings = Counter((row.place, row.app, row.content_hash) for row in current)
    keys = Counter((row.place, row.app, row.key) for row in current if row.key)
    for row in current:
        if wordings[row.place, row.app, row.content_hash] > 1:
            yield row.id, "says the same as another one that is believed"
        if row.key and keys[row.place, row.app, row.key] > 1:
            yield row.id, "has the key of another one that is believed"


def _cycles(rows: Mapping[UUID, RowState]) -> Iterator[UUID]:
    """The rows that are part of a cycle of successors."""
    finished: set[UUID] = set()
    for start in rows:
        walk: dict[UUID, None] = {}
        here: UUID | None = start
        while here is not None and here in rows and here not in finished and here not in walk:
            walk[here] = None
            here = rows[here].superseded_by_id
        if here is not None and here in walk:
            members = list(walk)
            yield from members[members.index(here) :]
        finished.update(walk)

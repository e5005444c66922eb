"""The invariants of supersession, each checked on plain values: the rows against the audit log.

Pure: no database. A check yields what is wrong with a row as a sentence without any word of the memory.
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

# Clocks of two machines differ: an audit event may precede its ending by so much.
_UNEVEN = timedelta(minutes=5)
# From the narrowest to the widest.
_WIDTH = (Scope.TASK, Scope.USER, Scope.TENANT, Scope.GLOBAL)


@dataclass(frozen=True, slots=True)
class RowState:
    """A fact or playbook without its words; `rehashed` is the hash of the words that it has now."""

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

    @property
    def place(self) -> Place:
        """Owner, scope and task: a chain stays within one."""
        return (self.tenant_id, self.user_id, self.scope, self.task)

    @property
    def owner(self) -> Owner:
        """Whose it is."""
        return Owner(self.tenant_id, self.user_id)

    @property
    def is_current(self) -> bool:
        """Whether it is believed."""
        return self.status in CURRENT


@dataclass(frozen=True, slots=True)
class RecordedEnding:
    """The latest audit event that closes a row: the successor that it names (not if it was erased), and when."""

    readable: bool
    successor: UUID | None = None
    recorded_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known around one owner's rows.

    `endings` are by row. `elsewhere` are rows of other owners that rows of this one name. `gone` are erased rows, each
    with the rows to which its links were redirected (an empty set: no event recorded it). `promoted` are the copies
    that each promotion event names (None: its payload was erased). `closed` are rows with an ending and no revival in
    the audit log. `written` is the hash of the words with which the log says that a row was written. `unread` are rows
    with a value that cannot be read, each a fault of its own.
    """

    endings: Mapping[UUID, RecordedEnding] = field(default_factory=dict)
    elsewhere: Mapping[UUID, RowState] = field(default_factory=dict)
    gone: Mapping[UUID, AbstractSet[UUID | None]] = field(default_factory=dict)
    promoted: Mapping[UUID, AbstractSet[UUID | None]] = field(default_factory=dict)
    closed: AbstractSet[UUID] = frozenset()
    written: Mapping[UUID, str] = field(default_factory=dict)
    unread: AbstractSet[UUID] = frozenset()


def problems(rows: Mapping[UUID, RowState], known: Evidence) -> Iterator[tuple[UUID, str]]:
    """What is wrong with the rows of one owner, and with which."""
    for row in rows.values():
        checks = (_ending(row, known), _lateness(row, rows, known), _link(row, rows, known))
        origins = (_restoration(row, rows, known), _promotion(row, rows, known))
        for problem in chain(_state(row), _storage(row), _words(row, known), *checks, *origins):
            yield row.id, problem
    yield from _doubles(rows)
    yield from ((memory_id, "is part of a cycle") for memory_id in _cycles(rows))


def _state(row: RowState) -> Iterator[str]:
    """Status, times, link and reason of an ending agree."""
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
    """Where it is kept agrees with its state, and its words with their hash."""
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
    """The words are those of the audit, also if somebody changed their hash as well."""
    if row.rehashed == row.content_hash and known.written.get(row.id, row.content_hash) != row.content_hash:
        yield "has other words than the audit tells of"


def _ending(row: RowState, known: Evidence) -> Iterator[str]:
    """An audit event tells of each ending, and names exactly this successor, or one that was forgotten since."""
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
    """Whether the recorded successor is this one, or was erased and its links now lead to this one."""
    reached, edge = set[UUID](), recorded
    while edge != successor:
        if edge is None or edge in reached or edge not in known.gone:
            return False
        reached.add(edge)
        if not known.gone[edge]:
            return True  # erased when nobody noted it yet
        (edge,) = known.gone[edge]
    return True


def _lateness(row: RowState, rows: Mapping[UUID, RowState], known: Evidence) -> Iterator[str]:
    """Faults of a row that ended later than its audit event, unless it or its successor was learned so late."""
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
    """Whether its link may lead over a gap in time, past a state that was forgotten.

    What was believed at no time was put into the history, perhaps just where such a link began.
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
    """What an undo brought back had ended, in the same place and in the same words."""
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
    """A promotion tells of each copy; the original, if it is still there, has a narrower scope."""
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
    """One current row for each wording, and for each key, of an owner, scope and task."""
    current = [row for row in rows.values() if row.is_current]
    wordings = Counter((row.place, row.content_hash) for row in current)
    keys = Counter((row.place, row.key) for row in current if row.key)
    for row in current:
        if wordings[row.place, row.content_hash] > 1:
            yield row.id, "says the same as another one that is believed"
        if row.key and keys[row.place, row.key] > 1:
            yield row.id, "has the key of another one that is believed"


def _cycles(rows: Mapping[UUID, RowState]) -> Iterator[UUID]:
    """The rows from which following successors comes back to the start of the walk."""
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

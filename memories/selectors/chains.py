"""verify_chains: re-derive every invariant of supersession from the rows and the audit.

Checked for each link: the successor exists, belongs to the same owner, scope and task; status, times and link agree;
there is no cycle; an audit event tells of it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from uuid import UUID

from memories.models import Fact, Playbook
from memories.types import Kind, Status
from tenants.models import AuditEvent

# The audit actions that close a row, by kind.
_CLOSING = {
    Kind.SEMANTIC: ("fact.superseded", "fact.retired"),
    Kind.PROCEDURAL: ("playbook.superseded", "playbook.retired"),
}


# The audit action that erases a row.
_ERASING = {Kind.SEMANTIC: "fact.forgotten", Kind.PROCEDURAL: "playbook.forgotten"}


@dataclass(frozen=True, slots=True)
class ChainFault:
    """One broken invariant of one row."""

    kind: Kind
    memory_id: UUID
    problem: str


@dataclass(frozen=True, slots=True)
class ChainsReport:
    """How many rows and links were checked, and what was wrong."""

    rows: int
    links: int
    faults: tuple[ChainFault, ...]

    @property
    def ok(self) -> bool:
        """Whether every invariant holds."""
        return not self.faults


@dataclass(frozen=True, slots=True)
class _Row:
    id: UUID
    tenant_id: UUID | None
    user_id: UUID | None
    scope: str
    task: str | None
    status: str
    learned_at: datetime
    superseded_at: datetime | None
    superseded_by_id: UUID | None

    @property
    def place(self) -> tuple[UUID | None, UUID | None, str, str | None]:
        """Owner, scope and task: a chain stays within one."""
        return (self.tenant_id, self.user_id, self.scope, self.task)


def verify_chains() -> ChainsReport:
    """Check the chains of all owners. For commands: it sees every tenant and returns ids only."""
    columns = [column.name for column in fields(_Row)]
    faults: list[ChainFault] = []
    checked = links = 0
    for kind, model in ((Kind.SEMANTIC, Fact), (Kind.PROCEDURAL, Playbook)):
        rows = {values[0]: _Row(*values) for values in model.objects.order_by("pk").values_list(*columns).iterator()}
        forgetful = set(
            AuditEvent.objects.filter(action=_ERASING[kind]).values_list("tenant_id", "owner_id").distinct()
        )
        told = set(AuditEvent.objects.filter(action__in=_CLOSING[kind]).values_list("target_id", flat=True))
        checked += len(rows)
        links += sum(row.superseded_by_id is not None for row in rows.values())
        for row in rows.values():
            gap_expected = (row.tenant_id, row.user_id) in forgetful
            problems = [*_state_problems(row, told), *_link_problems(row, rows, gap_expected=gap_expected)]
            faults += [ChainFault(kind, row.id, problem) for problem in problems]
        faults += [ChainFault(kind, memory_id, "is part of a cycle") for memory_id in _cycles(rows)]
    return ChainsReport(checked, links, tuple(faults))


def _state_problems(row: _Row, told: Container[UUID | None]) -> Iterator[str]:
    superseded = row.status == Status.SUPERSEDED
    if superseded and row.superseded_at is None:
        yield "is superseded without a time"
    if not superseded and row.status != Status.EVICTED and row.superseded_at is not None:
        yield "has a time of supersession but is not superseded"
    if superseded and row.id not in told:
        yield "was superseded without an audit event"
    if row.superseded_at is not None and row.superseded_at < row.learned_at:
        yield "ended before it began"
    if row.superseded_by_id is not None and not superseded and row.status != Status.EVICTED:
        yield "has a successor but is not superseded"


def _link_problems(row: _Row, rows: Mapping[UUID, _Row], *, gap_expected: bool) -> Iterator[str]:
    """`gap_expected`: the owner forgot something, so a link may bridge the time of a state that is gone."""
    if row.superseded_by_id is None:
        return
    successor = rows.get(row.superseded_by_id)
    if successor is None:
        yield "points to a successor that is not there"
        return
    if row.place != successor.place:
        yield "has a successor of another owner or scope"
    if not gap_expected and row.superseded_at is not None and row.superseded_at < successor.learned_at:
        yield "ended before its successor was learned"


def _cycles(rows: Mapping[UUID, _Row]) -> Iterator[UUID]:
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

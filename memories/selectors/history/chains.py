"""Verifies supersession for all owners or one: re-derives every invariant from the rows and the audit log.

`chain_checks` has the invariants, and `chain_events` the recorded state of each row. Episodes and catalog entries have
no chain; their words are compared with what the event of their writing records. The verification handles one owner
at a time, so that the largest owner bounds its use of memory. Results hold ids and digests, never text.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from math import inf
from uuid import UUID

from memories.models import CHAINED_MODELS
from memories.selectors.history.chain_checks import Evidence, RowState, problems
from memories.selectors.history.chain_events import RecordedRow, deviations, id_in, recorded_rows
from memories.selectors.history.listing import NOUN
from memories.selectors.history.rows import (
    CANNOT_BE_READ,
    EventPlace,
    Fault,
    UnreadableRow,
    columns_of,
    each_row,
    ownerless_rows,
    owners_of_memories,
    record_from,
    states,
    states_by_owner,
    vanished,
    wording_faults,
)
from memories.selectors.staff.attention import MOST, Tenants, chains_of
from memories.types import Kind, Owner
from memoryhub.db.statements import in_statements
from tenants.audit.chain import PLATFORM_CHAIN, owner_chain, tenant_chain
from tenants.audit.verification import broken
from tenants.models import AuditEvent, ChainCheck, Checked, said_in

__all__ = ["owners_of_memories"]

_ERASING = ("forgotten", "erased")


@dataclass(frozen=True, slots=True)
class ChainFault:
    """A violated invariant of one row, and the audit event that records it, if there is one.

    `memory_id` is None if the id itself cannot be read.
    """

    kind: Kind
    memory_id: UUID | None
    problem: str
    event: EventPlace | None = None


@dataclass(frozen=True, slots=True)
class ChainsReport:
    """The number of rows and links checked, and the faults found."""

    rows: int
    links: int
    faults: tuple[ChainFault, ...]

    @property
    def ok(self) -> bool:
        """Whether every invariant holds."""
        return not self.faults

    @property
    def first_bad(self) -> tuple[EventPlace, ...]:
        """The first event with a fault in each chain of the audit log, sorted by chain."""
        first: dict[str, EventPlace] = {}
        for event in sorted((fault.event for fault in self.faults if fault.event), key=lambda event: event.sequence):
            first.setdefault(event.chain, event)
        return tuple(first[chain] for chain in sorted(first))


def verify_chains() -> ChainsReport:
    """Check the chains of all owners. For commands: it reads every tenant and returns ids only."""
    reports = (
        _verified(kind, owner, _of(kind, owner), rows)
        for kind in CHAINED_MODELS
        for owner, rows in states_by_owner(kind)
    )
    return _joined(chain(reports, _wordings(None), _vanished()))


def verify_owner(owner: Owner) -> ChainsReport:
    """Check the chains of one owner: a member, a tenant's shared memory, or the memory that all tenants share.

    The last includes the rows whose owner cannot be read.
    """
    reports = [_verified(kind, owner, _of(kind, owner)) for kind in CHAINED_MODELS]
    if owner == Owner(None, None):
        reports += [_verified(kind, None, partial(ownerless_rows, kind)) for kind in CHAINED_MODELS]
    return _joined(chain(reports, _wordings(owner), _vanished(chain_of_owner(owner))))


def verify_rows(kind: Kind, owner: Owner, ids: Collection[UUID]) -> ChainsReport:
    """Check some rows of one owner, such as the chain that a page shows, against the audit log."""
    return _verified(kind, owner, lambda: states(kind, pk__in=sorted(ids)))


def chain_of_owner(owner: Owner) -> str:
    """The chain of the audit log for an owner: the member's, the tenant's, or the platform's."""
    if owner.tenant_id is None:
        return PLATFORM_CHAIN
    return owner_chain(owner.tenant_id, owner.user_id) if owner.user_id else tenant_chain(owner.tenant_id)


def _vanished(of: str = "") -> Iterator[ChainsReport]:
    """Faults for rows that an audit log names as created and that are missing without an erasure."""
    for kind, lost, event in vanished(of):
        fault = ChainFault(kind, lost, "is not there although the audit tells of no erasure", event)
        yield ChainsReport(0, 0, (fault,))


def _wordings(owner: Owner | None) -> Iterator[ChainsReport]:
    """Faults of episodes and catalog entries. Found twice, because an erasure may fall between two reads."""
    found = {(each.kind, each.id): each for each in wording_faults(owner)}
    if found:
        again = {(each.kind, each.id) for each in wording_faults(owner)}
        for key in found.keys() & again:
            each = found[key]
            yield ChainsReport(0, 0, (ChainFault(each.kind, each.id, each.problem, each.event),))


def _joined(reports: Iterable[ChainsReport]) -> ChainsReport:
    rows, links, faults = 0, 0, list[ChainFault]()
    for report in reports:
        rows, links = rows + report.rows, links + report.links
        faults += report.faults
    return ChainsReport(rows, links, tuple(faults))


class _OwnedRows:
    """All rows of one kind of one owner, and the faults found in them with their events."""

    def __init__(self, kind: Kind, each: Iterable[RowState | UnreadableRow]) -> None:
        self.kind = kind
        self.rows: dict[UUID, RowState] = {}
        self.unread: list[UnreadableRow] = []
        self.found: dict[Fault, EventPlace | None] = {}
        self.recorded: dict[UUID, RecordedRow] = {}
        for row in each:
            if isinstance(row, UnreadableRow):
                self.unread.append(row)
                self.found[row.id, CANNOT_BE_READ] = None
            else:
                self.rows[row.id] = row
        for ids in in_statements(sorted({*self.rows, *(row.id for row in self.unread if row.id)})):
            self.recorded |= recorded_rows(kind, self.rows, ids)
            self._compare([row_id for row_id in ids if row_id in self.rows])
        for fault in problems(self.rows, self._evidence()):
            self.found.setdefault(fault, None)

    def faults(self) -> list[ChainFault]:
        """The faults, each with the event that set or recorded it."""
        faults = []
        for (row_id, problem), by in self.found.items():
            says = self.recorded.get(row_id) if row_id else None
            faults.append(ChainFault(self.kind, row_id, problem, by or (says.recording(problem) if says else None)))
        return faults

    def _compare(self, ids: Collection[UUID]) -> None:
        """Add faults for rows that differ from their recorded state."""
        columns = {each["id"]: each for each in columns_of(self.kind, ids)}
        for row_id in ids:
            says = self.recorded.get(row_id)
            if row_id not in columns:
                self.found[row_id, CANNOT_BE_READ] = says.latest if says else None
            elif says is None:
                self.found[row_id, "was written without an audit event"] = None
            else:
                stands = record_from(self.kind, columns[row_id], like=says.record)
                found = deviations(says, self.rows[row_id], stands)
                self.found |= {(row_id, problem): by for problem, by in found}

    def _evidence(self) -> Evidence:
        rows, noun = self.rows, NOUN[self.kind]
        recorded = {pk: says for pk, says in self.recorded.items() if pk in rows}
        endings = {pk: says.ending for pk, says in recorded.items() if says.ending and rows[pk].superseded_at}
        named = {id_ for row in rows.values() for id_ in (row.superseded_by_id, row.restores, row.promoted_from) if id_}
        missing = named - rows.keys()
        successors = {ending.successor for ending in endings.values() if ending.successor}
        beside = [row for ids in in_statements(sorted(missing)) for row in states(self.kind, pk__in=ids)]
        return Evidence(
            endings=endings,
            elsewhere={row.id: row for row in beside if isinstance(row, RowState)},
            gone=_gone(noun, (missing | successors) - rows.keys()),
            promoted=_promoted(noun, {row.promoted_from for row in rows.values() if row.promoted_from}),
            closed={pk for pk, says in recorded.items() if says.closed and rows[pk].is_current},
            written={pk: says.written for pk, says in recorded.items() if says.written is not None},
            unread={row.id for row in (*self.unread, *beside) if isinstance(row, UnreadableRow) and row.id},
        )


Rows = Iterable[RowState | UnreadableRow]


def _of(kind: Kind, owner: Owner | None) -> Callable[[], Rows]:
    if owner is None:
        return partial(ownerless_rows, kind)
    return lambda: states(kind, tenant_id=owner.tenant_id, user_id=owner.user_id)


def _verified(kind: Kind, owner: Owner | None, read: Callable[[], Rows], rows: Rows | None = None) -> ChainsReport:
    """The report on these rows of one kind of one owner, sorted by the sequence of the bad event.

    Faults count only if a second read finds them again, because a write may fall between the reads of rows and events.
    """
    known = _OwnedRows(kind, read() if rows is None else rows)
    if known.found and owner is not None:
        before, known = known.found.keys(), _OwnedRows(kind, read())
        known.found = {fault: by for fault, by in known.found.items() if fault in before}
    links = sum(row.superseded_by_id is not None for row in known.rows.values())
    return ChainsReport(len(known.rows) + len(known.unread), links, tuple(sorted(known.faults(), key=_place)))


def _place(fault: ChainFault) -> tuple[float, str]:
    return (fault.event.sequence if fault.event else inf, str(fault.memory_id))


def _gone(noun: str, ids: Collection[UUID]) -> dict[UUID, set[UUID | None]]:
    """Those of `ids` that were erased, each with the targets of its redirected links, if recorded.

    A target may be erased as well, so the lookup repeats for it.
    """
    gone: dict[UUID, set[UUID | None]] = {}
    edge = set(ids)
    while edge:
        bridges = set[UUID]()
        for target, after in _recorded_after([f"{noun}.{verb}" for verb in _ERASING], edge):
            gone[target] = {id_in(after, "bridged_to")} if "bridged_to" in after else set()
            bridges |= {bridge for bridge in gone[target] if bridge}
        edge = bridges - gone.keys()
    return gone


def _promoted(noun: str, originals: Collection[UUID]) -> dict[UUID, set[UUID | None]]:
    """The copies of each of `originals` that the audit log names; None for an erased payload."""
    copies: dict[UUID, set[UUID | None]] = defaultdict(set)
    for target, after in _recorded_after([f"{noun}.promoted"], originals):
        copies[target].add(id_in(after, "copy"))
    return copies


def _recorded_after(actions: list[str], targets: Collection[UUID]) -> Iterator[tuple[UUID, Mapping[str, object]]]:
    """The target and the `after` of these events."""
    for ids in in_statements(sorted(targets)):
        events = AuditEvent.objects.filter(action__in=actions, target_id__in=ids).order_by("created_at", "sequence")
        for values in each_row(events, ("id", "target_id", "payload__document")):
            if not isinstance(values, UnreadableRow):
                yield values[1], said_in(values[2])["after"] or {}


_ID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_CHAIN = re.compile(rf"(?:owner:(?P<owner>{_ID}):(?P<user>{_ID})|tenant:(?P<tenant>{_ID})|platform)")
_MEMORY = re.compile(rf"(?P<kind>{'|'.join(kind.value for kind in CHAINED_MODELS)}) (?P<id>{_ID}) ")


@dataclass(frozen=True, slots=True)
class BrokenChain:
    """A chain of a member (`user_id`), of a tenant, or of the platform, with its failed verifications."""

    tenant_id: UUID | None
    user_id: UUID | None
    checks: tuple[ChainCheck, ...]


@dataclass(frozen=True, slots=True)
class NamedMemory:
    """A memory that a failed verification of supersession names."""

    kind: Kind
    id: UUID


def broken_chains(tenants: Tenants) -> list[BrokenChain]:
    """The chains of these tenants that fail verification, latest failure first; reads at most MOST failures."""
    found: dict[str, list[ChainCheck]] = {}
    for check in broken().filter(chains_of(tenants)).order_by("-checked_at", "-id")[:MOST]:
        found.setdefault(check.chain, []).append(check)
    return [_broken(chain, checks) for chain, checks in found.items()]


def named_by(checks: Iterable[ChainCheck]) -> dict[int, NamedMemory]:
    """The memory at the start of each failed verification of supersession, if it still exists; by id of the check."""
    named: dict[int, NamedMemory] = {}
    for check in checks:
        match = _MEMORY.match(check.reason) if check.what == Checked.SUPERSESSION else None
        if match:
            named[check.pk] = NamedMemory(Kind(match["kind"]), UUID(match["id"]))
    rows = {kind: model.objects.unscoped("proof of every chain") for kind, model in CHAINED_MODELS.items()}
    return {key: each for key, each in named.items() if rows[each.kind].filter(pk=each.id).exists()}


def _broken(chain: str, checks: list[ChainCheck]) -> BrokenChain:
    match = _CHAIN.fullmatch(chain)
    tenant = (match["owner"] or match["tenant"]) if match else None
    user = match["user"] if match else None
    ordered = sorted(checks, key=lambda check: check.what)
    return BrokenChain(UUID(tenant) if tenant else None, UUID(user) if user else None, tuple(ordered))

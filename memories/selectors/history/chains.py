"""Verifies supersession, of all owners or of one: re-derives every invariant from the rows and the audit log.

The invariants are in `chain_checks`, the state that the audit log gives each row in `chain_events`. Owner by owner, so
that the largest owner bounds the memory. Results hold ids and digests, never a text.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
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
    pieces,
    record_from,
    states,
    states_by_owner,
    vanished,
)
from memories.selectors.staff.attention import MOST, Tenants, chains_of
from memories.types import Kind, Owner
from tenants.audit.chain import PLATFORM_CHAIN, owner_chain, tenant_chain
from tenants.audit.verification import broken
from tenants.models import AuditEvent, ChainCheck, Checked, said_in

__all__ = ["owners_of_memories"]

_ERASING = ("forgotten", "erased")


@dataclass(frozen=True, slots=True)
class ChainFault:
    """One broken invariant of one row, and the audit event that tells of what is wrong with it, if there is one.

    `memory_id` is None where the id itself cannot be read; the problem says which row of the table it is.
    """

    kind: Kind
    memory_id: UUID | None
    problem: str
    event: EventPlace | None = None


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

    @property
    def first_bad(self) -> tuple[EventPlace, ...]:
        """The first bad event of each chain of the audit log that tells of a fault, by chain."""
        first: dict[str, EventPlace] = {}
        for event in sorted((fault.event for fault in self.faults if fault.event), key=lambda event: event.sequence):
            first.setdefault(event.chain, event)
        return tuple(first[chain] for chain in sorted(first))


def verify_chains() -> ChainsReport:
    """Check the chains of all owners. For commands: it sees every tenant and returns ids only."""
    reports = (_verified(kind, owner, rows) for kind in CHAINED_MODELS for owner, rows in states_by_owner(kind))
    return _joined(chain(reports, _vanished()))


def verify_owner(owner: Owner) -> ChainsReport:
    """Check the chains of one owner: of a member, of what a tenant shares, or of what all share.

    With the last come the rows whose owner cannot be read.
    """
    reports = [_verified(kind, owner, _states_of(kind, owner)) for kind in CHAINED_MODELS]
    if owner == Owner(None, None):
        reports += [_verified(kind, None, ownerless_rows(kind)) for kind in CHAINED_MODELS]
    return _joined(chain(reports, _vanished(chain_of_owner(owner))))


def chain_of_owner(owner: Owner) -> str:
    """The chain of the audit log that speaks of an owner: the member's, the tenant's, or the platform's."""
    if owner.tenant_id is None:
        return PLATFORM_CHAIN
    return owner_chain(owner.tenant_id, owner.user_id) if owner.user_id else tenant_chain(owner.tenant_id)


def _vanished(of: str = "") -> Iterator[ChainsReport]:
    """The rows that a chain of the audit log names (or any chain), and that are missing."""
    for kind, lost, event in vanished(of):
        fault = ChainFault(kind, lost, "is not there although the audit tells of no erasure", event)
        yield ChainsReport(0, 0, (fault,))


def _joined(reports: Iterable[ChainsReport]) -> ChainsReport:
    rows, links, faults = 0, 0, list[ChainFault]()
    for report in reports:
        rows, links = rows + report.rows, links + report.links
        faults += report.faults
    return ChainsReport(rows, links, tuple(faults))


class _OwnedRows:
    """All rows of one owner, of one kind, and the faults found in them, with the event that records each."""

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
        for ids in pieces({*self.rows, *(row.id for row in self.unread if row.id)}):
            self.recorded |= recorded_rows(kind, self.rows, ids)
            self._compare([row_id for row_id in ids if row_id in self.rows])
        for fault in problems(self.rows, self._evidence()):
            self.found.setdefault(fault, None)

    def faults(self) -> list[ChainFault]:
        """What was found, each with the event that set or recorded it."""
        faults = []
        for (row_id, problem), by in self.found.items():
            says = self.recorded.get(row_id) if row_id else None
            faults.append(ChainFault(self.kind, row_id, problem, by or (says.recording(problem) if says else None)))
        return faults

    def _compare(self, ids: Collection[UUID]) -> None:
        """Note in what some of the rows differ from what the audit log says of them."""
        columns = {each["id"]: each for each in columns_of(self.kind, ids)}
        for row_id in ids:
            says = self.recorded.get(row_id)
            if row_id not in columns:
                self.found[row_id, CANNOT_BE_READ] = says.latest if says else None
            elif says is None:
                self.found[row_id, "was written without an audit event"] = None
            else:
                found = deviations(says, self.rows[row_id], record_from(columns[row_id]))
                self.found |= {(row_id, problem): by for problem, by in found}

    def _evidence(self) -> Evidence:
        rows, noun = self.rows, NOUN[self.kind]
        recorded = {pk: says for pk, says in self.recorded.items() if pk in rows}
        endings = {pk: says.ending for pk, says in recorded.items() if says.ending and rows[pk].superseded_at}
        named = {id_ for row in rows.values() for id_ in (row.superseded_by_id, row.restores, row.promoted_from) if id_}
        missing = named - rows.keys()
        successors = {ending.successor for ending in endings.values() if ending.successor}
        beside = [row for ids in pieces(missing) for row in states(self.kind, pk__in=ids)]
        return Evidence(
            endings=endings,
            elsewhere={row.id: row for row in beside if isinstance(row, RowState)},
            gone=_gone(noun, (missing | successors) - rows.keys()),
            promoted=_promoted(noun, {row.promoted_from for row in rows.values() if row.promoted_from}),
            closed={pk for pk, says in recorded.items() if says.closed and rows[pk].is_current},
            written={pk: says.written for pk, says in recorded.items() if says.written is not None},
            unread={row.id for row in (*self.unread, *beside) if isinstance(row, UnreadableRow) and row.id},
        )


def _states_of(kind: Kind, owner: Owner) -> Iterator[RowState | UnreadableRow]:
    return states(kind, tenant_id=owner.tenant_id, user_id=owner.user_id)


def _verified(kind: Kind, owner: Owner | None, each: Iterable[RowState | UnreadableRow]) -> ChainsReport:
    """The report on all rows of one owner, of one kind, the first bad event first.

    What is found is looked at again, so that a write in between is not taken for a fault.
    """
    known = _OwnedRows(kind, each)
    if known.found and owner is not None:
        before, known = known.found.keys(), _OwnedRows(kind, _states_of(kind, owner))
        known.found = {fault: by for fault, by in known.found.items() if fault in before}
    links = sum(row.superseded_by_id is not None for row in known.rows.values())
    return ChainsReport(len(known.rows) + len(known.unread), links, tuple(sorted(known.faults(), key=_place)))


def _place(fault: ChainFault) -> tuple[float, str]:
    return (fault.event.sequence if fault.event else inf, str(fault.memory_id))


def _gone(noun: str, ids: Collection[UUID]) -> dict[UUID, set[UUID | None]]:
    """Those of `ids` that were erased, each with where links to it were led on to, if that was noted.

    What they were led on to may be gone as well, so it is asked for in its turn.
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
    """The copies of each of `originals` that the audit log names; None where the names were erased."""
    copies: dict[UUID, set[UUID | None]] = defaultdict(set)
    for target, after in _recorded_after([f"{noun}.promoted"], originals):
        copies[target].add(id_in(after, "copy"))
    return copies


def _recorded_after(actions: list[str], targets: Collection[UUID]) -> Iterator[tuple[UUID, Mapping[str, object]]]:
    """The target and the `after` of these events."""
    for ids in pieces(targets):
        events = AuditEvent.objects.filter(action__in=actions, target_id__in=ids).order_by("created_at", "sequence")
        for values in each_row(events, ("id", "target_id", "payload__document")):
            if not isinstance(values, UnreadableRow):
                yield values[1], said_in(values[2])["after"] or {}


_ID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_CHAIN = re.compile(rf"(?:owner:(?P<owner>{_ID}):(?P<user>{_ID})|tenant:(?P<tenant>{_ID})|platform)")
_MEMORY = re.compile(rf"(?P<kind>{'|'.join(kind.value for kind in CHAINED_MODELS)}) (?P<id>{_ID}) ")


@dataclass(frozen=True, slots=True)
class BrokenChain:
    """A chain of a member (`user_id`), of a tenant's own affairs, or of the platform, and its proofs that failed."""

    tenant_id: UUID | None
    user_id: UUID | None
    checks: tuple[ChainCheck, ...]


@dataclass(frozen=True, slots=True)
class NamedMemory:
    """A memory that a proof of supersession names."""

    kind: Kind
    id: UUID


def broken_chains(tenants: Tenants) -> list[BrokenChain]:
    """Those of these tenants, the one that failed last first; MOST failed proofs at most."""
    found: dict[str, list[ChainCheck]] = {}
    for check in broken().filter(chains_of(tenants)).order_by("-checked_at", "-id")[:MOST]:
        found.setdefault(check.chain, []).append(check)
    return [_broken(chain, checks) for chain, checks in found.items()]


def named_by(checks: Iterable[ChainCheck]) -> dict[int, NamedMemory]:
    """The memory that each failed proof of supersession begins with, if it is still there; by id of the proof."""
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

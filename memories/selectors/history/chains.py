"""verify_chains, of all owners or of one: re-derive every invariant of supersession from the rows and the audit.

The invariants are in `chain_checks`, how the trail has each row stand in `chain_trail`. Owner by owner, so that memory
is bounded by what the largest owner has. What is found is looked at once more, so that a write meanwhile is not taken
for a fault.

Chains whose latest proof failed, each once with whatever of it failed; for whoever audits.

Invariant: nothing of a tenant that is not asked for is found. Proofs tell of ids and digests, never of a text.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, groupby
from math import inf
from uuid import UUID

from memories.models import CHAINED_MODELS
from memories.selectors.history.chain_checks import Ending, Evidence, State, problems
from memories.selectors.history.chain_events import AT_ONCE, NOUN, ToldBy, deviations, id_in, told_of
from memories.selectors.history.chain_rows import (
    OWNED,
    Fault,
    Unread,
    Whose,
    columns_of,
    states,
    states_of,
    telling_events,
    vanished,
)
from memories.selectors.history.row_record import record_from
from memories.selectors.staff.attention import MOST, Tenants, chains_of
from memories.types import Kind, Owner
from memoryhub.db.raw_rows import UNREADABLE, rows_as_stored
from tenants.audit.chain import PLATFORM_CHAIN, owner_chain, tenant_chain
from tenants.audit.verification import broken
from tenants.models import AuditEvent, ChainCheck, Checked
from tenants.models.audit import said_in

_ERASING = ("forgotten", "erased")


@dataclass(frozen=True, slots=True)
class ChainFault:
    """One broken invariant of one row, and the audit event that tells of what is wrong with it, if there is one.

    `memory_id` is None where the id itself cannot be read; the problem says which row of the table it is.
    """

    kind: Kind
    memory_id: UUID | None
    problem: str
    event: ToldBy | None = None


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
    def first_bad(self) -> tuple[ToldBy, ...]:
        """The first bad event of each chain of the audit trail that tells of a fault, by chain."""
        first: dict[str, ToldBy] = {}
        for event in sorted((fault.event for fault in self.faults if fault.event), key=lambda event: event.sequence):
            first.setdefault(event.chain, event)
        return tuple(first[chain] for chain in sorted(first))


def verify_chains() -> ChainsReport:
    """Check the chains of all owners. For commands: it sees every tenant and returns ids only."""
    reports = (
        _verified(kind, whose, rows)
        for kind in CHAINED_MODELS
        for whose, rows in groupby(states(kind, ordered_by=(*OWNED, "pk")), key=_whose)
    )
    return _joined(chain(reports, _vanished()))


def verify_owner(owner: Owner) -> ChainsReport:
    """Check the chains of one owner: of a member, of what a tenant shares, or of what all share.

    With the latter are the rows of which nobody can read any more whose they are.
    """
    whose = (owner.tenant_id, owner.user_id)
    reports = (_verified(kind, whose, states_of(kind, whose)) for kind in CHAINED_MODELS)
    return _joined(chain(reports, _vanished(chain_of_owner(owner))))


def owners_of_memories() -> list[Owner]:
    """Everybody who has a fact or a how-to, and whatever is shared, in a steady order. For commands and daily work."""
    pairs: set[Whose] = set()
    for model in CHAINED_MODELS.values():
        pairs |= {
            pair
            for pair, _ in rows_as_stored(
                model.objects.unscoped("proof of every chain").order_by().distinct(), OWNED, chunk_size=AT_ONCE
            )
        }
    if any(UNREADABLE in pair for pair in pairs):
        pairs = {pair for pair in pairs if UNREADABLE not in pair} | {(None, None)}
    return [Owner(*pair) for pair in sorted(pairs, key=lambda pair: [str(part or "") for part in pair])]


def chain_of_owner(owner: Owner) -> str:
    """The chain of the audit trail that speaks of an owner: the member's, the tenant's, or the platform's."""
    if owner.tenant_id is None:
        return PLATFORM_CHAIN
    return owner_chain(owner.tenant_id, owner.user_id) if owner.user_id else tenant_chain(owner.tenant_id)


def _vanished(of: str = "") -> Iterator[ChainsReport]:
    """The rows that a chain of the trail tells of (or all chains do), and that are not there."""
    for kind, lost, event in vanished(of):
        fault = ChainFault(kind, lost, "is not there although the audit tells of no erasure", event)
        yield ChainsReport(0, 0, (fault,))


def _joined(reports: Iterable[ChainsReport]) -> ChainsReport:
    rows, links, faults = 0, 0, list[ChainFault]()
    for report in reports:
        rows, links = rows + report.rows, links + report.links
        faults += report.faults
    return ChainsReport(rows, links, tuple(faults))


@dataclass(slots=True)
class _Known:
    """All rows of one owner, of one kind, and what the trail and the rows of other owners say about them."""

    kind: Kind
    rows: dict[UUID, State] = field(default_factory=dict)
    unread: list[Unread] = field(default_factory=list)
    found: dict[Fault, ToldBy | None] = field(default_factory=dict)
    endings: dict[UUID, Ending] = field(default_factory=dict)
    written: dict[UUID, str] = field(default_factory=dict)
    closed: set[UUID] = field(default_factory=set)

    def look(self, each: Iterable[State | Unread]) -> None:
        """Read the rows, and note what is wrong with which: by which event, where that is known at once."""
        for row in each:
            if isinstance(row, Unread):
                self.unread.append(row)
                self.found[row.id, row.problem] = None
            else:
                self.rows[row.id] = row
        for ids in _pieces(self.rows):
            self._hear(ids)
        for fault in problems(self.rows, self._evidence()):
            self.found.setdefault(fault, None)

    def _hear(self, ids: Collection[UUID]) -> None:
        """What the trail says of some of the rows, against how they stand."""
        told = told_of(self.kind, self.rows, ids)
        for row_id, columns, unread in columns_of(self.kind, ids):
            row, says = self.rows.get(row_id), told.get(row_id)
            if row is None:
                continue
            if unread:
                self.found[row_id, unread] = says.latest if says else None
            elif says is None:
                self.found[row_id, "was written without an audit event"] = None
            else:
                self.found |= {(row_id, what): by for what, by in deviations(says, row, record_from(columns))}
        for row_id, says in told.items():
            row = self.rows[row_id]
            if says.ending and row.superseded_at is not None:
                self.endings[row_id] = says.ending
            if says.closed and row.is_current:
                self.closed.add(row_id)
            if says.written is not None:
                self.written[row_id] = says.written

    def _evidence(self) -> Evidence:
        rows, noun = self.rows, NOUN[self.kind]
        named = {id_ for row in rows.values() for id_ in (row.superseded_by_id, row.restores, row.promoted_from) if id_}
        missing = named - rows.keys()
        told = {ending.successor for ending in self.endings.values() if ending.successor}
        beside = [row for ids in _pieces(missing) for row in states(self.kind, pk__in=ids)]
        return Evidence(
            endings=self.endings,
            elsewhere={row.id: row for row in beside if isinstance(row, State)},
            gone=_gone(noun, (missing | told) - rows.keys()),
            promoted=_promoted(noun, {row.promoted_from for row in rows.values() if row.promoted_from}),
            closed=self.closed,
            written=self.written,
            unread={row.id for row in (*self.unread, *beside) if isinstance(row, Unread) and row.id},
        )


def _verified(kind: Kind, whose: Whose, each: Iterable[State | Unread]) -> ChainsReport:
    """The report on all rows of one owner, of one kind; the first bad event comes first."""
    known = _Known(kind)
    known.look(each)
    if known.found and UNREADABLE not in whose:
        before, known = known.found.keys(), _Known(kind)
        known.look(states_of(kind, whose))
        known.found = {fault: by for fault, by in known.found.items() if fault in before}
    every: list[State | Unread] = [*known.rows.values(), *known.unread]
    owners = {row.id: _whose(row) for row in every if row.id}
    events = telling_events(owners, [fault for fault, by in known.found.items() if by is None and fault[0]])
    faults = [ChainFault(kind, *fault, by or events.get(fault)) for fault, by in known.found.items()]
    links = sum(row.superseded_by_id is not None for row in known.rows.values())
    return ChainsReport(len(known.rows) + len(known.unread), links, tuple(sorted(faults, key=_place)))


def _place(fault: ChainFault) -> tuple[float, str]:
    return (fault.event.sequence if fault.event else inf, str(fault.memory_id))


def _whose(row: State | Unread) -> Whose:
    return row.whose if isinstance(row, Unread) else (row.tenant_id, row.user_id)


def _gone(noun: str, ids: Collection[UUID]) -> dict[UUID, set[UUID | None]]:
    """Those of `ids` that were erased, each with where links to it were led on to, if that was noted.

    What they were led on to may be gone as well, so it is asked for in its turn.
    """
    gone: dict[UUID, set[UUID | None]] = {}
    edge = set(ids)
    while edge:
        bridges = set[UUID]()
        for target, after in _said([f"{noun}.{verb}" for verb in _ERASING], edge):
            gone[target] = {id_in(after, "bridged_to")} if "bridged_to" in after else set()
            bridges |= {bridge for bridge in gone[target] if bridge}
        edge = bridges - gone.keys()
    return gone


def _promoted(noun: str, originals: Collection[UUID]) -> dict[UUID, set[UUID | None]]:
    """The copies of each of `originals` that the trail tells of; None where it was erased which."""
    copies: dict[UUID, set[UUID | None]] = defaultdict(set)
    for target, after in _said([f"{noun}.promoted"], originals):
        copies[target].add(id_in(after, "copy"))
    return copies


def _said(actions: list[str], targets: Collection[UUID]) -> Iterator[tuple[UUID, Mapping[str, object]]]:
    """The target and the `after` of these events."""
    for ids in _pieces(targets):
        events = AuditEvent.objects.filter(action__in=actions, target_id__in=ids).order_by("created_at", "sequence")
        for (target, document), _ in rows_as_stored(events, ("target_id", "payload__document"), chunk_size=AT_ONCE):
            yield target, said_in(document)["after"] or {}


def _pieces(ids: Collection[UUID]) -> Iterator[list[UUID]]:
    every = sorted(ids)
    return (every[start : start + AT_ONCE] for start in range(0, len(every), AT_ONCE))


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
class Named:
    """A memory that a proof of supersession names."""

    kind: Kind
    id: UUID


def broken_chains(tenants: Tenants) -> list[BrokenChain]:
    """Those of these tenants, the one that failed last first; MOST failed proofs at most."""
    found: dict[str, list[ChainCheck]] = {}
    for check in broken().filter(chains_of(tenants)).order_by("-checked_at", "-id")[:MOST]:
        found.setdefault(check.chain, []).append(check)
    return [_broken(chain, checks) for chain, checks in found.items()]


def named_by(checks: Iterable[ChainCheck]) -> dict[int, Named]:
    """The memory that each failed proof of supersession begins with, if it is still there; by id of the proof."""
    named: dict[int, Named] = {}
    for check in checks:
        match = _MEMORY.match(check.reason) if check.what == Checked.SUPERSESSION else None
        if match:
            named[check.pk] = Named(Kind(match["kind"]), UUID(match["id"]))
    there: set[tuple[Kind, UUID]] = set()
    for kind, model in CHAINED_MODELS.items():
        ids = {each.id for each in named.values() if each.kind is kind}
        there |= {
            (kind, pk)
            for pk in model.objects.unscoped("proof of every chain")
            .filter(pk__in=ids)
            .order_by()
            .values_list("pk", flat=True)
            if ids
        }
    return {key: each for key, each in named.items() if (each.kind, each.id) in there}


def _broken(chain: str, checks: list[ChainCheck]) -> BrokenChain:
    match = _CHAIN.fullmatch(chain)
    tenant = (match["owner"] or match["tenant"]) if match else None
    user = match["user"] if match else None
    ordered = sorted(checks, key=lambda check: check.what)
    return BrokenChain(UUID(tenant) if tenant else None, UUID(user) if user else None, tuple(ordered))

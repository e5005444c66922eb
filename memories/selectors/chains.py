"""verify_chains, of all owners or of one: re-derive every invariant of supersession from the rows and the audit.

The invariants are in `chain_checks`. Owner by owner, so that memory is bounded by what the largest owner has; words are
hashed and let go. What is found is looked at once more, so that a write meanwhile is not taken for a fault.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import inf
from typing import Any
from uuid import UUID

from memories.hygiene.text import content_hash
from memories.models import Fact, Playbook
from memories.selectors.chain_checks import Ending, Evidence, State, problems
from memories.selectors.chain_events import ToldBy, telling_events
from memories.types import Kind, Owner
from tenants.audit import PLATFORM_CHAIN, owner_chain, tenant_chain
from tenants.models import AuditEvent, AuditPayload

_MODELS: Mapping[Kind, type[Fact | Playbook]] = {Kind.SEMANTIC: Fact, Kind.PROCEDURAL: Playbook}
_NOUN = {Kind.SEMANTIC: "fact", Kind.PROCEDURAL: "playbook"}
_CLOSING, _REVIVED, _ERASING = ("superseded", "retired"), "revived", ("forgotten", "erased")
_IDS_PER_STATEMENT = 500
_OWNED = ("tenant_id", "user_id")

_COLUMNS = (
    "id", "tenant_id", "user_id", "scope", "task", "content_hash", "status", "learned_at", "superseded_at",
    "superseded_by_id", "contradiction", "retracted", "restores", "promoted_from", "archived_at", "evicted_at",
    "evicted_from",
)  # fmt: skip
_WORDS = {Kind.SEMANTIC: ("text",), Kind.PROCEDURAL: ("title", "trigger", "text", "steps")}


@dataclass(frozen=True, slots=True)
class ChainFault:
    """One broken invariant of one row, and the audit event that tells of what is wrong with it, if there is one."""

    kind: Kind
    memory_id: UUID
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
    return _joined(
        _verified(kind, Owner(tenant_id, user_id), rows)
        for kind in _MODELS
        for (tenant_id, user_id), rows in groupby(
            _states(kind, ordered_by=("tenant_id", "user_id", "pk")), key=lambda row: (row.tenant_id, row.user_id)
        )
    )


def owners_of_memories() -> list[Owner]:
    """Everybody who has a fact or a how-to, and whatever is shared, in a steady order. For commands and daily work."""
    pairs = {pair for model in _MODELS.values() for pair in model.objects.order_by().values_list(*_OWNED).distinct()}
    return [Owner(*pair) for pair in sorted(pairs, key=lambda pair: [str(part or "") for part in pair])]


def chain_of_owner(owner: Owner) -> str:
    """The chain of the audit trail that speaks of an owner: the member's, the tenant's, or the platform's."""
    if owner.tenant_id is None:
        return PLATFORM_CHAIN
    return owner_chain(owner.tenant_id, owner.user_id) if owner.user_id else tenant_chain(owner.tenant_id)


def verify_owner(owner: Owner) -> ChainsReport:
    """Check the chains of one owner: of a member, of what a tenant shares, or of what all share."""
    return _joined(_verified(kind, owner, _states_of(kind, owner)) for kind in _MODELS)


def _joined(reports: Iterable[ChainsReport]) -> ChainsReport:
    rows, links, faults = 0, 0, list[ChainFault]()
    for report in reports:
        rows, links = rows + report.rows, links + report.links
        faults += report.faults
    return ChainsReport(rows, links, tuple(faults))


def _verified(kind: Kind, owner: Owner, states: Iterable[State]) -> ChainsReport:
    """The report on all rows of one owner, of one kind; the first bad event comes first."""
    rows = {row.id: row for row in states}
    links = sum(row.superseded_by_id is not None for row in rows.values())
    found = list(problems(rows, _evidence(kind, rows)))
    if found:
        rows, before = {row.id: row for row in _states_of(kind, owner)}, set(found)
        found = [each for each in problems(rows, _evidence(kind, rows)) if each in before]
    events = telling_events(rows, found)
    faults = [ChainFault(kind, memory_id, problem, events.get((memory_id, problem))) for memory_id, problem in found]
    return ChainsReport(len(rows), links, tuple(sorted(faults, key=_place)))


def _place(fault: ChainFault) -> tuple[float, UUID]:
    return (fault.event.sequence if fault.event else inf, fault.memory_id)


def _states_of(kind: Kind, owner: Owner) -> Iterator[State]:
    return _states(kind, tenant_id=owner.tenant_id, user_id=owner.user_id)


def _states(kind: Kind, *, ordered_by: Sequence[str] = ("pk",), **only: object) -> Iterator[State]:
    """The rows of a kind, one at a time."""
    keyed = ("key",) if kind is Kind.SEMANTIC else ()
    columns = (*_COLUMNS, *keyed, *_WORDS[kind])
    rows = _MODELS[kind].objects.filter(**only).order_by(*ordered_by).values(*columns)
    for row in rows.iterator(chunk_size=_IDS_PER_STATEMENT):
        words = [row.pop(name) for name in _WORDS[kind]]
        steps: Iterable[str] = words.pop() if kind is Kind.PROCEDURAL else ()
        yield State(**{"key": "", **row, "rehashed": content_hash(*words, *steps)})


def _evidence(kind: Kind, rows: Mapping[UUID, State]) -> Evidence:
    """What the audit and the rows of other owners say about these."""
    noun = _NOUN[kind]
    endings = _endings(noun, rows)
    named = {id_ for row in rows.values() for id_ in (row.superseded_by_id, row.restores, row.promoted_from) if id_}
    missing = named - rows.keys()
    told = {ending.successor for ending in endings.values() if ending.successor}
    originals = {row.promoted_from for row in rows.values() if row.promoted_from}
    return Evidence(
        endings=endings,
        elsewhere={row.id: row for ids in _pieces(missing) for row in _states(kind, pk__in=ids)},
        gone={event[0] for event in _events([f"{noun}.{verb}" for verb in _ERASING], (missing | told) - rows.keys())},
        promoted=_promoted(noun, originals),
        closed=_closed(noun, rows),
        written=dict(_written(kind, rows)),
    )


def _endings(noun: str, rows: Mapping[UUID, State]) -> dict[UUID, Ending]:
    """The latest event on each row that tells of its end, in a chain of its owner (of anybody, for a shared row)."""
    closed = [row.id for row in rows.values() if row.superseded_at is not None]
    endings: dict[UUID, Ending] = {}
    actions, tells = [f"{noun}.{verb}" for verb in _CLOSING], ("payload__document", "created_at")
    for target, tenant_id, owner_id, document, told_at in _events(actions, closed, tells):
        row = rows[target]
        if row.tenant_id in (None, tenant_id) and row.user_id in (None, owner_id):
            endings[target] = Ending(document is not None, _id_in(document, "superseded_by"), told_at)
    return endings


def _closed(noun: str, rows: Mapping[UUID, State]) -> set[UUID]:
    """The rows of which the latest event that ended or revived them, in a chain of their owner, ended them."""
    believed = [row.id for row in rows.values() if row.is_current]
    actions = [f"{noun}.{verb}" for verb in (*_CLOSING, _REVIVED)]
    latest: dict[UUID, str] = {}
    for target, tenant_id, owner_id, action in _events(actions, believed, ["action"]):
        row = rows[target]
        if row.tenant_id in (None, tenant_id) and row.user_id in (None, owner_id):
            latest[target] = action
    return {id_ for id_, action in latest.items() if action != f"{noun}.{_REVIVED}"}


def _written(kind: Kind, rows: Mapping[UUID, State]) -> Iterator[tuple[UUID, str]]:
    """The hash of the words with which a member's row was written, where the audit still tells them."""
    mine = [row.id for row in rows.values() if row.user_id is not None]
    for target, tenant_id, owner_id, document in _events([f"{_NOUN[kind]}.created"], mine):
        row, told = rows[target], _after(document)
        words = [told.get(name) for name in _WORDS[kind]]
        steps = words.pop() if kind is Kind.PROCEDURAL else []
        if (row.tenant_id, row.user_id) == (tenant_id, owner_id) and None not in words and isinstance(steps, list):
            yield target, content_hash(*map(str, words), *map(str, steps))


def _promoted(noun: str, originals: Collection[UUID]) -> dict[UUID, set[UUID | None]]:
    copies: dict[UUID, set[UUID | None]] = defaultdict(set)
    for target, _, _, document in _events([f"{noun}.promoted"], originals):
        copies[target].add(_id_in(document, "copy"))
    return copies


def _events(
    actions: Sequence[str], targets: Collection[UUID], tells: Sequence[str] = ("payload__document",)
) -> Iterator[tuple[Any, ...]]:
    """(target, tenant, owner, what it `tells`: the payload or None) of these events, each target's in their order."""
    columns = ("target_id", "tenant_id", "owner_id", *tells)
    for ids in _pieces(targets):
        events = AuditEvent.objects.filter(action__in=actions, target_id__in=ids).order_by("created_at", "sequence")
        yield from events.values_list(*columns)


def _pieces(ids: Collection[UUID]) -> Iterator[list[UUID]]:
    """SQLite bounds the variables of a statement; the least that builds allow is 999."""
    every = sorted(ids)
    return (every[start : start + _IDS_PER_STATEMENT] for start in range(0, len(every), _IDS_PER_STATEMENT))


def _id_in(document: str | None, name: str) -> UUID | None:
    """An id in the `after` of a payload; None if it is not there, or if somebody made it unreadable."""
    try:
        return UUID(str(_after(document)[name]))
    except (KeyError, ValueError):
        return None


def _after(document: str | None) -> Mapping[str, Any]:
    """The `after` of a payload; empty if there is none, or if somebody made the payload unreadable."""
    return AuditPayload(document=document or "").data["after"] or {}

"""verify_chains: re-derive every invariant of supersession from the rows and the audit.

The invariants are in `chain_checks`. Owner by owner, so that memory is bounded by what the largest owner has; words are
hashed and let go. What is found is looked at once more, so that a write meanwhile is not taken for a fault.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from uuid import UUID

from memories.hygiene.text import content_hash
from memories.models import Fact, Playbook
from memories.selectors.chain_checks import Ending, Evidence, State, problems
from memories.types import Kind
from tenants.models import AuditEvent

_MODELS: Mapping[Kind, type[Fact | Playbook]] = {Kind.SEMANTIC: Fact, Kind.PROCEDURAL: Playbook}
_NOUN = {Kind.SEMANTIC: "fact", Kind.PROCEDURAL: "playbook"}
_CLOSING, _ERASING = ("superseded", "retired"), ("forgotten", "erased")
_IDS_PER_STATEMENT = 500

_COLUMNS = (
    "id", "tenant_id", "user_id", "scope", "task", "content_hash", "status", "learned_at", "superseded_at",
    "superseded_by_id", "contradiction", "retracted", "restores", "promoted_from", "archived_at", "evicted_at",
    "evicted_from",
)  # fmt: skip
_WORDS = {Kind.SEMANTIC: ("text",), Kind.PROCEDURAL: ("title", "trigger", "text", "steps")}


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


def verify_chains() -> ChainsReport:
    """Check the chains of all owners. For commands: it sees every tenant and returns ids only."""
    faults: list[ChainFault] = []
    checked = links = 0
    for kind in _MODELS:
        every = _states(kind, ordered_by=("tenant_id", "user_id", "pk"))
        for (tenant_id, user_id), group in groupby(every, key=lambda row: (row.tenant_id, row.user_id)):
            rows = {row.id: row for row in group}
            checked += len(rows)
            links += sum(row.superseded_by_id is not None for row in rows.values())
            if found := set(problems(rows, _evidence(kind, rows))):
                again = {row.id: row for row in _states(kind, tenant_id=tenant_id, user_id=user_id)}
                found &= set(problems(again, _evidence(kind, again)))
                faults += [ChainFault(kind, memory_id, problem) for memory_id, problem in sorted(found)]
    return ChainsReport(checked, links, tuple(faults))


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
    )


def _endings(noun: str, rows: Mapping[UUID, State]) -> dict[UUID, Ending]:
    """The latest event on each row that tells of its end, in a chain of its owner (of anybody, for a shared row)."""
    closed = [row.id for row in rows.values() if row.superseded_at is not None]
    endings: dict[UUID, Ending] = {}
    for target, tenant_id, owner_id, document in _events([f"{noun}.{verb}" for verb in _CLOSING], closed):
        row = rows[target]
        if row.tenant_id in (None, tenant_id) and row.user_id in (None, owner_id):
            endings[target] = Ending(document is not None, _id_in(document, "superseded_by"))
    return endings


def _promoted(noun: str, originals: Collection[UUID]) -> dict[UUID, set[UUID | None]]:
    copies: dict[UUID, set[UUID | None]] = defaultdict(set)
    for target, _, _, document in _events([f"{noun}.promoted"], originals):
        copies[target].add(_id_in(document, "copy"))
    return copies


def _events(actions: Sequence[str], targets: Collection[UUID]) -> Iterator[tuple[UUID, UUID | None, UUID | None, Any]]:
    """(target, tenant, owner, payload or None) of the events on these targets, each target's in their order."""
    columns = ("target_id", "tenant_id", "owner_id", "payload__document")
    for ids in _pieces(targets):
        events = AuditEvent.objects.filter(action__in=actions, target_id__in=ids).order_by("created_at", "sequence")
        yield from events.values_list(*columns)


def _pieces(ids: Collection[UUID]) -> Iterator[list[UUID]]:
    """SQLite bounds the variables of a statement; the least that builds allow is 999."""
    every = sorted(ids)
    return (every[start : start + _IDS_PER_STATEMENT] for start in range(0, len(every), _IDS_PER_STATEMENT))


def _id_in(document: str | None, name: str) -> UUID | None:
    """An id in the `after` of a payload; None if it is not there."""
    after = json.loads(document)["after"] if document is not None else None
    return UUID(after[name]) if after and after.get(name) else None

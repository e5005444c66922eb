"""Which audit event tells of a fault that the proof of chains found: where whoever looks into it begins.

Invariant: only events in a chain of the row's own owner count (of its tenant, for what is shared); nothing here reads a
payload.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q

from memories.selectors.chain_checks import State
from tenants.models import AuditEvent

Fault = tuple[UUID, str]

_IDS_PER_STATEMENT = 500  # SQLite bounds the variables of a statement; the least that builds allow is 999.
_CLOSING = ("superseded", "retired", "retracted")
# How a problem begins -> what the events do that tell of it.
_TOLD_IN: tuple[tuple[str, Sequence[str]], ...] = (
    ("has other words", ("created",)),
    ("says the same", ("created",)),
    ("has the key", ("created", "merged")),
    ("brings back", ("restored",)),
    ("was promoted", ("created",)),
    ("is evicted", ("evicted",)),
    ("would return", ("evicted",)),
    ("was archived", ("archived",)),
)
# That staff looked at a memory, or took its history along, tells nothing of what became of it.
_LOOKING = Q(action__endswith=".read") | Q(action__endswith=".exported")


@dataclass(frozen=True, slots=True)
class ToldBy:
    """An event of the audit trail, by its place and its id."""

    chain: str
    sequence: int
    id: UUID


def telling_events(rows: Mapping[UUID, State], faults: Collection[Fault]) -> dict[Fault, ToldBy]:
    """For each fault the event that tells of it: the latest that did what is wrong, else the latest on the row."""
    events = _events({memory_id for memory_id, _ in faults}, rows)
    found: dict[Fault, ToldBy] = {}
    for memory_id, problem in faults:
        told = events.get(memory_id, [])
        verbs = next((verbs for beginning, verbs in _TOLD_IN if problem.startswith(beginning)), _CLOSING)
        telling = [event for event in told if event.action.rpartition(".")[2] in verbs] or told
        if telling:
            found[memory_id, problem] = ToldBy(telling[-1].chain, telling[-1].sequence, telling[-1].id)
    return found


def _events(ids: Collection[UUID], rows: Mapping[UUID, State]) -> dict[UUID, list[AuditEvent]]:
    found: dict[UUID, list[AuditEvent]] = defaultdict(list)
    every = sorted(ids)
    for start in range(0, len(every), _IDS_PER_STATEMENT):
        events = AuditEvent.objects.filter(target_id__in=every[start : start + _IDS_PER_STATEMENT])
        for event in events.exclude(_LOOKING).order_by("created_at", "sequence"):
            row = rows[event.target_id] if event.target_id else None
            if row and row.tenant_id in (None, event.tenant_id) and row.user_id in (None, event.owner_id):
                found[row.id].append(event)
    return found

"""Screening: nothing is stored before its words were looked through for what must not be.

A memory that somebody writes is refused (`Blocked`); what somebody says in a conversation is stored with the value
masked. Invariant: a value that is blocked is in nothing that a `Screen` returns, raises or records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from uuid import UUID

from memories.errors import Blocked, Spot
from memories.hygiene.sensitivity.detecting import scan
from memories.hygiene.sensitivity.findings import Judged, judged
from memories.selectors.policies import Policy, policy_of
from memories.services.ownership import owner_lock
from memories.types import Kind
from tenants.audit import EventDraft, record_event, record_events
from tenants.principal import Principal, Right


@dataclass(frozen=True, slots=True)
class Said:
    """Words of a conversation as they are stored; `original` is None if nothing was masked."""

    text: str
    marks: Mapping[str, str] = field(default_factory=dict)
    original: str | None = None

    @property
    def masked(self) -> tuple[str, ...]:
        """The kinds that were taken out, by name."""
        return tuple(kind for kind, becomes in self.marks.items() if becomes == "mask")


class Screen:
    """Looks through the words of one write, as the policy of the principal's tenant wants it."""

    def __init__(self, principal: Principal) -> None:
        principal.require(Right.WRITE)
        self._principal = principal

    @cached_property
    def policy(self) -> Policy:
        """What the tenant decided."""
        return policy_of(self._principal.tenant_id)

    def judge(self, text: str) -> Judged:
        """What becomes of `text`."""
        return judged(text, scan(text), self.policy.handling)

    def memory(self, **fields: str) -> tuple[dict[str, str], dict[str, str]]:
        """The words of a memory as they may be stored, and its marks. Raises Blocked, and notes that it did."""
        stored: dict[str, str] = {}
        marks: dict[str, str] = {}
        spots: list[Spot] = []
        for name, text in fields.items():
            found = self.judge(text) if text else Judged("", {}, (), masked=False)
            stored[name] = found.text
            marks |= {kind: becomes for kind, becomes in found.marks.items() if marks.get(kind) != "mask"}
            spots += [Spot(name, each.kind, each.start, each.end) for each in found.blocked]
        if spots:
            blocked = Blocked(tuple(spots))
            note_blocked(self._principal, blocked)
            raise blocked
        return stored, marks

    def said(self, text: str) -> Said:
        """Words of a conversation: what is to be blocked or masked is masked."""
        found = self.judge(text)
        return Said(found.text, found.marks, text if found.masked else None)

    def arguments(self, value: Any) -> Any:
        """JSON with every text in it masked, keys as well."""
        if isinstance(value, str):
            return self.judge(value).text
        if isinstance(value, Mapping):
            return {self.judge(str(key)).text: self.arguments(inner) for key, inner in value.items()}
        if isinstance(value, Sequence):
            return [self.arguments(inner) for inner in value]
        return value


def note_blocked(principal: Principal, blocked: Blocked) -> None:
    """Tell the owner's trail that a write was refused: fields and kinds, never a value. Counted by the metrics."""
    told = [{"field": spot.field, "kind": spot.kind.value} for spot in blocked.spots]
    with owner_lock(principal):
        record_event(principal, action="memory.blocked", after={"spots": told})


def note_masked(principal: Principal, said: Said, *, kind: Kind, memory_id: UUID) -> None:
    """Tell the owner's trail that a value was taken out of what was said; the caller holds the owner's lock."""
    if said.original is not None:
        draft = EventDraft("memory.masked", kind.value, memory_id, after={"kinds": list(said.masked)})
        record_events(principal, [draft])

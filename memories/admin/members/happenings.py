"""What happened to one memory, each event as a sentence: who did what, why, and when.

That one person looked at it again and again, with nothing between, is told once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from memories.admin.members.page import Looking
from memories.presenting.lines import DID
from memories.selectors.memories import history_of
from memories.services.admin_requests import READINGS
from tenants.audit.sentences import actor_names

# Events of one memory that are read at most; a memory that is confirmed again and again has many.
MOST = 200
# Staff see that staff looked.
_DID: Mapping[str, str] = {**DID, "read": "looked at it", "asked": "asked about it"}


@dataclass(frozen=True, slots=True)
class Happening:
    """One event. `look`: somebody of the staff looked at it, `times` in a row, and nothing changed."""

    sentence: str
    reason: str
    at: datetime
    sequence: int
    look: bool
    times: int = 1


def happenings_of(looking: Looking, memory_id: UUID) -> tuple[Happening, ...]:
    """The events on a memory of the member's own, the latest first; up to three queries."""
    events = list(history_of(looking.principal, [memory_id]).order_by("-sequence")[:MOST])
    names = actor_names(looking.membership.tenant_id, events)
    told: list[Happening] = []
    for event in events:
        payload = getattr(event, "payload", None)
        verb = event.action.partition(".")[2]
        who = names.who(event)
        happening = Happening(
            sentence=f"{who[:1].upper()}{who[1:]} {_DID.get(verb, verb.replace('_', ' '))}",
            reason=str(payload.data.get("reason") or "") if payload else "",
            at=event.created_at,
            sequence=event.sequence,
            look=event.action in READINGS,
        )
        if told and happening.look and told[-1].sentence == happening.sentence:
            told[-1] = replace(told[-1], times=told[-1].times + 1, sequence=event.sequence)
        else:
            told.append(happening)
    return tuple(told)

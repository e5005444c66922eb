"""Change the metadata of a memory in place: the words stay, and the change is an event."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from memories.services.facts.closing import current_rows, snapshot
from memories.services.screening import Screen, joined
from memories.services.write import write
from memories.types import Kind
from tenants.principal import Principal


def describe(principal: Principal, *, kind: Kind, memory_id: UUID, metadata: Mapping[str, Any]) -> None:
    """Replace the metadata of a current fact or playbook.

    Raises InvalidInput, NotFound, Conflict (an episode or a catalog entry, or not current), Blocked, Forbidden.
    """
    described, marks = Screen(principal).metadata(metadata)
    with write(principal) as w:
        (row,) = current_rows(w, kind, [memory_id], shared=True)
        if row.metadata == described:
            return
        before = snapshot(row)
        row.metadata, row.sensitivity = described, joined(row.sensitivity, marks)
        row.version += 1
        row.save(update_fields=["metadata", "sensitivity", "version", "updated_at"])
        w.audit(".described", row, before=before, after=snapshot(row))
        w.index(row)

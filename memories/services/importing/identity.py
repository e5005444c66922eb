"""Ids of imported rows: made from the owner and the source's key, so that importing again finds them."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator, Sequence
from uuid import UUID

from tenants.models import AuditEvent
from tenants.principal import Principal

# SQLite bounds the variables of a statement; the least that builds allow is 999.
IDS_PER_STATEMENT = 500


def owner_id(principal: Principal, *parts: str) -> UUID:
    """The id of a row of this owner that the source names by `parts`."""
    return uuid.uuid5(uuid.uuid5(principal.user_id, f"{principal.tenant_id}:import"), _joined(parts))


def shared_id(principal: Principal, *parts: str) -> UUID:
    """The id of a row that the principal's tenant shares."""
    return uuid.uuid5(uuid.uuid5(principal.tenant_id, "import"), _joined(parts))


def forgotten_ids(principal: Principal) -> frozenset[UUID]:
    """What this owner had erased: memories and sessions."""
    events = AuditEvent.objects.filter(
        tenant_id=principal.tenant_id, owner_id=principal.user_id, action__endswith=".forgotten"
    )
    return frozenset(target for target in events.values_list("target_id", flat=True) if target)


def in_statements(ids: Sequence[UUID]) -> Iterator[Sequence[UUID]]:
    """`ids` in slices that fit into one statement."""
    for start in range(0, len(ids), IDS_PER_STATEMENT):
        yield ids[start : start + IDS_PER_STATEMENT]


def _joined(parts: Sequence[str]) -> str:
    """One text for the parts, another for any other parts; a lone surrogate in a name does not stop it."""
    lengths = ":".join(f"{len(part)}" for part in parts)
    return hashlib.sha256("\x1f".join((lengths, *parts)).encode(errors="surrogatepass")).hexdigest()

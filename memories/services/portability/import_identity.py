"""Which imported facts meet no gate: they replace nothing, end by nothing, and say what nobody else says.

Invariant: what is not found here goes through the gates one by one; what is found can be stored in any order, in bulk.

Ids of imported rows: made from the owner and the source's key, so that importing again finds them.
"""

from __future__ import annotations

import hashlib
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from uuid import UUID

from memories.consolidation.rules import likeness
from memories.hygiene.text import content_hash
from memories.importing.records import Belief
from memories.models import Fact
from memories.types import Kind
from tenants.models import AuditEvent
from tenants.principal import Principal


def meeting_no_gate(principal: Principal, beliefs: Sequence[Belief]) -> frozenset[str]:
    """The ids of the records that are facts alone with their key and wording, in the file and among the owner's own."""
    facts = [belief for belief in beliefs if belief.record.kind is Kind.SEMANTIC]
    hashes = {belief.record.id: content_hash(belief.record.text) for belief in facts}
    alike = {belief.record.id: likeness(belief.record.text) for belief in facts}
    keys = Counter((belief.record.task, belief.record.key) for belief in facts)
    wordings = Counter((belief.record.task, hashes[belief.record.id]) for belief in facts)
    likenesses = Counter((belief.record.task, alike[belief.record.id]) for belief in facts)
    rows = Fact.objects.of(principal).current().values_list("task", "key", "content_hash", "likeness")
    for task, key, wording, shared in rows:
        keys[task or "", key] += 1
        wordings[task or "", wording] += 1
        likenesses[task or "", shared] += bool(shared)
    return frozenset(
        belief.record.id
        for belief in facts
        if not belief.record.supersedes
        and not belief.is_replaced
        and belief.ended_at is None
        and (not belief.record.key or keys[belief.record.task, belief.record.key] == 1)
        and wordings[belief.record.task, hashes[belief.record.id]] == 1
        and (not alike[belief.record.id] or likenesses[belief.record.task, alike[belief.record.id]] == 1)
    )


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

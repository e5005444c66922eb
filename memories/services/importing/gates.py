"""Which imported facts meet no gate: they replace nothing, end by nothing, and say what nobody else says.

Invariant: what is not found here goes through the gates one by one; what is found can be stored in any order, in bulk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from memories.hygiene.dedup import likeness
from memories.hygiene.text import content_hash
from memories.importing.belief import Belief
from memories.models import Fact
from memories.types import Kind
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
        likenesses[task or "", shared] += 1
    return frozenset(
        belief.record.id
        for belief in facts
        if not belief.record.supersedes
        and not belief.is_replaced
        and belief.ended_at is None
        and (not belief.record.key or keys[belief.record.task, belief.record.key] == 1)
        and wordings[belief.record.task, hashes[belief.record.id]] == 1
        and likenesses[belief.record.task, alike[belief.record.id]] == 1
    )

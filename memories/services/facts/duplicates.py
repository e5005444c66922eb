"""The gate of likeness: which current memory says the same in other words, by the judgement of a rule set.

Wordings that a rule set calls the same share a digest, the column `likeness`, which an index finds. Without a rule set
nothing is alike but equal words, which the hash finds. The caller holds the owner's lock.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

from memories.consolidation.rules import likeness
from memories.models import Fact, Playbook

# The reason of a merge for which the writer gave none.
IN_OTHER_WORDS = "says the same in other words"


def alike_fact(known: Sequence[Fact], text: str, key: str, *, not_ids: Collection[UUID] = ()) -> Fact | None:
    """The fact that says the same, the longest believed first, among the current facts of one owner, scope and task.

    Two facts with keys of their own fill two slots, whatever their words. `not_ids`: those that the new one replaces.
    """
    digest = likeness(text)
    alike = [
        row
        for row in known
        if digest and row.likeness == digest and row.pk not in not_ids and (not key or row.key in ("", key))
    ]
    return min(alike, key=lambda row: (row.learned_at, row.pk), default=None)


def alike_playbook(
    columns: Mapping[str, object], parts: Sequence[str], *, not_ids: Collection[UUID] = ()
) -> Playbook | None:
    """The current playbook of this owner, scope and task whose title, trigger, text and steps each say the same.

    `parts` are those of the new one, in this order.
    """
    digest = likeness(*parts)
    rows = Playbook.objects.in_place(columns).filter(likeness=digest).current().exclude(pk__in=not_ids)
    return rows.order_by("learned_at", "pk").first() if digest else None

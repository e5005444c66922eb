"""The third gate: what says the same in other words. The caller holds the owner's lock, and key and hash found nothing.

Wordings that do not differ in detail share a digest (`likeness`), which an index finds; only what it finds is encoded.
So a write that says something new costs one look more, however many facts its owner has.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar
from uuid import UUID

from memories.constants import DUPLICATE_COSINE
from memories.embedding import dequantize, encoder
from memories.hygiene.dedup import differs_in_detail, likeness
from memories.models import Fact, Playbook

# Said after a merge, where the writer gave no reason.
IN_OTHER_WORDS = "says the same in other words"
# Current rows of one likeness that are compared. They differ only in the order of their words, so there are few.
_COMPARED = 8

Row = TypeVar("Row", Fact, Playbook)


def alike_fact(known: Sequence[Fact], text: str, key: str, *, not_ids: Collection[UUID] = ()) -> Fact | None:
    """The fact that says the same, the longest believed first, among the current facts of one owner, scope and task.

    Two facts with keys of their own fill two slots, whatever their words. `not_ids`: what the new one is to replace.
    """
    alike = likeness(text)
    rows = [
        row
        for row in sorted(known, key=lambda row: (row.learned_at, row.pk))
        if alike and row.likeness == alike and row.pk not in not_ids and (not key or row.key in ("", key))
    ]
    return _near([row for row in rows[:_COMPARED] if not differs_in_detail(row.text, text)], text)


def alike_playbook(
    columns: Mapping[str, object], parts: Sequence[str], *, not_ids: Collection[UUID] = ()
) -> Playbook | None:
    """The current playbook of this owner, scope and task whose title, trigger, text and steps each say the same.

    `parts` are those of the new one, in this order.
    """
    rows = Playbook.objects.in_place(columns).filter(likeness=likeness(*parts)).current().exclude(pk__in=not_ids)
    found = [row for row in rows.order_by("learned_at", "pk")[:_COMPARED] if not _differ(row.parts, parts)]
    return _near(found, " ".join(part for part in parts if part))


def _differ(left: Sequence[str], right: Sequence[str]) -> bool:
    return len(left) != len(right) or any(map(differs_in_detail, left, right))


def _near(rows: Sequence[Row], text: str) -> Row | None:
    """The first of `rows` that the encoder finds near enough to `text`."""
    if not rows:
        return None
    (vector,) = encoder().encode([text])
    for row in rows:
        stored = row.embedding if row.embedding_model == encoder().name else None
        other = encoder().encode([row.searchable_text])[0] if stored is None else dequantize(bytes(stored))
        if float(vector @ other) >= DUPLICATE_COSINE:
            return row
    return None

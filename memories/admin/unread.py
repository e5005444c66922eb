"""Where a page of the admin fails on what somebody put into a memory by SQL: which rows these are, to leave them out.

Invariant: nothing is looked through unless a page failed; what was put there is never shown, only where.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from memories.models import CHAINED_MODELS
from memories.selectors.history.chain_rows import OWNED, Unread, unread_rows
from memories.selectors.history.listing import Without
from memories.types import Kind, Owner
from memoryhub.db.raw_rows import UNREADABLE, rows_as_stored

# So many are named, and left out of a page; of more, the proof tells.
_MOST = 200
_NOUN = {Kind.SEMANTIC: "fact", Kind.PROCEDURAL: "how-to"}


@dataclass(frozen=True, slots=True)
class Damage:
    """Rows that cannot be read, each in a sentence, and what leaves them out."""

    ids: frozenset[UUID]
    sentences: tuple[str, ...]
    without: Without


def damage_in(tenant_id: UUID | None, kinds: Iterable[Kind] = tuple(CHAINED_MODELS)) -> Damage | None:
    """What cannot be read of a tenant's memories (None: of what all tenants share); None if everything can."""
    found: list[tuple[Kind, Unread]] = []
    for kind in kinds:
        found += [(kind, each) for each in unread_rows(kind, tenant_id=tenant_id)]
    if not found:
        return None
    some = found[:_MOST]
    return Damage(
        ids=frozenset(each.id for _, each in found if each.id),
        sentences=tuple(f"A {_NOUN[kind]} {_named(each)} {each.problem}." for kind, each in some),
        without=Without(
            frozenset(each.id for _, each in some if each.id),
            frozenset(each.place for _, each in some if each.place is not None),
        ),
    )


def owner_as_stored(kind: Kind, memory_id: UUID) -> Owner | None:
    """Whose a row is that may hold what cannot be read; None if it is not there, or nobody can tell."""
    rows = rows_as_stored(
        CHAINED_MODELS[kind].objects.unscoped("staff look at one row by id").filter(pk=memory_id), OWNED, chunk_size=1
    )
    for whose, _ in rows:
        return None if UNREADABLE in whose else Owner(*whose)
    return None


def _named(row: Unread) -> str:
    return f"({row.id})" if row.id else "without an id"

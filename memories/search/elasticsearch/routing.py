"""Where a memory stands at the cluster: on the shelf of its kind, or in the archive. Each shelf is an index.

Invariant: a memory that may be archived stands on one of its two shelves, and the other one holds the version in which
it left, so that a late or repeated delivery of an older state is refused there, too.
"""

from __future__ import annotations

from memories.search.base import Tombstone
from memories.types import Kind, SearchDocument
from memoryhub.env import ARCHIVE, SHELVES

ARCHIVABLE = (Kind.SEMANTIC, Kind.PROCEDURAL)
# What was never written before can be on no other shelf.
_FIRST_VERSION = 1


def shelf_of(document: SearchDocument) -> str:
    """Where a document belongs."""
    return ARCHIVE if document.archived else document.kind.value


def shelves_of(kind: Kind) -> tuple[str, ...]:
    """Where a memory of this kind may be."""
    return (kind.value, ARCHIVE) if kind in ARCHIVABLE else (kind.value,)


def leaving(document: SearchDocument) -> list[tuple[str, Tombstone]]:
    """What to remove from where a document may have been before."""
    if document.version <= _FIRST_VERSION and not document.archived:
        return []
    tombstone = Tombstone(document.kind, document.id, document.version)
    return [(shelf, tombstone) for shelf in shelves_of(document.kind) if shelf != shelf_of(document)]


__all__ = ["ARCHIVABLE", "ARCHIVE", "SHELVES", "leaving", "shelf_of", "shelves_of"]

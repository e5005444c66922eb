"""The Protocol of a search plane: a copy of the memories that finds candidates and can be rebuilt at any time.

Invariants, which the contract suite holds for every plane:

- Writes are versioned: an equal or lower version changes nothing, and a deletion leaves its version behind, so a late
  or repeated delivery never brings back an older state.
- A plane answers a principal from three parts (their own, their tenant's shared memories, the global ones) and from no
  other; nothing in another part moves an order or a score.
- A part that is missing says so; it never passes for an empty one.
- An archived memory is in the archive of its part alone, which only searches for superseded ones look into.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from memories.errors import SearchUnavailable
from memories.types import CandidateRequest, Candidates, Kind, Owner, SearchDocument, Status
from tenants.principal import Principal


class PartMissing(SearchUnavailable):
    """The plane has no part for `owner`, or one that cannot be used any more: it has to be rebuilt."""

    def __init__(self, owner: Owner) -> None:
        super().__init__("This part of the search index is missing and has to be rebuilt.")
        self.owner = owner


@dataclass(frozen=True, slots=True)
class Tombstone:
    """A memory to remove, with the version of its removal."""

    kind: Kind
    id: UUID
    version: int


@dataclass(frozen=True, slots=True)
class StoredState:
    """What a plane holds of one memory, for comparing with the database; removed memories are not listed."""

    kind: Kind
    id: UUID
    version: int
    status: Status
    archived: bool = False


@dataclass(frozen=True, slots=True)
class SeenDocument:
    """One memory as a search opens it: the words that it is found by, and the state by which it is hidden or not."""

    version: int
    status: Status
    task: str
    text: str
    archived: bool = False


@dataclass(frozen=True, slots=True)
class Seen:
    """What a principal's own right to search opens of one memory; no document if nothing of it.

    `incomplete` names the owners whose part is missing, so that it might be there; `without_archive`: the archive could
    not be looked into.
    """

    document: SeenDocument | None
    incomplete: tuple[Owner, ...] = ()
    without_archive: bool = False


@dataclass(frozen=True, slots=True)
class Health:
    """Whether a plane answers. `detail` says what is wrong, without naming an owner."""

    plane: str
    ok: bool
    detail: str = ""


class SearchPlane(Protocol):
    """Every method may raise SearchUnavailable, and those that need an owner's part PartMissing."""

    @property
    def name(self) -> str:
        """The plane, as in the setting that selects it."""
        ...

    @property
    def joint(self) -> bool:
        """Whether all owners share one store, so that a write may carry documents of many."""
        ...

    def upsert(self, documents: Sequence[SearchDocument]) -> None:
        """Store documents (of one owner unless `joint`), each if its version is newer than what the plane holds.

        A call that raises may have stored some of them; repeating it is harmless.
        """
        ...

    def delete(self, owner: Owner, tombstones: Sequence[Tombstone]) -> None:
        """Remove memories with everything that can be read of them, leaving only their versions."""
        ...

    def settle(self) -> None:
        """Return once everything that was stored before is found by searches that begin now."""
        ...

    def expunge(self) -> None:
        """Have what was removed some time ago leave the disk, too; may take long on a large index."""
        ...

    def candidates(self, principal: Principal, request: CandidateRequest) -> Candidates:
        """The best `per_leg` of each kind by words and by meaning, out of what the principal may see.

        Raises SearchForbidden if the principal has no right to search now; nothing else answers in its place.
        """
        ...

    def see(self, principal: Principal, kind: Kind, memory_id: UUID) -> Seen:
        """One memory, current or not, as it is opened by what the principal searches with, and by nothing else.

        Raises SearchForbidden as `candidates` does. What may not be seen looks like what is not there.
        """
        ...

    def rebuild(self, owner: Owner, documents: Iterable[SearchDocument]) -> int:
        """Make the owner's part hold exactly `documents`, as one change; return how many.

        `documents` is read only after other writers of this part are held off, so an iterator over the database
        misses nothing that was written before.
        """
        ...

    def rebuild_all(self, owners: Iterable[Owner], documents: Callable[[Owner], Iterable[SearchDocument]]) -> int:
        """Make the whole plane hold exactly these owners' documents; return how many. Reads and writes go on meanwhile.

        What searches see changes at once and at the end where the plane is `joint`, part by part where it is not.
        """
        ...

    def erase_owner(self, owner: Owner) -> None:
        """Remove the owner's part and every trace of it, as far as anybody can read it; see `expunge` for the disk."""
        ...

    def stored(self, owner: Owner) -> Iterator[StoredState]:
        """What the owner's part holds, in no particular order."""
        ...

    def owners(self) -> Iterator[Owner]:
        """The owners that the plane has a part for."""
        ...

    def health(self) -> Health:
        """Whether the plane can be read and written now. Never raises."""
        ...

    def close(self) -> None:
        """Let go of files and connections; the next call opens them again."""
        ...


def readable_by(principal: Principal) -> tuple[Owner, Owner, Owner]:
    """The parts that a principal may search: their own, their tenant's, the global one."""
    return (
        Owner(principal.tenant_id, principal.user_id),
        Owner(principal.tenant_id, None),
        Owner(None, None),
    )

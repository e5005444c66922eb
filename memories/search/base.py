"""The Protocol of a search plane: a copy of the memories that finds candidates and can be rebuilt at any time.

The contract suite holds every plane to these rules:

- Writes are versioned: an equal or lower version changes nothing, and a deletion leaves its version behind, so a late
  or repeated delivery never restores an older state.
- A plane answers a principal from three parts only (their own, their tenant's shared memories, the global ones);
  nothing in another part changes an order or a score.
- A missing part is reported and never passes for an empty one.
- An archived memory is in the archive of its part only; only searches for superseded memories look there.
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
    """A plane's version and status of one memory, for comparison with the database. Removed memories have none."""

    kind: Kind
    id: UUID
    version: int
    status: Status
    archived: bool = False


@dataclass(frozen=True, slots=True)
class SeenDocument:
    """One memory as a search sees it: its indexed text, and the state that hides or shows it."""

    version: int
    status: Status
    task: str
    text: str
    archived: bool = False


@dataclass(frozen=True, slots=True)
class IndexLookup:
    """The answer of `SearchPlane.see`; `document` is None if the principal cannot see the memory.

    `incomplete` names the owners whose part is missing and might hold it. `without_archive`: the archive could not be
    searched.
    """

    document: SeenDocument | None
    incomplete: tuple[Owner, ...] = ()
    without_archive: bool = False


@dataclass(frozen=True, slots=True)
class Health:
    """The state of a plane. `detail` gives the problem without naming an owner."""

    plane: str
    ok: bool
    detail: str = ""


class SearchPlane(Protocol):
    """Every method may raise SearchUnavailable, and those that need an owner's part PartMissing."""

    @property
    def name(self) -> str:
        """The value of MEMORYHUB_SEARCH that selects this plane."""

    @property
    def joint(self) -> bool:
        """True if all owners share one store, so that one write may hold documents of several."""

    def upsert(self, documents: Sequence[SearchDocument]) -> None:
        """Store the documents (of one owner unless `joint`) that are newer than the plane's version.

        A call that raises may have stored some of them; repeating it is harmless.
        """

    def delete(self, owner: Owner, tombstones: Sequence[Tombstone]) -> None:
        """Remove memories and their texts, leaving only their versions."""

    def settle(self) -> None:
        """Return once new searches find everything that was stored before."""

    def expunge(self) -> None:
        """Remove the bytes of removed memories from the disk; slow on a large index."""

    def candidates(self, principal: Principal, request: CandidateRequest) -> Candidates:
        """The best `per_sub_query` of each kind by words and by meaning that the principal may see.

        Raises SearchForbidden if the principal has no right to search now; there is no fallback.
        """

    def see(self, principal: Principal, kind: Kind, memory_id: UUID) -> IndexLookup:
        """One memory, current or not, opened with the principal's own search credential.

        Raises SearchForbidden as `candidates` does. A memory that the principal may not see looks absent.
        """

    def rebuild(self, owner: Owner, documents: Iterable[SearchDocument]) -> int:
        """Replace the owner's part by `documents` in one step; return their number.

        `documents` is read only once other writers of this part are locked out, so an iterator over the database
        misses no earlier write.
        """

    def rebuild_all(self, owners: Iterable[Owner], documents: Callable[[Owner], Iterable[SearchDocument]]) -> int:
        """Replace the whole plane by these owners' documents; return their number. Reads and writes go on meanwhile.

        Searches see the change at the end and at once if the plane is `joint`, else part by part.
        """

    def erase_owner(self, owner: Owner) -> None:
        """Remove the owner's part, unreadable for everybody at once; `expunge` removes its bytes."""

    def stored(self, owner: Owner) -> Iterator[StoredState]:
        """The memories in the owner's part, in no particular order."""

    def owners(self) -> Iterator[Owner]:
        """The owners that the plane has a part for."""

    def health(self) -> Health:
        """Check that the plane can be read and written now. Never raises."""

    def close(self) -> None:
        """Close files and connections; the next call opens them again."""


def readable_by(principal: Principal) -> tuple[Owner, Owner, Owner]:
    """The parts that a principal may search: their own, their tenant's, the global one."""
    return (
        Owner(principal.tenant_id, principal.user_id),
        Owner(principal.tenant_id, None),
        Owner(None, None),
    )

"""The Protocol of a search plane, which finds candidates in a copy of the memories and can be rebuilt at any time.

The contract tests hold every plane to these rules:

- Writes are versioned: an equal or lower version changes nothing, and a deletion keeps its version, so that a late or
  repeated delivery never restores an older state.
- A plane answers a principal from three parts only: their own, their tenant's shared memories, and the global ones.
  Nothing in another part affects an order or a score.
- A missing part is reported and never treated as an empty one.
- An archived memory exists only in the archive of its part, which is searched only for superseded memories.
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
    """The plane has no usable part for `owner`; it has to be rebuilt."""

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
    """The plane's version and status of one memory, for comparison with the database. Removed memories have none."""

    kind: Kind
    id: UUID
    version: int
    status: Status
    archived: bool = False


@dataclass(frozen=True, slots=True)
class SeenDocument:
    """One memory as indexed: its text, and the state that determines its visibility."""

    version: int
    status: Status
    task: str
    text: str
    archived: bool = False


@dataclass(frozen=True, slots=True)
class IndexLookup:
    """The result of `SearchPlane.see`; `document` is None if the principal cannot see the memory.

    `incomplete` names the owners whose part is missing and might hold the memory. `without_archive`: the archive could
    not be searched.
    """

    document: SeenDocument | None
    incomplete: tuple[Owner, ...] = ()
    without_archive: bool = False


@dataclass(frozen=True, slots=True)
class Health:
    """The state of a plane. `detail` describes the problem without naming an owner."""

    plane: str
    ok: bool
    detail: str = ""


class SearchPlane(Protocol):
    """The interface of a search plane.

    Every method may raise SearchUnavailable; methods that need an owner's part may raise PartMissing.
    """

    @property
    def name(self) -> str:
        """The value of MEMORYHUB_SEARCH that selects this plane."""

    @property
    def joint(self) -> bool:
        """True if all owners share one store, so that one write may contain documents of several owners."""

    def upsert(self, documents: Sequence[SearchDocument]) -> None:
        """Store the documents (of one owner unless `joint`) that are newer than the plane's version.

        A call that raises may have stored some of them; repeating it is harmless.
        """

    def delete(self, owner: Owner, tombstones: Sequence[Tombstone]) -> None:
        """Remove memories and their texts, keeping only their versions."""

    def settle(self) -> None:
        """Return once new searches find everything stored before."""

    def expunge(self) -> None:
        """Remove the bytes of removed memories from disk; slow on a large index."""

    def candidates(self, principal: Principal, request: CandidateRequest) -> Candidates:
        """Return the best `per_sub_query` of each kind by words and by meaning that the principal may see.

        Raises SearchForbidden if the principal currently has no right to search; there is no fallback.
        """

    def see(self, principal: Principal, kind: Kind, memory_id: UUID) -> IndexLookup:
        """Look up one memory, current or not, with the principal's own search credential.

        A memory that the principal may not see appears absent. Raises SearchForbidden like `candidates`.
        """

    def rebuild(self, owner: Owner, documents: Iterable[SearchDocument]) -> int:
        """Replace the owner's part with `documents` atomically; return their number.

        `documents` is consumed only after other writers of this part are locked out, so an iterator over the database
        misses no earlier write.
        """

    def rebuild_all(self, owners: Iterable[Owner], documents: Callable[[Owner], Iterable[SearchDocument]]) -> int:
        """Replace the whole plane with these owners' documents; return their number.

        Reads and writes continue meanwhile. Searches see the change all at once at the end if the plane is `joint`,
        else part by part.
        """

    def erase_owner(self, owner: Owner) -> None:
        """Remove the owner's part, making it unreadable immediately; `expunge` removes its bytes."""

    def stored(self, owner: Owner) -> Iterator[StoredState]:
        """Yield the memories in the owner's part, in no particular order."""

    def encoder_of(self, owner: Owner) -> str | None:
        """Return the encoder of the vectors in the owner's part, or None if the part is missing.

        A part whose encoder is not the installation's is searched by words, and by meaning with vectors of its own
        encoder. New documents enter it without a vector; a rebuild fills it with the installation's.
        """

    def owners(self) -> Iterator[Owner]:
        """Yield the owners that have a part in the plane."""

    def health(self) -> Health:
        """Check that the plane can currently be read and written. Never raises."""

    def close(self) -> None:
        """Close files and connections; the next call reopens them."""


def readable_by(principal: Principal) -> tuple[Owner, Owner, Owner]:
    """Return the owners whose parts a principal may search: themselves, their tenant, and the global owner."""
    return (
        Owner(principal.tenant_id, principal.user_id),
        Owner(principal.tenant_id, None),
        Owner(None, None),
    )

"""What every search plane promises of one memory that is asked for by its id. See contract.py for the rest."""

from __future__ import annotations

from memories.search.base import IndexLookup, SearchPlane, SeenDocument, Tombstone
from memories.types import Kind, Owner, SearchDocument, Status
from tenants.principal import Principal
from tests.memories.search.library import GLOBAL, document, own, shared, somebody

BRISTOL = "Lives in Bristol near the harbour"


def stored(plane: SearchPlane, owner: Owner, **changes: object) -> SearchDocument:
    """A document of `owner`, stored."""
    made = document(owner, BRISTOL, **changes)
    plane.upsert([made])
    return made


class SeeingContract:
    """Beside PlaneContract, whose fixtures it takes."""

    def test_a_document_is_seen_as_it_is_stored(self, plane: SearchPlane, ada: Principal) -> None:
        fact = stored(plane, own(ada), version=4, task="move", status=Status.SUPERSEDED)
        seen = plane.see(ada, Kind.SEMANTIC, fact.id).document
        assert seen == SeenDocument(4, Status.SUPERSEDED, "move", BRISTOL)

    def test_what_is_shared_is_seen_by_everybody_here(self, plane: SearchPlane, ada: Principal) -> None:
        for owner in (shared(ada), GLOBAL):
            entry = stored(plane, owner, kind=Kind.CATALOG)
            assert plane.see(ada, Kind.CATALOG, entry.id).document == SeenDocument(1, Status.ACTIVE, "", BRISTOL)

    def test_an_archived_document_is_seen_in_the_archive(self, plane: SearchPlane, ada: Principal) -> None:
        fact = stored(plane, own(ada), version=3, status=Status.SUPERSEDED, archived=True)
        seen = plane.see(ada, Kind.SEMANTIC, fact.id).document
        assert seen == SeenDocument(3, Status.SUPERSEDED, "", BRISTOL, archived=True)

    def test_of_another_owner_nothing_is_seen(self, plane: SearchPlane, ada: Principal) -> None:
        bob, eve = somebody(ada.tenant_id), somebody()
        for somebody_else in (own(bob), own(eve), shared(eve)):
            plane.rebuild(somebody_else, [])
            theirs = stored(plane, somebody_else)
            assert plane.see(ada, Kind.SEMANTIC, theirs.id) == IndexLookup(None)

    def test_nothing_is_seen_of_what_was_removed_or_another_kind(self, plane: SearchPlane, ada: Principal) -> None:
        gone, fact = stored(plane, own(ada)), stored(plane, own(ada))
        plane.delete(own(ada), [Tombstone(Kind.SEMANTIC, gone.id, 2)])
        assert plane.see(ada, Kind.SEMANTIC, gone.id) == IndexLookup(None)
        assert plane.see(ada, Kind.EPISODIC, fact.id) == IndexLookup(None)

"""The part of an erased member in the search plane, and what the plane still has of their promoted copies."""

from __future__ import annotations

import time
from uuid import UUID

from django.utils import timezone

from memories.errors import SearchUnavailable
from memories.models import Operation
from memories.search import search_plane
from memories.search.base import PartMissing
from memories.search.checking import check
from memories.search.outbox import drain, pending, rebuild_owner
from memories.types import Owner

WAIT_SECONDS = 60.0
PAUSE_SECONDS = 0.5


def erase_part(owner: Owner) -> None:
    """Remove the part, whatever is on its way to it, and what the disk keeps of it. Raises SearchUnavailable.

    On a plane that all owners share, the tombstones of every row are delivered first: their versions keep out what
    another worker still carries. A part of one's own goes as a file, once nobody has rows in hand that are gone by now.
    """
    plane = search_plane()
    if plane.joint:
        _deliver(owner)
    else:
        _until_put_down(owner)
    plane.erase_owner(owner)
    plane.settle()
    plane.expunge()


def deliver_shared(tenant_id: UUID, *, copies: int) -> None:
    """Have the plane let go of promoted copies, if there were any. Raises SearchUnavailable.

    A file of the embedded plane is filled anew: pages of one that only loses some documents may keep words of theirs.
    """
    if not copies:
        return
    plane = search_plane()
    known = set() if plane.joint else set(plane.owners())
    for owner in (Owner(tenant_id, None), Owner(None, None)):
        _deliver(owner)
        if owner in known:
            rebuild_owner(owner)


def held_by_plane(owner: Owner) -> dict[str, int]:
    """What the plane holds under the member's owner filter, and how often plane and database differ.

    Raises SearchUnavailable.
    """
    plane = search_plane()
    try:
        plane.settle()
        held = sum(1 for _ in plane.stored(owner))
    except PartMissing:
        held = 0
    return {"held": held, "differences": len(check(owner).differences)}


def _until_put_down(owner: Owner) -> None:
    """Wait for whoever carries rows as they read them before: a part made anew meanwhile would take them."""
    give_up = time.monotonic() + WAIT_SECONDS
    while pending(owner).filter(operation=Operation.UPSERT, leased_until__gt=timezone.now()).exists():
        if time.monotonic() > give_up:
            raise SearchUnavailable("Another worker carries memories to the search index; it is tried again.")
        time.sleep(PAUSE_SECONDS)


def _deliver(owner: Owner) -> None:
    """Carry what waits of an owner to the plane; another worker may be carrying some of it."""
    give_up = time.monotonic() + WAIT_SECONDS
    while pending(owner).exists():
        drain(owner=owner)
        if not pending(owner).exists():
            return
        if time.monotonic() > give_up:
            raise SearchUnavailable("The search index does not take the erasure; it is tried again.")
        time.sleep(PAUSE_SECONDS)

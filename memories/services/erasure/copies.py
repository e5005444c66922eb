"""Shared copies of an erased member's memories, and the bytes that the database and the search index keep of them.

Promoted copies are found by the promotions in the member's audit chain. The chain outlives rows and payloads, so a
receipt can ask again.

SQLite overwrites deleted rows (`secure_delete`), but not the copies that rows leave in free pages when they move:
the file is rewritten (VACUUM) and its log emptied. PostgreSQL only marks rows as dead: VACUUM frees their space and
their index entries; bytes remain in free pages until they are overwritten, in the log until it is recycled, and in
backups.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from uuid import UUID

from django.db import DatabaseError, connection, transaction
from django.db.models import Q
from django.utils import timezone

from memories.errors import SearchUnavailable
from memories.models import Operation, ReviewItem
from memories.search import search_plane
from memories.search.base import PartMissing
from memories.search.checking import check
from memories.search.outbox import drain, pending, rebuild_owner
from memories.services.erasure.forget import delete_rows
from memories.services.facts.closing import Supersedable, model_of
from memories.services.write import AUDIT_NOUN, Write, write
from memories.types import Kind, Owner
from memoryhub.db.sqlite import rewrite_file, scrub_log
from tenants.audit.chain import owner_chain, record_tenant_event
from tenants.erasure import erase_shared_payloads
from tenants.locks import wait_for_tenant
from tenants.models import AuditEvent, Membership
from tenants.principal import SYSTEM, Actor
from tenants.principals import keeping_principal

KINDS = (Kind.SEMANTIC, Kind.PROCEDURAL)


def count_copies(membership: Membership) -> int:
    """How many promoted copies there are, without what was promoted or brought back from them."""
    return sum(len(_promoted(membership, kind)) for kind in KINDS)


def erase_copies(membership: Membership, *, at_most: int, actor: Actor = SYSTEM) -> int:
    """Erase some copies, and copies of theirs, in the caller's transaction under the owner's lock; return how many."""
    erased = 0
    with write(keeping_principal(membership), also_inactive=True) as w:
        for kind in KINDS:
            wait_for_tenant(membership.tenant_id)
            for copy_id in _promoted(membership, kind)[: at_most - erased]:
                erased += _erase(w, membership.tenant_id, _with_offspring(kind, copy_id), actor)
            if erased >= at_most:
                break
    return erased


def _promoted(membership: Membership, kind: Kind) -> list[UUID]:
    """The shared rows of a kind that a promotion of this member's rows made."""
    told = AuditEvent.objects.filter(
        chain=owner_chain(membership.tenant_id, membership.user_id), action=f"{AUDIT_NOUN[kind]}.promoted"
    )
    shared = model_of(kind).objects.in_place({"user": None}).filter(promoted_from__in=told.values("target_id"))
    return list(shared.order_by("pk").values_list("pk", flat=True))


def _with_offspring(kind: Kind, copy_id: UUID) -> list[Supersedable]:
    """A copy, and whatever was promoted or brought back from it."""
    model = model_of(kind)
    found: dict[UUID, Supersedable] = {}
    fresh: list[Supersedable] = list(model.objects.unscoped("rows by ids under the lock").filter(pk=copy_id))
    while fresh:
        found |= {row.pk: row for row in fresh}
        ids = [row.pk for row in fresh]
        next_ones = model.objects.in_place({"user": None}).filter(Q(promoted_from__in=ids) | Q(restores__in=ids))
        fresh = [row for row in next_ones if row.pk not in found]
    return list(found.values())


def _erase(w: Write, tenant_id: UUID, rows: list[Supersedable], actor: Actor) -> int:
    ids = [row.pk for row in rows]
    asked = ReviewItem.objects.in_place({"tenant_id": tenant_id}).filter(
        Q(first__in=ids) | Q(second__in=ids) | Q(playbook__in=ids)
    )
    targets = [*ids, *asked.values_list("pk", flat=True)]
    events = delete_rows(w, rows)
    erase_shared_payloads(tenant_id, targets)
    for event in events:
        record_tenant_event(actor, tenant_id, replace(event, reason="whose it was is erased"))
    return len(ids)


log = logging.getLogger(__name__)

# A reader of the log keeps it from being emptied, a writer the file from being written anew; both come and go.
TRIES = 10
PAUSE_SECONDS = 1.0


class FileInUse(Exception):
    """Others keep SQLite's file from being written anew, or its log from being emptied; it is tried again."""


def clear_disk(tables: Iterable[str]) -> dict[str, object]:
    """Do what the database can; say what was done, for the receipt. Raises FileInUse.

    Inside a transaction nothing can be done; the receipt says so.
    """
    if connection.vendor == "sqlite":
        return {"database": "sqlite", "file_rewritten": not connection.in_atomic_block and _rewritten()}
    return {"database": connection.vendor, "vacuumed": _vacuumed(sorted(tables))}


def _rewritten() -> bool:
    for attempt in range(TRIES):
        if attempt:
            time.sleep(PAUSE_SECONDS)
        if rewrite_file() and scrub_log():
            return True
    raise FileInUse


def _vacuumed(tables: list[str]) -> list[str]:
    """The tables that a VACUUM went through; it needs a connection that is in no transaction, and their owner."""
    if not transaction.get_autocommit():
        return []
    done = []
    for table in tables:
        try:
            with connection.cursor() as cursor:
                cursor.execute(f"VACUUM {connection.ops.quote_name(table)}")
        except DatabaseError as error:
            log.warning("A table could not be vacuumed after an erasure (%s): %s.", table, type(error).__name__)
        else:
            done.append(table)
    return done


WAIT_SECONDS = 60.0
INDEX_PAUSE_SECONDS = 0.5


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
    carried = pending(owner).filter(operation=Operation.UPSERT)
    _wait(
        lambda: not carried.filter(leased_until__gt=timezone.now()).exists(), "Another worker carries memories to it."
    )


def _deliver(owner: Owner) -> None:
    """Carry what waits of an owner to the plane; another worker may be carrying some of it."""

    def delivered() -> bool:
        if pending(owner).exists():
            drain(owner=owner)
        return not pending(owner).exists()

    _wait(delivered, "It does not take the erasure.")


def _wait(is_so: Callable[[], bool], otherwise: str) -> None:
    give_up = time.monotonic() + WAIT_SECONDS
    while not is_so():
        if time.monotonic() > give_up:
            raise SearchUnavailable(f"The search index is not ready. {otherwise} The erasure is tried again.")
        time.sleep(INDEX_PAUSE_SECONDS)

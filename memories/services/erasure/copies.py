"""Erases the promoted copies of a member's memories, the member's search index, and deleted bytes on disk.

Promoted copies are found by the promotion events in the member's audit chain. The chain outlives rows and payloads, so
a receipt can be checked again later.

SQLite overwrites deleted rows (`secure_delete`), but not the copies in free pages that moved rows leave behind;
therefore VACUUM rewrites the file and the write-ahead log is emptied. PostgreSQL only marks rows as dead: VACUUM frees
their space and index entries, but bytes remain in free pages until they are overwritten, in the write-ahead log until
it is recycled, and in backups.
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
from memories.search.outbox import drain, on_the_way, pending, rebuild_owner
from memories.services.erasure.forget import delete_rows
from memories.services.facts.closing import Supersedable, model_of
from memories.services.write import AUDIT_NOUN, Write, write
from memories.types import Kind, Owner
from memoryhub.db.row_security import MAINTAIN_SINCE
from memoryhub.db.scope import acting_as
from memoryhub.db.sqlite import rewrite_file, scrub_log
from tenants.audit.chain import owner_chain, record_tenant_event
from tenants.erasure import erase_shared_payloads
from tenants.locks import wait_for_tenant
from tenants.models import AuditEvent, Membership
from tenants.principal import SYSTEM
from tenants.principals import keeping_principal

KINDS = (Kind.SEMANTIC, Kind.PROCEDURAL)


def count_copies(membership: Membership) -> int:
    """The number of direct promoted copies, without the rows that were promoted or restored from them."""
    return sum(len(_promoted(membership, kind)) for kind in KINDS)


def erase_copies(membership: Membership, *, at_most: int) -> int:
    """Erase some promoted copies and the rows made from them; return how many rows.

    Starts with at most `at_most` copies. Runs in the caller's transaction under the owner's lock.
    """
    erased = 0
    with write(keeping_principal(membership), also_inactive=True) as w:
        for kind in KINDS:
            wait_for_tenant(membership.tenant_id)
            for copy_id in _promoted(membership, kind)[: at_most - erased]:
                erased += _erase(w, membership.tenant_id, _with_offspring(kind, copy_id))
            if erased >= at_most:
                break
    return erased


def _promoted(membership: Membership, kind: Kind) -> list[UUID]:
    """The shared rows of a kind that were promoted from this member's rows."""
    told = AuditEvent.objects.filter(
        chain=owner_chain(membership.tenant_id, membership.user_id), action=f"{AUDIT_NOUN[kind]}.promoted"
    )
    shared = model_of(kind).objects.in_place({"user": None}).filter(promoted_from__in=told.values("target_id"))
    return list(shared.order_by("pk").values_list("pk", flat=True))


def _with_offspring(kind: Kind, copy_id: UUID) -> list[Supersedable]:
    """A copy and all rows that were promoted or restored from it, recursively."""
    model = model_of(kind)
    found: dict[UUID, Supersedable] = {}
    fresh: list[Supersedable] = list(model.objects.unscoped("rows by ids under the lock").filter(pk=copy_id))
    while fresh:
        found |= {row.pk: row for row in fresh}
        ids = [row.pk for row in fresh]
        next_ones = model.objects.in_place({"user": None}).filter(Q(promoted_from__in=ids) | Q(restores__in=ids))
        fresh = [row for row in next_ones if row.pk not in found]
    return list(found.values())


def _erase(w: Write, tenant_id: UUID, rows: list[Supersedable]) -> int:
    ids = [row.pk for row in rows]
    asked = ReviewItem.objects.in_place({"tenant_id": tenant_id}).filter(
        Q(first__in=ids) | Q(second__in=ids) | Q(playbook__in=ids)
    )
    targets = [*ids, *asked.values_list("pk", flat=True)]
    reason = "whose it was is erased"
    events = [record_tenant_event(SYSTEM, tenant_id, replace(each, reason=reason)) for each in delete_rows(w, rows)]
    erase_shared_payloads(tenant_id, targets, by=events[0])
    return len(ids)


log = logging.getLogger(__name__)

# SQLite readers prevent emptying the log and writers prevent rewriting the file, but only for a short time.
TRIES = 10
PAUSE_SECONDS = 1.0


class FileInUse(Exception):
    """Other connections prevent SQLite's file from being rewritten or its log from being emptied. Try again later."""


def clear_disk(tables: Iterable[str]) -> dict[str, object]:
    """Clear deleted rows from the disk as far as the database can; return what was done, for the receipt.

    Raises FileInUse. Inside a transaction nothing can be done, and the result says so.
    """
    if connection.vendor == "sqlite":
        return {"database": "sqlite", "file_rewritten": not connection.in_atomic_block and _rewritten()}
    return {"database": connection.vendor, **_vacuumed(sorted(tables))}


def _rewritten() -> bool:
    for attempt in range(TRIES):
        if attempt:
            time.sleep(PAUSE_SECONDS)
        if rewrite_file() and scrub_log():
            return True
    raise FileInUse


def _vacuumed(tables: list[str]) -> dict[str, object]:
    """Run VACUUM on those of `tables` that this role may vacuum, and name the others. Needs autocommit.

    The role that serves owns no table; it may vacuum since PostgreSQL 17 (MAINTAIN), which an older server leaves to
    autovacuum.
    """
    done: list[str] = []
    if transaction.get_autocommit():
        # A scope would make a transaction, in which VACUUM does not run.
        with acting_as(None), connection.cursor() as cursor:
            maintains = (
                " OR has_table_privilege(oid, 'MAINTAIN')"
                if connection.get_database_version() >= MAINTAIN_SINCE
                else ""
            )
            cursor.execute(
                "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname = ANY(%s)"  # noqa: S608 - our own words
                f" AND (pg_has_role(relowner, 'USAGE'){maintains})",
                [tables],
            )
            for (table,) in sorted(cursor.fetchall()):
                try:
                    cursor.execute(f"VACUUM {connection.ops.quote_name(table)}")
                except DatabaseError as error:
                    log.warning("A table could not be vacuumed after an erasure (%s): %s.", table, type(error).__name__)
                else:
                    done.append(table)
    return {"vacuumed": done, "left_to_autovacuum": sorted(set(tables) - set(done))}


WAIT_SECONDS = 60.0
INDEX_PAUSE_SECONDS = 0.5


def erase_part(owner: Owner) -> None:
    """Remove the owner's part of the index, its pending changes and its bytes on disk. Raises SearchUnavailable.

    In an index that all owners share, the tombstones are delivered first, because their versions reject changes that
    another worker may still deliver. An owner's own index file is deleted once no worker holds rows read before the
    erasure.
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
    """Deliver the deletion of promoted copies to the shared parts of the index. Raises SearchUnavailable.

    A shared file of the embedded index is rebuilt, because its pages may keep texts of deleted documents.
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
    """The number of documents under the member's owner filter, and of differences between index and database.

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
    """Wait until no worker holds a lease on upserts, because it might recreate the index part with erased rows."""
    carried = pending(owner).filter(operation=Operation.UPSERT)
    _wait(
        lambda: not carried.filter(leased_until__gt=timezone.now()).exists(), "Another worker carries memories to it."
    )


def _deliver(owner: Owner) -> None:
    """Deliver the owner's pending changes to the index. Another worker may be delivering some of them."""

    def delivered() -> bool:
        if on_the_way(owner).exists():
            drain(owner=owner)
        return not on_the_way(owner).exists()

    _wait(delivered, "It does not take the erasure.")


def _wait(is_so: Callable[[], bool], otherwise: str) -> None:
    give_up = time.monotonic() + WAIT_SECONDS
    while not is_so():
        if time.monotonic() > give_up:
            raise SearchUnavailable(f"The search index is not ready. {otherwise} The erasure is tried again.")
        time.sleep(INDEX_PAUSE_SECONDS)

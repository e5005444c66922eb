"""Items: what a program puts, deletes and erases under a namespace and key.

Nothing judges, merges or masks an item: it comes back as it was put, or was refused. Each change is an event that keeps
the value before and after it, so deleting leaves a history; erasing takes the history as well.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from django.db import transaction
from django.utils import timezone

from memories.attributes.items import (
    MAX_TTL_MINUTES,
    MIN_TTL_MINUTES,
    Labels,
    address_of,
    checked_key,
    checked_paths,
    filterable,
    namespace_text,
    searchable,
    value_text,
)
from memories.attributes.metadata import keys_in, values_in
from memories.errors import Conflict, InvalidInput, existing
from memories.models import Item
from memories.models.base import MemoryQuerySet
from memories.models.item import there
from memories.selectors.erasure import on_hold, require_no_hold
from memories.selectors.items import is_there, rows_at
from memories.services.idempotency import erase_answers
from memories.services.screening import KEPT_OUT, Screen, joined, kept_out, screened_reason
from memories.services.write import Write, housekeeping, write
from memories.types import Kind, Owner, Scope, Status
from memoryhub.db.sqlite import scrub_log
from memoryhub.leases import fault_of
from tenants.audit.chain import EventDraft, erase_payloads
from tenants.principal import Principal

log = logging.getLogger(__name__)

EXPIRED = "expired"
# Rows erased in one transaction, for which other writers of the owner wait.
_BATCH = 250


def put(
    principal: Principal,
    *,
    namespace: Labels,
    key: str,
    value: Any,
    index: bool | Sequence[str] = True,
    ttl_minutes: float | None = None,
    if_version: int | None = None,
    new_id: UUID | None = None,
) -> tuple[Item, bool]:
    """Store a value under a namespace and key, in place of what a read shows; return the item, and whether it is new.

    `index` says which texts of the value a search reads: all, none, or those at its paths. The item expires
    `ttl_minutes` after its last put or renewal. `if_version` is the version that the caller read, 0 for none.
    `new_id` is the id of a new item.

    Raises InvalidInput, Blocked, Forbidden, and Conflict if there is another version.
    """
    place, stored, paths = namespace_text(namespace), value_text(value), checked_paths(index)
    checked_key(key)
    if ttl_minutes is not None and not MIN_TTL_MINUTES <= ttl_minutes <= MAX_TTL_MINUTES:
        raise InvalidInput("ttl_minutes", f"must be between {MIN_TTL_MINUTES} and {MAX_TTL_MINUTES:,}.")
    screen = Screen(principal)
    named = () if isinstance(paths, bool) else paths
    marks = joined(
        screen.unchanged(list(namespace), field="namespace"),
        screen.unchanged(key, field="key"),
        screen.unchanged(value, field="value", name=key),
        screen.unchanged(list(named), field="index"),
    )
    texts = (*namespace, key, *named, *(name for _, name in keys_in(value)), *(str(one) for _, one in values_in(value)))
    if entry := kept_out(screen.policy, *texts):
        raise InvalidInput("value", KEPT_OUT.format(entry))
    with write(principal) as w:
        w.require_learning()
        now = timezone.now()
        row = _present(w, place, key, now)
        _require_version(row, if_version)
        before = _shown(row)
        created = row is None
        if row is None:
            row = _deleted(principal, place, key) or Item(
                tenant_id=principal.tenant_id,
                user_id=principal.user_id,
                scope=Scope.USER,
                app=principal.app,
                namespace=place,
                key=key,
                content_hash=address_of(place, key),
                id=new_id or uuid4(),
                version=0,
            )
            row.created_at = now
        row.value, row.searched, row.metadata, row.sensitivity = stored, paths, filterable(value), marks
        row.ttl_minutes, row.expires_at = ttl_minutes, _expiry(ttl_minutes, now)
        _save(w, row, text=searchable(value, paths))
        verb = "replaced" if before else "created" if row.version == 1 else "restored"
        w.audit(f".{verb}", row, before=before, after=_shown(row))
        return row, created


def delete(principal: Principal, *, namespace: Labels, key: str, if_version: int | None = None) -> bool:
    """Delete the item that a read shows; False if there is none. Its history stays.

    Raises InvalidInput, Forbidden, and Conflict if there is another version.
    """
    place = namespace_text(namespace)
    checked_key(key)
    with write(principal) as w:
        row = _present(w, place, key, timezone.now())
        _require_version(row, if_version)
        if row is None:
            return False
        before = _shown(row)
        row.value, row.searched, row.metadata, row.sensitivity = "", None, {}, {}
        _save(w, row, text="")
        w.audit(".deleted", row, before=before)
        return True


def renew(principal: Principal, items: Iterable[Item]) -> None:
    """Put off when those of these items expire that have a time to live, as if they were put now. Raises Forbidden."""
    living = {item.pk: item for item in items if item.ttl_minutes is not None}
    if not living:
        return
    with write(principal):
        now = timezone.now()
        rows = list(
            Item.objects.of(principal).filter(there(now)).filter(pk__in=list(living), ttl_minutes__isnull=False)
        )
        for row in rows:
            row.expires_at = living[row.pk].expires_at = _expiry(row.ttl_minutes, now)
        Item.objects.bulk_update(rows, ["expires_at"])


def erase(principal: Principal, *, item_id: UUID, reason: str = "") -> None:
    """Erase an item, deleted or not, and its history for good.

    Raises NotFound, Forbidden, Conflict (a legal hold is in force).
    """
    reason = screened_reason(principal, reason)
    with write(principal) as w:
        row = existing(Item.objects.of(principal).filter(pk=item_id).first(), "item")
        erase_items(w, [row], reason=reason)


def erase_items(w: Write, rows: Sequence[Item], *, reason: str = "", verb: str = "forgotten") -> None:
    """Erase the owner's rows and the payloads of their events; `verb` is that of the event of each.

    Raises Conflict while a legal hold is in force.
    """
    require_no_hold(w.owner)
    transaction.on_commit(scrub_log)
    ids = [row.pk for row in rows]
    w.unindex(*rows)
    erase_answers(w.owner)
    _of(w.owner).filter(pk__in=ids).delete()
    w.flush()  # writes the buffered events about them first, so that their payloads are erased too
    erase_payloads(w.principal, target_ids=ids, by=(by := uuid4()))
    kind = Kind.ITEM.value
    w.audit_drafts(
        [
            EventDraft(f"item.{verb}", kind, pk, reason=reason, id=None if number else by)
            for number, pk in enumerate(ids)
        ]
    )


def erase_expired(now: datetime | None = None) -> int:
    """Erase what has expired, with its history, but not under a legal hold; return how many items."""
    now = now or timezone.now()
    due = Item.objects.unscoped("expiry of every item").filter(expires_at__lte=now).order_by()
    erased = 0
    for owner in [Owner(*ids) for ids in due.values_list("tenant_id", "user_id").distinct()]:
        try:
            while not on_hold(owner):
                with housekeeping(owner) as w:
                    rows = list(_of(owner).filter(expires_at__lte=now)[:_BATCH])
                    if rows:
                        erase_items(w, rows, verb=EXPIRED)
                if not rows:
                    break
                erased += len(rows)
        except Exception as error:  # noqa: BLE001 - one owner's fault must not stop the others
            log.warning("Items of %s were not erased: %s. The next collection tries again.", owner, fault_of(error))
    return erased


def _of(owner: Owner) -> MemoryQuerySet[Item]:
    return Item.objects.of_owner(owner.tenant_id, owner.user_id)


def _present(w: Write, namespace: str, key: str, now: datetime) -> Item | None:
    """The row that a read shows, under the owner's lock. What has expired here goes first, so nothing refers to it."""
    rows = rows_at(w.principal, namespace, key)
    expired = [row for row in rows if row.expires_at is not None and row.expires_at <= now]
    if expired and not on_hold(w.owner):
        erase_items(w, expired, verb=EXPIRED)
    return next((row for row in rows if is_there(row, now)), None)


def _deleted(principal: Principal, namespace: str, key: str) -> Item | None:
    """The row of this app that a deletion left."""
    return next((row for row in rows_at(principal, namespace, key) if row.app == principal.app), None)


def _require_version(row: Item | None, wanted: int | None) -> None:
    found = row.version if row else 0
    if wanted not in (None, found):
        raise Conflict(f"The item has version {found}, not {wanted}: read it again, then repeat your change.")


def _expiry(ttl_minutes: float | None, now: datetime) -> datetime | None:
    return None if ttl_minutes is None else now + timedelta(minutes=ttl_minutes)


def _save(w: Write, row: Item, *, text: str) -> None:
    """Save a row with its new value, and index the text that a search reads of it."""
    if text != row.text:
        row.text, row.embedding, row.token_ids, row.embedding_model = text, None, None, ""
    row.status = Status.ACTIVE if text else Status.EVICTED
    row.version += 1
    row.save()
    w.index(row)


def _shown(row: Item | None) -> dict[str, Any] | None:
    """What an event keeps of an item."""
    if row is None:
        return None
    return {"item": {"namespace": list(row.labels), "key": row.key, "value": row.content, "version": row.version}}

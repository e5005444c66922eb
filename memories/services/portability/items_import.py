"""Imports items: each is put where its owner has none, so an import overwrites nothing and adds nothing twice."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from django.utils import timezone

from memories.attributes.items import checked_key, namespace_text, value_text
from memories.errors import Blocked, InvalidInput
from memories.importing.peers import RefusedEntry
from memories.importing.records import ItemRecord
from memories.selectors.items import is_there, rows_at
from memories.services.apps import in_app
from memories.services.items import put
from memories.services.portability.imports import (
    Advance,
    ImportReport,
    LeftOut,
    forgotten_ids,
    owner_id,
    unwatched,
)
from memories.services.write import write
from memories.types import Kind
from tenants.principal import Principal


def import_items(principal: Principal, records: Iterable[ItemRecord], *, advance: Advance = unwatched) -> ImportReport:
    """Put items in one transaction; those that cannot be put are left out and reported. Raises Forbidden, Conflict."""
    report = ImportReport()
    with write(principal) as w:
        w.require_learning(by_hand=False)
        gone = {str(pk) for pk in forgotten_ids(principal)}
        acting = {"": principal}
        for record in records:
            try:
                with w.savepoint():
                    if record.app not in acting:
                        acting[record.app] = in_app(principal, record.app)
                    _import(acting[record.app], record, gone, report)
            except InvalidInput as error:
                report.refused += (RefusedEntry(record.place, f"its {error.field} {error.reason}"),)
            except Blocked as error:
                kinds = tuple(sorted({spot.kind.value for spot in error.spots}))
                report.left_out += (LeftOut(record.place, kinds),)
            advance(1)
    return report


def _import(principal: Principal, record: ItemRecord, gone: Collection[str], report: ImportReport) -> None:
    """Put an item, or count why it is not put. Raises InvalidInput, Blocked."""
    now = timezone.now()
    place = namespace_text(record.namespace)
    rows = rows_at(principal, place, checked_key(record.key))
    new_id = owner_id(principal, "items", principal.app, place, record.key)
    if rows and is_there(rows[0], now):
        if rows[0].value != value_text(record.value):
            raise InvalidInput("key", "has another value here, which stays as it is.")
        report.known += 1
    elif record.id in gone or str(new_id) in gone or any(row.app == principal.app for row in rows):
        report.forgotten += 1
    elif record.expires_at is not None and record.expires_at <= now:
        raise InvalidInput("expires_at", "is in the past: the time of the item is over.")
    else:
        put(
            principal,
            namespace=record.namespace,
            key=record.key,
            value=record.value,
            index=record.index,
            ttl_minutes=record.ttl_minutes,
            new_id=new_id,
        )
        report.added[Kind.ITEM] += 1

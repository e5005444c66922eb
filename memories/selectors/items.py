"""Reads items: one by its address or id, those that a search finds, their namespaces, and the history of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from memories.attributes.filters import both, of_namespace
from memories.attributes.items import Labels, address_of, checked_key, labels_of, lies_in, namespace_text
from memories.constants import MAX_RECALL_LIMIT
from memories.errors import NotFound, existing
from memories.hygiene.text import has_visible_text
from memories.models import Item
from memories.models.filtering import filter_of
from memories.models.item import there
from memories.recall.pipeline import run
from memories.recall.request import checked
from memories.types import Filter, Kind
from tenants.models import AuditEvent
from tenants.principal import Principal, Right

_DERIVED = ("embedding", "token_ids")


@dataclass(frozen=True, slots=True)
class FoundItem:
    """An item that a search found; `score` is None if the search had no query."""

    item: Item
    score: float | None


@dataclass(frozen=True, slots=True)
class FoundItems:
    """The result of a search. `degraded`: the search plane did not answer, so better ones may be missing."""

    items: tuple[FoundItem, ...]
    degraded: bool = False


def rows_at(principal: Principal, namespace: str, key: str) -> list[Item]:
    """The rows under a namespace (as text) and key, deleted ones included; the one that a read shows comes first.

    There is one for each app. A confined principal sees that of its own app before that of no app, others the latest.
    """
    now = timezone.now()
    rows = Item.objects.of(principal).filter(content_hash=address_of(namespace, key)).defer(*_DERIVED)
    own = principal.only_app

    def rank(row: Item) -> tuple[bool, bool, float]:
        return not is_there(row, now), own is not None and row.app != own, -row.updated_at.timestamp()

    return sorted(rows, key=rank)


def is_there(row: Item, now: datetime) -> bool:
    """Whether an item was neither deleted nor has expired."""
    return bool(row.value) and (row.expires_at is None or row.expires_at > now)


def get_item(principal: Principal, *, namespace: Labels, key: str) -> Item:
    """The item under a namespace and key. Raises NotFound, InvalidInput."""
    principal.require(Right.READ)
    for row in rows_at(principal, namespace_text(namespace), checked_key(key))[:1]:
        if is_there(row, timezone.now()):
            return row
    raise NotFound("item")


def find_item(principal: Principal, item_id: UUID) -> Item:
    """An item by its id. Raises NotFound."""
    principal.require(Right.READ)
    return existing(
        Item.objects.of(principal).filter(there(timezone.now())).defer(*_DERIVED).filter(pk=item_id).first(), "item"
    )


def search_items(
    principal: Principal,
    *,
    namespace_prefix: Labels = (),
    query: str = "",
    filters: Filter | None = None,
    limit: int = 10,
    offset: int = 0,
) -> FoundItems:
    """The items inside a namespace that a filter matches: with a query the best first, else the latest first.

    A query finds the MAX_RECALL_LIMIT best of the items whose text a search reads. Raises InvalidInput, Forbidden,
    SearchForbidden.
    """
    principal.require(Right.READ)
    inside = both(of_namespace(namespace_text(namespace_prefix, "namespace_prefix", least=0)), filters)
    if has_visible_text(query):
        most = min(offset + limit, MAX_RECALL_LIMIT)
        answer = run(principal, checked(principal, query, types=(Kind.ITEM,), limit=most, filters=inside)).answer
        found = tuple(FoundItem(answer.rows[each.id], each.score) for each in answer.items[offset:])
        return FoundItems(found, answer.degraded)
    rows = Item.objects.of(principal).filter(there(timezone.now())).defer(*_DERIVED)
    if inside is not None:
        rows = rows.filter(filter_of(inside, Kind.ITEM))
    listed = rows.order_by("-updated_at", "pk")[offset : offset + limit]
    return FoundItems(tuple(FoundItem(row, None) for row in listed))


def list_namespaces(
    principal: Principal,
    *,
    prefix: Labels = (),
    suffix: Labels = (),
    max_depth: int | None = None,
    limit: int = 100,
    offset: int = 0,
) -> list[Labels]:
    """The namespaces that hold items, in order. `*` in `prefix` or `suffix` is any label; deeper ones are cut.

    Raises InvalidInput.
    """
    principal.require(Right.READ)
    namespace_text(prefix, "prefix", least=0)
    namespace_text(suffix, "suffix", least=0)
    rows = (
        Item.objects.of(principal)
        .filter(there(timezone.now()))
        .order_by()
        .values_list("namespace", flat=True)
        .distinct()
    )
    every = (labels_of(namespace) for namespace in rows)
    matching = {labels[:max_depth] for labels in every if lies_in(labels, prefix=prefix, suffix=suffix)}
    return list(sorted(matching)[offset : offset + limit])


def history_of(principal: Principal, *, namespace: Labels, key: str) -> QuerySet[AuditEvent]:
    """The events of an item, latest first, with their payloads; also of one that was deleted. Raises NotFound."""
    principal.require(Right.READ)
    ids: Sequence[UUID] = [row.pk for row in rows_at(principal, namespace_text(namespace), checked_key(key))]
    if not ids:
        raise NotFound("item")
    events = AuditEvent.objects.filter(
        target_id__in=ids, target_kind=Kind.ITEM.value, tenant_id=principal.tenant_id, owner_id=principal.user_id
    )
    return events.select_related("payload").order_by("-sequence", "id")

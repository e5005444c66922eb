"""Views of items: put, get, delete and erase; search, namespaces and history."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from rest_framework.response import Response

from memories.api.authentication import DECIDE, READ, READ_WRITE
from memories.api.serializers.items import (
    DeletedItemResponse,
    DeleteItemQuery,
    ErasedItemResponse,
    EraseItemQuery,
    GetItemQuery,
    ItemHistoryQuery,
    ItemHistoryResponse,
    ItemRequest,
    ItemResponse,
    NamespacesRequest,
    NamespacesResponse,
    SearchItemsRequest,
    SearchItemsResponse,
)
from memories.api.views.base import ApiView, operation, paged
from memories.models import Item
from memories.selectors.items import FoundItems, find_item, get_item, history_of, list_namespaces, search_items
from memories.selectors.paging import page_of
from memories.services.items import delete, erase, put, renew
from tenants.models import AuditEvent


class ItemsView(ApiView):
    """The item under a namespace and a key."""

    @operation(
        "items_put",
        READ_WRITE,
        takes=ItemRequest,
        gives=ItemResponse,
        statuses=(200, 201),
        refuses=(409, 422),
    )
    def put(self, **fields: Any) -> Response:
        """Put an item. 201: it is new; 200: it replaced what was there, which the history keeps.

        It is stored exactly as it is. A value with a secret, or with what the organisation masks, is refused.
        """
        item, created = put(self.principal, **fields)
        return Response(ItemResponse(item).data, status=201 if created else 200)

    @operation("items_get", READ, query=GetItemQuery, gives=ItemResponse, refuses=(404,))
    def get(self, *, namespace: Sequence[str], key: str, refresh_ttl: bool) -> Item:
        """Read an item by its namespace and key."""
        item = get_item(self.principal, namespace=namespace, key=key)
        if refresh_ttl:
            renew(self.principal, [item])
        return item

    @operation("items_delete", READ_WRITE, query=DeleteItemQuery, gives=DeletedItemResponse, refuses=(409,))
    def delete(self, **wanted: Any) -> dict[str, bool]:
        """Delete an item. The history keeps what it was; DELETE /items/{id}/ erases that, too."""
        return {"deleted": delete(self.principal, **wanted)}


class ItemView(ApiView):
    """An item by its id."""

    @operation("items_read", READ, gives=ItemResponse, refuses=(404,))
    def get(self, item_id: UUID) -> Item:
        """Read an item by its id."""
        return find_item(self.principal, item_id)

    @operation("items_erase", DECIDE, query=EraseItemQuery, gives=ErasedItemResponse, refuses=(404, 409, 422))
    def delete(self, item_id: UUID, reason: str) -> dict[str, bool]:
        """Erase an item and its history for good, also one that was deleted."""
        erase(self.principal, item_id=item_id, reason=reason)
        return {"erased": True}


class SearchItemsView(ApiView):
    """Searches among items."""

    @operation("items_search", READ, takes=SearchItemsRequest, gives=SearchItemsResponse)
    def post(self, *, refresh_ttl: bool, **wanted: Any) -> FoundItems:
        """Search the items of a namespace and those inside it, by words and meaning and by their values."""
        found = search_items(self.principal, **wanted)
        if refresh_ttl:
            renew(self.principal, [each.item for each in found.items])
        return found


class NamespacesView(ApiView):
    """The namespaces of items."""

    @operation("items_namespaces", READ, takes=NamespacesRequest, gives=NamespacesResponse)
    def post(self, **wanted: Any) -> dict[str, Any]:
        """List the namespaces that hold items, in order."""
        return {"results": list_namespaces(self.principal, **wanted)}


class ItemHistoryView(ApiView):
    """The history of an item."""

    @operation("items_history", READ, query=ItemHistoryQuery, gives=ItemHistoryResponse, refuses=(404,))
    def get(self, *, namespace: Sequence[str], key: str, limit: int, cursor: str) -> dict[str, Any]:
        """List the changes of an item, latest first, with the value that each put; also of one that was deleted."""
        page = page_of(history_of(self.principal, namespace=namespace, key=key), limit=limit, cursor=cursor)
        return paged(page, [*_events(page.rows)])


def _events(events: Iterable[AuditEvent]) -> Iterable[dict[str, Any]]:
    for event in events:
        payload = getattr(event, "payload", None)
        put_then = ((payload.data["after"] if payload else None) or {}).get("item", {})
        yield {
            "id": event.pk,
            "item_id": event.target_id,
            "action": event.action.partition(".")[2],
            "at": event.created_at,
            "actor": event.actor_kind,
            "version": put_then.get("version"),
            "value": put_then.get("value"),
            "erased": payload is None,
        }

"""Views for the feed of events and for webhooks (docs/webhooks.md)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from rest_framework.response import Response

from memories.api.acting import Acts
from memories.api.authentication import READ
from memories.api.fields import PageQuery
from memories.api.serializers.members import RotationRequest
from memories.api.serializers.webhooks import (
    DeliveriesQuery,
    DeliveriesResponse,
    EventsQuery,
    EventsResponse,
    NewWebhookResponse,
    ReplayRequest,
    WebhookChangeRequest,
    WebhookRequest,
    WebhookResponse,
    WebhooksResponse,
)
from memories.api.views.base import ApiView, operation, paged
from memories.models import DeliveryState, WebhookEndpoint
from memories.selectors.feed import feed_of_member, feed_of_tenant, page_of_feed, shown_events
from memories.selectors.paging import page_of
from memories.services.feed import add_new_events
from memories.services.webhooks import endpoints
from memoryhub.db.scope import WideRole, acting_as
from tenants.principal import Principal, Right

EVENTS = (Right.EVENTS,)


class EventsView(ApiView):
    """What happened, in the order in which it became visible."""

    acts = Acts.FOR_EITHER

    @operation("events_list", READ, query=EventsQuery, gives=EventsResponse)
    def get(self, *, everyone: bool, types: tuple[str, ...] = (), **wanted: Any) -> dict[str, Any]:
        """List events after a cursor, oldest first.

        Ask again with `next_cursor`, at once if `has_more`, else after a pause. Nothing is left out, however long the
        requests took that caused it. Events of one member are in order. They are kept for 30 days.
        """
        caller = self.caller
        if isinstance(caller, Principal) and not everyone:
            caller, rows = self.principal, feed_of_member(self.principal)
        else:
            endpoints.require_events(caller)
            rows = feed_of_tenant(caller.tenant_id)
        with acting_as(WideRole.STAFF):
            unread = add_new_events(caller.tenant_id)
            page = page_of_feed(rows, types=types, **wanted)
            results = shown_events(page.entries)
        return {"results": results, "next_cursor": page.next_cursor, "has_more": page.has_more or unread}


class WebhooksView(ApiView):
    """The webhooks of the tenant."""

    acts = Acts.FOR_EITHER

    @operation("webhooks_list", EVENTS, query=PageQuery, gives=WebhooksResponse)
    def get(self, **wanted: Any) -> dict[str, Any]:
        """List webhooks, oldest first."""
        with acting_as(WideRole.STAFF):
            return paged(page_of(endpoints.endpoints_of(self.caller), **wanted))

    @operation(
        "webhooks_create",
        EVENTS,
        takes=WebhookRequest,
        gives=NewWebhookResponse,
        statuses=(201,),
        refuses=(409,),
        keeps_answer=False,
    )
    def post(self, **fields: Any) -> Response:
        """Have an address get what happens from now on. The secret of its signatures is in this answer alone."""
        with acting_as(WideRole.STAFF), self.once():
            endpoint, secret = endpoints.create_endpoint(self.caller, **fields)
        return _with_secret(endpoint, secret, status=201)


class WebhookView(ApiView):
    """One webhook."""

    acts = Acts.FOR_EITHER

    @operation("webhooks_read", EVENTS, gives=WebhookResponse)
    def get(self, webhook_id: UUID) -> WebhookEndpoint:
        """Read a webhook, without its secret."""
        with acting_as(WideRole.STAFF):
            return endpoints.find_endpoint(self.caller, webhook_id)

    @operation("webhooks_change", EVENTS, takes=WebhookChangeRequest, gives=WebhookResponse)
    def patch(self, webhook_id: UUID, **changes: Any) -> WebhookEndpoint:
        """Change a webhook, or enable it again."""
        with acting_as(WideRole.STAFF), self.once():
            return endpoints.change_endpoint(self.caller, webhook_id, **changes)

    @operation("webhooks_delete", EVENTS, gives=WebhookResponse)
    def delete(self, webhook_id: UUID) -> WebhookEndpoint:
        """Delete a webhook, with what waits for it."""
        with acting_as(WideRole.STAFF), self.once():
            return endpoints.delete_endpoint(self.caller, webhook_id)


class RotateWebhookView(ApiView):
    """A new secret for a webhook."""

    acts = Acts.FOR_EITHER

    @operation("webhooks_rotate", EVENTS, takes=RotationRequest, gives=NewWebhookResponse, keeps_answer=False)
    def post(self, webhook_id: UUID, *, grace_hours: int) -> Response:
        """Give a webhook a new secret; for `grace_hours` more each request has a signature by the old one, too."""
        with acting_as(WideRole.STAFF), self.once():
            grace = timedelta(hours=grace_hours)
            endpoint, secret = endpoints.rotate_secret(self.caller, webhook_id, grace=grace)
        return _with_secret(endpoint, secret, status=200)


class ReplayView(ApiView):
    """Sending again."""

    acts = Acts.FOR_EITHER

    @operation("webhooks_replay", EVENTS, takes=ReplayRequest, gives=WebhookResponse, statuses=(202,))
    def post(self, webhook_id: UUID, *, since: datetime | None, cursor: str) -> WebhookEndpoint:
        """Send events of the last 30 days again, each with the id that it had; what arrived before, too."""
        with acting_as(WideRole.STAFF), self.once():
            return endpoints.replay(self.caller, webhook_id, since=since, cursor=cursor)


class DeliveriesView(ApiView):
    """What a webhook was sent."""

    acts = Acts.FOR_EITHER

    @operation("webhooks_deliveries", EVENTS, query=DeliveriesQuery, gives=DeliveriesResponse)
    def get(self, webhook_id: UUID, *, state: DeliveryState | None, **wanted: Any) -> dict[str, Any]:
        """List the deliveries to a webhook, latest first."""
        with acting_as(WideRole.STAFF):
            endpoint = endpoints.find_endpoint(self.caller, webhook_id)
            rows = endpoint.deliveries.select_related("entry").order_by("-id")
            return paged(page_of(rows.filter(state=state) if state else rows, **wanted))


def _with_secret(endpoint: WebhookEndpoint, secret: str, *, status: int) -> Response:
    return Response({**WebhookResponse(endpoint).data, "secret": secret}, status=status)

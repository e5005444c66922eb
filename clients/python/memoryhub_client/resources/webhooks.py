"""The feed of events, and webhooks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from memoryhub_client.calls import C, Call, Resource, at, delete, endpoint, get, paged, patch, post
from memoryhub_client.types import Delivery, FeedPage, NewWebhook, Webhook


class Events(Resource[C]):
    """What happened: to the owner, or for a backend key that names nobody in its whole tenant."""

    @endpoint
    def read(
        self,
        cursor: str | None = None,
        *,
        since: datetime | None = None,
        types: Sequence[str] | None = None,
        everyone: bool | None = None,
        limit: int | None = None,
    ) -> Call[FeedPage]:
        """Read the events after a cursor or from a time on; `everyone`: of all members, for administrators."""
        return get("/events/", cursor=cursor, since=since, types=types, everyone=everyone, limit=limit)


class Webhooks(Resource[C]):
    """Addresses that get what happens in the tenant. Needs `events`."""

    @paged
    def list(self, *, limit: int | None = None) -> Call[Webhook]:
        """List webhooks, oldest first."""
        return get("/webhooks/", limit=limit)

    @endpoint
    def create(
        self, url: str, *, types: Sequence[str] | None = None, description: str | None = None
    ) -> Call[NewWebhook]:
        """Have an address get what happens from now on: events of these types, or all. Its secret is in this answer."""
        return post("/webhooks/", url=url, types=types, description=description)

    @endpoint
    def get(self, webhook_id: str) -> Call[Webhook]:
        """Read a webhook, without its secret."""
        return get(at("webhooks", webhook_id))

    @endpoint
    def change(
        self,
        webhook_id: str,
        *,
        url: str | None = None,
        types: Sequence[str] | None = None,
        description: str | None = None,
        enabled: bool | None = None,
    ) -> Call[Webhook]:
        """Change a webhook, or enable it again."""
        return patch(at("webhooks", webhook_id), url=url, types=types, description=description, enabled=enabled)

    @endpoint
    def delete(self, webhook_id: str) -> Call[Webhook]:
        """Delete a webhook, with what waits for it."""
        return delete(at("webhooks", webhook_id))

    @endpoint
    def rotate(self, webhook_id: str, *, grace_hours: int | None = None) -> Call[NewWebhook]:
        """Give a webhook a new secret; the old one signs, too, for `grace_hours` more."""
        return post(at("webhooks", webhook_id, "rotate"), grace_hours=grace_hours)

    @endpoint
    def replay(self, webhook_id: str, *, since: datetime | None = None, cursor: str | None = None) -> Call[Webhook]:
        """Send events again, from a time or after a cursor of the feed on, each with the id that it had."""
        return post(at("webhooks", webhook_id, "replay"), since=since, cursor=cursor)

    @paged
    def deliveries(
        self,
        webhook_id: str,
        *,
        state: Literal["waiting", "delivered", "failed"] | None = None,
        limit: int | None = None,
    ) -> Call[Delivery]:
        """List what was sent and what waits, latest first."""
        return get(at("webhooks", webhook_id, "deliveries"), state=state, limit=limit)

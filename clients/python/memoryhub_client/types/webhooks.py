"""The feed of events, and webhooks."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, kw_only=True)
class EventData:
    """What an event is about: ids and no text. `member_id` never changes; `actor` is who did it."""

    kind: str
    id: str | None
    user_id: str | None
    member_id: str | None
    app: str | None
    actor: str
    operation_ids: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class FeedEvent:
    """What happened, such as `memory.created`. A webhook gets the same, with `id` as its `webhook-id`."""

    id: str
    type: str
    timestamp: datetime
    data: EventData


@dataclass(frozen=True, kw_only=True)
class FeedPage:
    """Events, oldest first. Keep `next_cursor`: reading goes on there, at once if `has_more`."""

    results: list[FeedEvent]
    next_cursor: str
    has_more: bool


@dataclass(frozen=True, kw_only=True)
class Webhook:
    """An address that gets events. `trouble` is why memoryhub disabled it."""

    id: str
    url: str
    types: list[str]
    description: str
    enabled: bool
    trouble: str
    failures: int
    delivered_at: datetime | None
    previous_until: datetime | None
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class NewWebhook(Webhook):
    """A webhook with the secret that verifies its signatures, which is shown this once."""

    secret: str


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """An event on its way to a webhook: `waiting`, `delivered` or `failed`."""

    event_id: str
    type: str
    state: str
    attempts: int
    status: int | None
    error: str
    created_at: datetime
    tried_at: datetime | None
    next_try_at: datetime

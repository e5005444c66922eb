"""Serializers for the feed of events and for webhooks."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from rest_framework import serializers

from memories.api.fields import (
    Choice,
    Cursor,
    Moment,
    PageQuery,
    Several,
    StrictSerializer,
    StrictText,
    Truth,
    TruthInQuery,
    WebAddress,
    Words,
)
from memories.models import DeliveryState, EventType

_HOUR = timedelta(hours=1)
_URL_CHARACTERS, _DESCRIPTION_CHARACTERS = 2_000, 200
_TYPES = "Which events; empty: all, also those of types that are added later."


class FeedCursor(Cursor):
    """A place in the feed, as `memories/selectors/feed.py` encrypts it."""

    pattern = r"^[\w=-]*$"

    def __init__(self, **options: Any) -> None:
        super().__init__(default="", allow_blank=True, **options)


class EventsQuery(PageQuery):
    """Which events, and from where on."""

    cursor = FeedCursor(help_text="The `next_cursor` of an answer of the last 30 days.")
    since = Moment(required=False, help_text="The time of the first event; instead of a cursor.")
    types = Words(EventType, required=False, help_text="Only events of these types.")
    everyone = TruthInQuery(
        default=False, help_text="For administrators: of all members. A backend key that names no user reads all."
    )


class EventData(serializers.Serializer[Any]):
    """What an event is about."""

    kind = serializers.CharField(help_text="Of the thing: `semantic`, `review`, `membership` …", allow_blank=True)
    id = serializers.UUIDField(allow_null=True, help_text="Of the thing.")
    user_id = serializers.CharField(allow_null=True, help_text="The tenant's own id of the user, while there is one.")
    member_id = serializers.UUIDField(
        allow_null=True, help_text="Of the member; the same for ever, also in `member.erased`."
    )
    app = serializers.CharField(allow_null=True, allow_blank=True, help_text="That of the memory, if it is known.")
    actor = serializers.CharField(help_text="Who did it: `member`, `agent`, `token`, `key`, `staff` or `system`.")
    operation_ids = serializers.ListField(
        child=serializers.UUIDField(), required=False, help_text="The operations that ended with it."
    )


class EventItem(serializers.Serializer[Any]):
    """Something that happened; a webhook sends the same object. It holds no text."""

    id = serializers.UUIDField(help_text="The `webhook-id` of each try to send it.")
    type = Choice(EventType)
    timestamp = serializers.DateTimeField()
    data = EventData()  # type: ignore[assignment]  # the name that Standard Webhooks gives


class EventsResponse(serializers.Serializer[Any]):
    """Events, oldest first."""

    results = EventItem(many=True)
    next_cursor = serializers.CharField(help_text="Where to go on, now or later.")
    has_more = serializers.BooleanField(help_text="Whether there are more already.")


def _types(**options: Any) -> Several:
    return Several(Choice(EventType), limit=len(EventType), help_text=_TYPES, **options)


def _description(**options: Any) -> StrictText:
    return StrictText(limit=_DESCRIPTION_CHARACTERS, allow_blank=True, help_text="For people.", **options)


class WebhookRequest(StrictSerializer):
    """An address that gets events."""

    url = WebAddress(limit=_URL_CHARACTERS, help_text="An https address on the public internet.")
    types = _types(default=list)
    description = _description(default="")


class WebhookChangeRequest(StrictSerializer):
    """Changes of a webhook; a field that is left out stays."""

    url = WebAddress(limit=_URL_CHARACTERS, required=False)
    types = _types(required=False)
    description = _description(required=False)
    enabled = Truth(required=False, help_text="True again: sending goes on where it ended.")


class WebhookResponse(serializers.Serializer[Any]):
    """A webhook, without its secret."""

    id = serializers.UUIDField()
    url = serializers.CharField()
    types = serializers.ListField(child=Choice(EventType))
    description = serializers.CharField(allow_blank=True)
    enabled = serializers.BooleanField()
    trouble = serializers.CharField(allow_blank=True, help_text="Why memoryhub disabled it.")
    failures = serializers.IntegerField(help_text="How many of the latest tries failed, in a row.")
    delivered_at = serializers.DateTimeField(allow_null=True, help_text="When a request was taken last.")
    previous_until = serializers.DateTimeField(
        allow_null=True, help_text="How long the secret from before the last rotation signs, too."
    )
    created_at = serializers.DateTimeField()


class WebhooksResponse(serializers.Serializer[Any]):
    """A page of webhooks."""

    results = WebhookResponse(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class NewWebhookResponse(WebhookResponse):
    """A webhook with its secret, which is shown this once."""

    secret = serializers.CharField(help_text="Verifies signatures: `whsec_` and 32 bytes in base64.")


class ReplayRequest(StrictSerializer):
    """From where on to send again: one of the two."""

    since = Moment(default=None, allow_null=True, help_text="The time of the first event.")
    cursor = FeedCursor(help_text="A cursor of `GET /events/`; the events after it.")


class DeliveriesQuery(PageQuery):
    """Which deliveries."""

    state = Choice(DeliveryState, default=None, allow_null=True, help_text="Only those in this state.")


class DeliveryItem(serializers.Serializer[Any]):
    """One event on its way to a webhook."""

    event_id = serializers.UUIDField(source="entry.event_id")
    type = Choice(EventType, source="entry.type")
    state = Choice(DeliveryState, help_text="`failed`: it was tried for a day; a replay sends it again.")
    attempts = serializers.IntegerField()
    status = serializers.IntegerField(allow_null=True, help_text="Of the last answer.")
    error = serializers.CharField(allow_blank=True, help_text="Why there was no answer.")
    created_at = serializers.DateTimeField()
    tried_at = serializers.DateTimeField(allow_null=True)
    next_try_at = serializers.DateTimeField(source="available_at")


class DeliveriesResponse(serializers.Serializer[Any]):
    """A page of deliveries, latest first; those that arrived are kept for a week."""

    results = DeliveryItem(many=True)
    next_cursor = serializers.CharField(allow_null=True)

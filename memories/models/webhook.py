"""The feed of events, and webhooks, which send it to addresses of the tenant.

A FeedEntry gives an event of the audit log its place in the feed of its tenant; what happened is read from the event.
No row here holds a text of a memory.
"""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.db import models
from django.db.models import TextChoices
from django.utils import timezone

from memories.constants import MAX_APP_CHARACTERS


class EventType(TextChoices):
    """What happened."""

    MEMORY_CREATED = "memory.created", "memory.created"
    MEMORY_UPDATED = "memory.updated", "memory.updated"
    MEMORY_SUPERSEDED = "memory.superseded", "memory.superseded"
    MEMORY_RETIRED = "memory.retired", "memory.retired"
    MEMORY_RESTORED = "memory.restored", "memory.restored"
    MEMORY_ERASED = "memory.erased", "memory.erased"
    ITEM_CREATED = "item.created", "item.created"
    ITEM_REPLACED = "item.replaced", "item.replaced"
    ITEM_DELETED = "item.deleted", "item.deleted"
    ITEM_RESTORED = "item.restored", "item.restored"
    ITEM_EXPIRED = "item.expired", "item.expired"
    ITEM_ERASED = "item.erased", "item.erased"
    LEARNING_FINISHED = "learning.finished", "learning.finished"
    LEARNING_FAILED = "learning.failed", "learning.failed"
    REVIEW_OPENED = "review.opened", "review.opened"
    REVIEW_CLOSED = "review.closed", "review.closed"
    MEMBER_CREATED = "member.created", "member.created"
    MEMBER_ACTIVATED = "member.activated", "member.activated"
    MEMBER_DEACTIVATED = "member.deactivated", "member.deactivated"
    MEMBER_ERASED = "member.erased", "member.erased"
    WEBHOOK_DISABLED = "webhook.disabled", "webhook.disabled"


class FeedMark(models.Model):
    """How far the events of one chain have their places; that of a tenant's own chain is also the tenant's lock."""

    chain = models.CharField(max_length=90, primary_key=True)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.CASCADE, related_name="+")
    length = models.PositiveBigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.chain} ({self.length})"


class FeedEntry(models.Model):
    """The place of one event: a higher id was given later, in a transaction that began after the other's commit.

    `membership`: the member that it is about. `app`: that of the memory or item, null if it is not known or not of one.
    """

    id = models.BigAutoField(primary_key=True)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.CASCADE, related_name="+")
    membership = models.ForeignKey("tenants.Membership", on_delete=models.CASCADE, null=True, related_name="+")
    event = models.OneToOneField("tenants.AuditEvent", on_delete=models.PROTECT, related_name="+")
    type = models.CharField(max_length=30, choices=EventType.choices)
    app = models.CharField(max_length=MAX_APP_CHARACTERS, null=True)

    class Meta:
        ordering = ["id"]
        verbose_name_plural = "feed entries"
        indexes: ClassVar = [
            models.Index(fields=["tenant", "id"], name="feed_of_tenant"),
            models.Index(fields=["membership", "id"], name="feed_of_member"),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.event_id}"


class WebhookEndpoint(models.Model):
    """An address of a tenant that gets its events.

    `types` empty: all. `secret` is encrypted, as is the one before the last rotation, which signs too until
    `previous_until`. `place` is the id of the last feed entry that became a delivery or was passed over. After
    `failures` in a row it rests until `available_at`. `trouble`: why memoryhub disabled it.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.CASCADE, related_name="+")
    url = models.CharField(max_length=2000)
    description = models.CharField(max_length=200, blank=True, default="")
    types: models.JSONField[list[str]] = models.JSONField(default=list)
    enabled = models.BooleanField(default=True)
    secret = models.TextField()
    previous_secret = models.TextField(blank=True, default="")
    previous_until = models.DateTimeField(null=True)
    place = models.BigIntegerField(default=0)
    failures = models.PositiveIntegerField(default=0)
    available_at = models.DateTimeField(default=timezone.now)
    leased_until = models.DateTimeField(null=True)
    delivered_at = models.DateTimeField(null=True)
    trouble = models.CharField(max_length=40, blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["created_at", "id"]

    def __str__(self) -> str:
        return f"Webhook {self.id}"


class DeliveryState(TextChoices):
    """Failed: it was tried for a day while others arrived; a replay sends it again."""

    WAITING = "waiting", "waiting"
    DELIVERED = "delivered", "delivered"
    FAILED = "failed", "failed"


class WebhookDelivery(models.Model):
    """One event on its way to one endpoint. `status` is that of the last answer, `error` why there was none."""

    id = models.BigAutoField(primary_key=True)
    endpoint = models.ForeignKey(WebhookEndpoint, on_delete=models.CASCADE, related_name="deliveries")
    entry = models.ForeignKey(FeedEntry, on_delete=models.CASCADE, related_name="+")
    state = models.CharField(max_length=9, choices=DeliveryState.choices, default=DeliveryState.WAITING)
    attempts = models.PositiveIntegerField(default=0)
    status = models.PositiveSmallIntegerField(null=True)
    error = models.CharField(max_length=40, blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    available_at = models.DateTimeField(default=timezone.now)
    first_tried_at = models.DateTimeField(null=True)
    tried_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "webhook deliveries"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["endpoint", "entry"], name="webhook_delivery_once"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["endpoint", "state", "available_at"], name="webhook_delivery_due"),
        ]

    def __str__(self) -> str:
        return f"{self.state}: entry {self.entry_id}"

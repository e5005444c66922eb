"""OutboxEntry: a change that the search plane does not have yet. Written in the transaction of the change itself."""

from __future__ import annotations

from django.db import models
from django.db.models import TextChoices
from django.utils import timezone

from memories.types import Kind, Owner


class Operation(TextChoices):
    """The operation for the search plane."""

    UPSERT = "upsert", "upsert"
    DELETE = "delete", "delete"


class OutboxEntry(models.Model):
    """One change of one memory. Ids are plain columns: an entry outlives what it speaks of.

    `leased_until` keeps two drainers off the same entry; `available_at` holds a failed one back.
    """

    id = models.BigAutoField(primary_key=True)
    tenant_id = models.UUIDField(null=True)
    user_id = models.UUIDField(null=True)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    memory_id = models.UUIDField()
    version = models.PositiveBigIntegerField()
    operation = models.CharField(max_length=6, choices=Operation.choices)
    attempts = models.PositiveIntegerField(default=0)
    last_error = models.CharField(max_length=200, blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)
    available_at = models.DateTimeField(default=timezone.now)
    leased_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["id"]
        verbose_name_plural = "outbox entries"
        indexes = [
            models.Index(fields=["tenant_id", "user_id", "id"], name="outbox_owner_tail"),
            models.Index(fields=["available_at", "id"], name="outbox_due"),
        ]

    def __str__(self) -> str:
        return f"{self.operation} {self.kind} {self.memory_id}"

    @property
    def owner(self) -> Owner:
        """Whose memory changed."""
        return Owner(self.tenant_id, self.user_id)

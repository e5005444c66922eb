"""OutboxEntry: a pending change for the search plane, written in the transaction of the change itself."""

from __future__ import annotations

from django.db import models
from django.db.models import Q, TextChoices
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memories.types import Kind, Owner


class Operation(TextChoices):
    """The operation for the search plane."""

    UPSERT = "upsert", _("upsert")
    DELETE = "delete", _("delete")


class OutboxEntry(models.Model):
    """One change of one memory. Ids are plain columns, because an entry outlives the rows it refers to.

    `leased_until` prevents two drainers from taking the same entry; `available_at` delays a retry. `attempts` counts
    the failures of the last kind, which `last_error` names. An entry that is set aside waits for a rebuild of its
    owner's part, or for a later change of its memory.
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
    set_aside_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["id"]
        verbose_name_plural = "outbox entries"
        indexes = [
            models.Index(fields=["tenant_id", "user_id", "id"], name="outbox_owner_tail"),
            models.Index(fields=["available_at", "id"], name="outbox_due"),
            models.Index(fields=["memory_id"], name="outbox_set_aside", condition=Q(set_aside_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.operation} {self.kind} {self.memory_id}"

    @property
    def owner(self) -> Owner:
        """The owner of the changed memory."""
        return Owner(self.tenant_id, self.user_id)

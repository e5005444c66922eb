"""LegalHold: why nothing of a member, or of a whole tenant, may be erased or expire for now."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone


class LegalHold(models.Model):
    """In force while `released_at` is null. `user` null: of all members of the tenant, and of what they share."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    reason = models.CharField(max_length=300)
    placed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    placed_at = models.DateTimeField(default=timezone.now)
    released_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    released_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-placed_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "user"], condition=Q(released_at__isnull=True), name="hold_once_per_member"
            ),
            models.UniqueConstraint(
                fields=["tenant"],
                condition=Q(released_at__isnull=True, user__isnull=True),
                name="hold_once_per_tenant",
            ),
            models.CheckConstraint(name="hold_says_why", condition=~Q(reason="")),
        ]

    def __str__(self) -> str:
        return f"Legal hold of {self.placed_at:%Y-%m-%d}"

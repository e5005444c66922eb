"""RecallTrace: why a recall returned what it did. Holds ids and numbers, never the texts of memories."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.db import models
from django.utils import timezone

from memories.models.guard import OwnedQuerySet
from memories.models.session import Session


class RecallTrace(models.Model):
    """One recall. `query` is the question asked (emptied when its episode is forgotten), `returned` counts its items.

    `stages` maps each stage to its count and milliseconds; `candidates` lists the best candidates with their signals
    and, for those cut, the reason: `[{"kind", "id", "rank", "score", "signals", "selected", "cut"}]`.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.RESTRICT, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.RESTRICT, related_name="+")
    session = models.ForeignKey(Session, on_delete=models.SET_NULL, null=True, blank=True, related_name="recalls")
    query = models.TextField(blank=True)
    parameters: models.JSONField[dict[str, Any]] = models.JSONField(default=dict)
    stages: models.JSONField[dict[str, Any]] = models.JSONField(default=dict)
    candidates: models.JSONField[list[dict[str, Any]]] = models.JSONField(default=list)
    returned = models.PositiveIntegerField(default=0)
    degraded = models.BooleanField(default=False)
    took_ms = models.FloatField(default=0.0)
    created_at = models.DateTimeField(default=timezone.now)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]
        indexes = [
            models.Index(fields=["tenant", "user", "-created_at"], name="trace_owner_recent"),
            models.Index(fields=["created_at"], name="trace_recent"),
        ]

    def __str__(self) -> str:
        return f"Recall {self.id}"

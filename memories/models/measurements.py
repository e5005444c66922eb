"""Measurements for staff: recall traces, metric samples, and a member's proxy model.

Besides the query of a recall they hold no texts.
"""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from memories.models.guard import OwnedQuerySet
from memories.models.session import Session
from tenants.models import Membership


class RecallTrace(models.Model):
    """One recall. `query` is emptied when its episode is erased; `returned` counts the items.

    `stages` maps each stage to its count and milliseconds. `candidates` lists the best candidates with their signals
    and, if cut, the reason: `[{"kind", "id", "rank", "score", "signals", "selected", "cut"}]`.
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


class MetricSample(models.Model):
    """One value of a metric; `label` separates its values.

    `tenant` null: no tenant's value, or the mark of a sampling.
    """

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    name = models.CharField(max_length=60)
    label = models.CharField(max_length=60, blank=True, default="")
    at = models.DateTimeField()
    value = models.FloatField()

    class Meta:
        ordering = ["name", "label", "at"]
        verbose_name_plural = "metrics"
        constraints = [
            models.UniqueConstraint(fields=["tenant", "name", "label", "at"], name="sample_once_for_a_tenant"),
            models.UniqueConstraint(
                fields=["name", "label", "at"], condition=Q(tenant__isnull=True), name="sample_once_for_all"
            ),
        ]
        indexes = [models.Index(fields=["at"], name="sample_by_age")]

    def __str__(self) -> str:
        return f"{self.name} at {self.at:%Y-%m-%d %H:%M}"


class MemberMemory(Membership):
    """A membership as the inspector's admin pages show it."""

    class Meta:
        proxy = True
        verbose_name = "member's memory"
        verbose_name_plural = "members' memory"

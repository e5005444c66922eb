"""ConsolidationRun: one pass that turned episodes into facts and playbooks: what went in, what was decided, why."""

from __future__ import annotations

import uuid
from enum import StrEnum
from typing import Any

from django.conf import settings
from django.db import models
from django.utils import timezone

from memories.models.base import OwnedQuerySet, choices


class RunState(StrEnum):
    """How a run stands."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class ConsolidationRun(models.Model):
    """`input` and `decisions` hold ids and reasons, never texts; the watermark of an owner is the last done run's."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    state = models.CharField(max_length=8, choices=choices(RunState), default=RunState.RUNNING)
    extractor = models.CharField(max_length=80)
    input: models.JSONField[dict[str, Any]] = models.JSONField(default=dict)
    decisions: models.JSONField[list[dict[str, Any]]] = models.JSONField(default=list)
    watermark = models.DateTimeField(null=True, blank=True)
    error = models.CharField(max_length=300, blank=True, default="")
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    started_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        ordering = ["-started_at"]
        constraints = [
            models.CheckConstraint(
                name="run_ends_when_it_stops",
                condition=models.Q(state=RunState.RUNNING, ended_at__isnull=True)
                | (~models.Q(state=RunState.RUNNING) & models.Q(ended_at__isnull=False)),
            )
        ]

    def __str__(self) -> str:
        return f"Consolidation {self.id}"

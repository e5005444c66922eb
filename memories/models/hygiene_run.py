"""HygieneRun: one scan through the memories of a tenant, or of all, with how far it came and what it found."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import TextChoices
from django.utils import timezone


class HygieneState(TextChoices):
    """The state of a scan. An interrupted scan continues; it does not begin again."""

    RUNNING = "running", "running"
    INTERRUPTED = "interrupted", "interrupted"
    DONE = "done", "done"
    FAILED = "failed", "failed"


class HygieneRun(models.Model):
    """`cursor` is the last owner done, and how far it came with the next; counts and ids, never words of a memory.

    `counts` are those of `retention/hygiene_run.py`: owners, memories, and what was found and done about them. `cursor`
    also names the rules by which words were read (`services/retention/hygiene_scan.py`).
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    trigger = models.CharField(max_length=10, default="demand")
    state = models.CharField(max_length=11, choices=HygieneState.choices, default=HygieneState.RUNNING)
    cursor: models.JSONField[dict[str, str]] = models.JSONField(default=dict, blank=True)
    counts: models.JSONField[dict[str, int]] = models.JSONField(default=dict, blank=True)
    error = models.CharField(max_length=300, blank=True, default="")
    started_at = models.DateTimeField(default=timezone.now)
    seen_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-started_at"]
        indexes = [models.Index(fields=["tenant", "-started_at"], name="hygiene_tenant_recent")]

    def __str__(self) -> str:
        return f"Hygiene scan of {self.started_at:%d %b %Y}"

"""Records of background runs: the consolidations of an owner, what was asked of them, and hygiene scans."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import F, Q, TextChoices
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memories.models.guard import OwnedQuerySet


class RunState(TextChoices):
    """The state of a run. A failed run stored nothing; its rerun or the next run reads the episodes again."""

    RUNNING = "running", _("running")
    DONE = "done", _("done")
    FAILED = "failed", _("failed")


class Trigger(TextChoices):
    """The reason a run started."""

    TURN = "turn", _("turn")
    COUNT = "count", _("count")
    AGE = "age", _("age")
    DEMAND = "demand", _("demand")
    RETRY = "retry", _("retry")
    RERUN = "rerun", _("rerun")


class ConsolidationRun(models.Model):
    """A run of `extractor` over an owner's episodes `first_ordinal` to `last_ordinal`.

    `input` names episodes, facts and playbooks by id. `output` is the extractor's raw answer; it may quote the owner,
    so erasing anything that the run read or wrote empties it. `decisions` hold ids, verdicts and reasons, never texts:
    `[{"what", "verdict", "reason", "place", "memory_id", "superseded_ids", "episode_ids"}]`, where `place` is the index
    of the proposal in `output`. `given_up` marks a failed run that the watermark has passed: its episodes wait for a
    run whose `rerun_of` names it. `cost` is in the currency of the configured prices.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.RESTRICT, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.RESTRICT, related_name="+")
    state = models.CharField(max_length=8, choices=RunState.choices, default=RunState.RUNNING)
    trigger = models.CharField(max_length=8, choices=Trigger.choices, default=Trigger.DEMAND)
    extractor = models.CharField(max_length=80)
    rerun_of = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, blank=True, related_name="reruns")
    first_ordinal = models.PositiveBigIntegerField(default=0)
    last_ordinal = models.PositiveBigIntegerField(default=0)
    given_up = models.BooleanField(default=False)
    input: models.JSONField[dict[str, Any]] = models.JSONField(default=dict)
    output: models.JSONField[Any] = models.JSONField(default=dict, blank=True)
    decisions: models.JSONField[list[dict[str, Any]]] = models.JSONField(default=list)
    error = models.CharField(max_length=300, blank=True, default="")
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    cost = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    started_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        ordering = ["-started_at"]
        constraints = [
            models.CheckConstraint(
                name="run_ends_when_it_stops",
                condition=Q(state=RunState.RUNNING, ended_at__isnull=True)
                | (~Q(state=RunState.RUNNING) & Q(ended_at__isnull=False)),
            ),
            models.CheckConstraint(
                name="run_gave_up_by_failing", condition=Q(given_up=False) | Q(state=RunState.FAILED)
            ),
            models.CheckConstraint(name="run_reads_forward", condition=Q(last_ordinal__gte=F("first_ordinal"))),
        ]
        indexes = [
            models.Index(fields=["tenant", "user", "-started_at"], name="run_owner_recent"),
            models.Index(fields=["started_at"], name="run_recent"),
            models.Index(fields=["tenant", "-started_at"], name="run_tenant_recent"),
        ]

    def __str__(self) -> str:
        return f"Consolidation {self.id}"


class LearningOperation(models.Model):
    """The learning that a program asked for, from the episodes `first_ordinal` to `last_ordinal` of its owner.

    Its state is that of the owner's ledger and runs (`selectors/operations.py`), so it survives any process. `repeats`
    are the ids of the runs to read again, and `retry_at` is when; null: nothing was asked again.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.RESTRICT, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.RESTRICT, related_name="+")
    session = models.ForeignKey("memories.Session", on_delete=models.SET_NULL, null=True, related_name="+")
    first_ordinal = models.PositiveBigIntegerField()
    last_ordinal = models.PositiveBigIntegerField()
    repeats: models.JSONField[list[str]] = models.JSONField(default=list, blank=True)
    retry_at = models.DateTimeField(null=True, blank=True)
    cancelled_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "id"]
        constraints = [
            models.CheckConstraint(name="operation_reads_forward", condition=Q(last_ordinal__gte=F("first_ordinal")))
        ]
        indexes = [
            models.Index(fields=["tenant", "user", "-created_at"], name="operation_owner_recent"),
            models.Index(fields=["retry_at"], name="operation_retry", condition=Q(retry_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"Learning {self.id}"


class HygieneState(TextChoices):
    """The state of a scan. An interrupted scan resumes and does not start over."""

    RUNNING = "running", _("running")
    INTERRUPTED = "interrupted", _("interrupted")
    DONE = "done", _("done")
    FAILED = "failed", _("failed")


class HygieneRun(models.Model):
    """One hygiene scan; it stores counts and ids, never memory texts.

    `cursor` names the last finished owner, the progress within the next one, and the version of the text rules
    (`services/retention/hygiene_scan.py`). `counts` are those of `retention/hygiene_run.py`: owners, memories, findings
    and actions.
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

"""The erasure of a member, with its receipt, and the legal holds that forbid one.

A request contains no erased text. Its receipt holds counts, digests, ids and times.
"""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q, TextChoices
from django.utils import timezone


class ErasureState(TextChoices):
    """The state of an erasure request.

    Asked: waits for approval. Approved: waits to start. Stopped: paused by a legal hold and continued after its
    release.
    """

    ASKED = "asked", "asked"
    APPROVED = "approved", "approved"
    RUNNING = "running", "running"
    STOPPED = "stopped", "stopped"
    DONE = "done", "done"
    REFUSED = "refused", "refused"


OPEN_ERASURES = (ErasureState.ASKED, ErasureState.APPROVED, ErasureState.RUNNING, ErasureState.STOPPED)


class ErasureRequest(models.Model):
    """A request to erase a member. A member has at most one open request.

    The membership row stays, without a name, because the audit chain refers to it. `progress` maps each store to the
    number of rows erased so far, for example `{"facts": 120}`; `stage` is the current store. A worker holds its lease
    until `leased_until`; then another may continue. `trouble` is the reason of the last failure. A finished request has
    its `receipt`, `receipt_digest` (sha256 of the canonical JSON) and `signature` (Ed25519, by the instance's signing
    key).
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    membership = models.ForeignKey("tenants.Membership", on_delete=models.PROTECT, related_name="+")
    state = models.CharField(max_length=8, choices=ErasureState.choices, default=ErasureState.ASKED)
    reason = models.CharField(max_length=300)
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    asked_at = models.DateTimeField(default=timezone.now)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    decided_at = models.DateTimeField(null=True, blank=True)
    stage = models.CharField(max_length=30, blank=True, default="")
    progress: models.JSONField[dict[str, int]] = models.JSONField(default=dict, blank=True)
    attempts = models.PositiveIntegerField(default=0)
    trouble = models.CharField(max_length=200, blank=True, default="")
    leased_until = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    receipt: models.JSONField[dict[str, Any]] = models.JSONField(default=dict, blank=True)
    receipt_digest = models.CharField(max_length=64, blank=True, default="")
    signature = models.CharField(max_length=200, blank=True, default="")

    class Meta:
        ordering = ["-asked_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["membership"],
                condition=Q(state__in=[state.value for state in OPEN_ERASURES]),
                name="erasure_one_open_per_member",
            ),
            models.CheckConstraint(
                name="erasure_done_has_receipt",
                condition=(Q(state=ErasureState.DONE, finished_at__isnull=False) & ~Q(receipt_digest=""))
                | (~Q(state=ErasureState.DONE) & Q(receipt_digest="")),
            ),
        ]
        indexes = [models.Index(fields=["state", "leased_until"], name="erasure_to_run")]

    def __str__(self) -> str:
        return f"Erasure {self.id}"


class LegalHold(models.Model):
    """A legal hold, in force while `released_at` is null. `user` null: it covers all members and the shared memory."""

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

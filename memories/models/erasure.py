"""Requests to erase a member or to export their whole memory, and the legal holds that forbid an erasure.

A request contains no text of a memory. The receipt of an erasure holds counts, digests, ids and times.
"""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q, TextChoices
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class RequestState(TextChoices):
    """The state of a request.

    Asked: waits for approval. Approved: waits to start, an export for its download. Stopped: paused by a legal hold and
    continued after its release. Done: erased, or downloaded.
    """

    ASKED = "asked", _("asked")
    APPROVED = "approved", _("approved")
    RUNNING = "running", _("running")
    STOPPED = "stopped", _("stopped")
    DONE = "done", _("done")
    REFUSED = "refused", _("refused")


OPEN_ERASURES = (RequestState.ASKED, RequestState.APPROVED, RequestState.RUNNING, RequestState.STOPPED)


class SecondPersonRequest(models.Model):
    """What an administrator or a backend key asks for about a member, and a second person approves.

    `services/approvals.py` has the rules. `asked_by_key` is the id of the key, if one asked. `audit_kind` names the
    request in the tenant's audit log.
    """

    audit_kind: ClassVar[str]

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    membership = models.ForeignKey("tenants.Membership", on_delete=models.PROTECT, related_name="+")
    state = models.CharField(max_length=8, choices=RequestState.choices, default=RequestState.ASKED)
    reason = models.CharField(max_length=300)
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    asked_by_key = models.UUIDField(null=True, blank=True)
    asked_at = models.DateTimeField(default=timezone.now)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    decided_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True

    def approved(self, begins_at: datetime) -> dict[str, str] | None:  # noqa: ARG002 - of an erasure
        """Apply what an approval changes besides the state; return it for the audit log."""
        return None


class ErasureRequest(SecondPersonRequest):
    """A request to erase a member. A member has at most one open request.

    It begins at `begins_at` at the earliest. The membership row stays, without a name, because the audit chain refers
    to it. `progress` maps each store to the number of rows erased so far, for example `{"facts": 120}`; `stage` is the
    current store. A worker holds its lease until `leased_until`; then another may continue. `trouble` is the reason of
    the last failure. A finished request has its `receipt`, `receipt_digest` (sha256 of the canonical JSON) and
    `signature` (Ed25519, by the instance's signing key).
    """

    audit_kind = "erasure"

    begins_at = models.DateTimeField(null=True, blank=True)
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
                condition=(Q(state=RequestState.DONE, finished_at__isnull=False) & ~Q(receipt_digest=""))
                | (~Q(state=RequestState.DONE) & Q(receipt_digest="")),
            ),
        ]
        indexes = [models.Index(fields=["state", "leased_until"], name="erasure_to_run")]

    def __str__(self) -> str:
        return f"Erasure {self.id}"

    def approved(self, begins_at: datetime) -> dict[str, str]:
        """Set when the erasure begins."""
        self.begins_at = begins_at
        return {"begins": begins_at.isoformat()}


class ExportRequest(SecondPersonRequest):
    """A request to export the whole memory of a member; whoever asked takes the archive once, at `taken_at`."""

    audit_kind = "export"

    taken_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-asked_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["membership", "asked_by"],
                condition=Q(state=RequestState.ASKED.value),
                name="export_asked_once",
            ),
            models.CheckConstraint(name="export_says_why", condition=~Q(reason="")),
        ]
        indexes = [models.Index(fields=["asked_by", "-asked_at"], name="export_of_asker")]

    def __str__(self) -> str:
        return f"Export {self.id}"


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

"""Models of auditors' own work: the views that they save, and verifications of everything of a tenant."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q, TextChoices
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class SavedView(models.Model):
    """Filters of the audit log or of histories that one auditor named and alone sees; `query` is a query string."""

    class Page(TextChoices):
        """The list that the filters belong to."""

        AUDIT = "audit", _("audit log")
        HISTORY = "history", _("histories")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    page = models.CharField(max_length=8, choices=Page.choices)
    name = models.CharField(max_length=60)
    query = models.CharField(max_length=1000)

    class Meta:
        ordering = ["name", "id"]
        constraints = [models.UniqueConstraint(fields=["tenant", "user", "page", "name"], name="saved_view_name")]

    def __str__(self) -> str:
        return self.name


class TenantCheck(models.Model):
    """One verification of everything of a tenant; it is unfinished until `certified_as` names the event that says so.

    `results` has the result of each chain, as `memories/services/tenant_checks.py` writes them: ids and digests, no
    text of a memory.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.CASCADE, related_name="+")
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    asked_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    total = models.PositiveIntegerField(default=0)
    results: models.JSONField[list[dict[str, Any]]] = models.JSONField(default=list)
    guards: models.JSONField[list[str]] = models.JSONField(default=list)
    certified_as = models.UUIDField(null=True)

    class Meta:
        ordering = ["-asked_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["tenant"], condition=Q(finished_at=None), name="tenant_check_one_open_per_tenant"
            )
        ]

    def __str__(self) -> str:
        return f"Verification of {self.tenant_id} at {self.asked_at}"

    @property
    def failed(self) -> list[dict[str, Any]]:
        """The results of the chains that did not verify."""
        return [each for each in self.results if not each["ok"]]

    @property
    def intact(self) -> bool:
        """Whether the verification is finished and found nothing."""
        return self.finished_at is not None and not (self.failed or self.guards)

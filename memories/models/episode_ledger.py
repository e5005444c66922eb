"""EpisodeLedger: how many episodes an owner ever stored, and how many of them are consolidated: the watermark."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from memories.models.base import OwnedQuerySet


class EpisodeLedger(models.Model):
    """One row for each owner. `stored` only grows, also when episodes are erased, so an ordinal is never used twice.

    Every episode with an ordinal up to `consolidated` is covered by a run that is done, or by one that failed for good
    and can be run again. `waiting_since` is when the oldest one above it was stored. `attempts` counts the runs that
    failed since the last one that did not; the next is tried at `retry_at`. `leased_until` keeps two runs off the same
    owner; `lease` says whose it is.
    """

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    stored = models.PositiveBigIntegerField(default=0)
    consolidated = models.PositiveBigIntegerField(default=0)
    attempts = models.PositiveIntegerField(default=0)
    retry_at = models.DateTimeField(null=True, blank=True)
    waiting_since = models.DateTimeField(null=True, blank=True)
    lease = models.UUIDField(null=True, blank=True)
    leased_until = models.DateTimeField(null=True, blank=True)
    updated_at = models.DateTimeField(default=timezone.now)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "user"], name="ledger_of_owner"),
            models.CheckConstraint(name="ledger_watermark_is_stored", condition=Q(consolidated__lte=F("stored"))),
        ]
        indexes = [
            models.Index(fields=["waiting_since"], name="ledger_waiting", condition=Q(waiting_since__isnull=False))
        ]

    def __str__(self) -> str:
        return f"{self.consolidated} of {self.stored} episodes consolidated"

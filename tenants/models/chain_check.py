"""ChainCheck: when a chain was last proven, and what the proof found."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import TextChoices
from django.utils import timezone


class Checked(TextChoices):
    """What was proven: the digests of the audit trail, or what the memories say against what the trail says."""

    AUDIT = "audit", "audit"
    SUPERSESSION = "supersession", "supersession"


class ChainCheck(models.Model):
    """One proof of one chain. `first_bad` is the sequence of the first event that is wrong, `event_id` its id.

    `count` is how many events (or memories) were good, `erased` how many events have no payload any more; `digest` is
    that of the last good event. `checked_by` is null when the daily check ran it.
    """

    chain = models.CharField(max_length=90)
    what = models.CharField(max_length=12, choices=Checked.choices)
    ok = models.BooleanField()
    count = models.PositiveBigIntegerField(default=0)
    erased = models.PositiveBigIntegerField(default=0)
    digest = models.CharField(max_length=64, blank=True, default="")
    first_bad = models.PositiveBigIntegerField(null=True, blank=True)
    event_id = models.UUIDField(null=True, blank=True)
    reason = models.CharField(max_length=200, blank=True, default="")
    took_ms = models.FloatField(default=0.0)
    checked_at = models.DateTimeField(default=timezone.now)
    checked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering = ["-checked_at", "-id"]
        indexes = [models.Index(fields=["chain", "what", "-checked_at"], name="chain_check_latest")]

    def __str__(self) -> str:
        return f"{self.what} of {self.chain}: {'good' if self.ok else 'broken'}"

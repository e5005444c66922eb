"""ReviewItem: two facts that contradict each other too evenly for a machine to decide; a person does."""

from __future__ import annotations

import uuid
from enum import StrEnum

from django.conf import settings
from django.db import models
from django.utils import timezone

from memories.models.base import OwnedQuerySet, choices
from memories.models.fact import Fact


class ReviewDecision(StrEnum):
    """What a person decided."""

    OPEN = "open"
    KEEP_ONE = "keep_one"
    KEEP_BOTH = "keep_both"
    MERGE = "merge"
    EDIT = "edit"


class ReviewItem(models.Model):
    """A pair of facts of one owner waiting for a decision; one open item for each pair."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    first = models.ForeignKey(Fact, on_delete=models.CASCADE, related_name="+")
    second = models.ForeignKey(Fact, on_delete=models.CASCADE, related_name="+")
    reason = models.CharField(max_length=300)
    decision = models.CharField(max_length=10, choices=choices(ReviewDecision), default=ReviewDecision.OPEN)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    decided_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["first", "second"],
                condition=models.Q(decision=ReviewDecision.OPEN),
                name="review_one_open_item_per_pair",
            ),
            models.CheckConstraint(name="review_two_facts", condition=~models.Q(first=models.F("second"))),
        ]

    def __str__(self) -> str:
        return f"Review {self.id}"

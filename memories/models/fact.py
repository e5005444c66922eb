"""Fact: semantic memory, one stable assertion about an owner (or shared in a tenant, or global)."""

from __future__ import annotations

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from memories.models.base import scope_constraint, unique_while_current
from memories.models.episode import Episode
from memories.models.supersedable import (
    Supersedable,
    history_indexes,
    likeness_index,
    open_tasks_index,
    supersession_constraints,
)
from memories.types import Kind, Source


class Fact(Supersedable):
    """`key` is the slot it fills (such as `home_city`; may be empty): one current fact for each key of an owner.

    After `review_after` it is ranked like a stale one until it is confirmed; after `expires_at` it is gone.
    """

    kind = Kind.SEMANTIC

    key = models.CharField(max_length=100, blank=True, default="")
    category = models.CharField(max_length=100, blank=True, default="")
    confidence = models.FloatField(default=1.0, validators=[MinValueValidator(0.0), MaxValueValidator(1.0)])
    source = models.CharField(max_length=16, choices=Source.choices, default=Source.USER_STATED)
    pinned = models.BooleanField(default=False)
    valid_from = models.DateTimeField(null=True, blank=True)
    valid_to = models.DateTimeField(null=True, blank=True)
    supporting_episodes = models.ManyToManyField(Episode, blank=True, related_name="supports")
    use_count = models.PositiveIntegerField(default=0)
    last_used_at = models.DateTimeField(null=True, blank=True)
    last_verified_at = models.DateTimeField(null=True, blank=True)
    review_after = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)

    class Meta(Supersedable.Meta):
        abstract = False
        ordering = ["-learned_at", "id"]
        constraints = [
            scope_constraint("fact"),
            *supersession_constraints("fact"),
            *unique_while_current("fact", "key"),
            *unique_while_current("fact", "content_hash"),
            models.CheckConstraint(
                name="fact_confidence_is_a_share", condition=Q(confidence__gte=0.0) & Q(confidence__lte=1.0)
            ),
            models.CheckConstraint(
                name="fact_validity_runs_forward",
                condition=Q(valid_from__isnull=True)
                | Q(valid_to__isnull=True)
                | Q(valid_to__gte=models.F("valid_from")),
            ),
        ]
        indexes = [
            models.Index(fields=["tenant", "user", "status", "-learned_at"], name="fact_owner_status"),
            likeness_index("fact"),
            open_tasks_index("fact"),
            *history_indexes("fact"),
            models.Index(fields=["tenant", "staleness", "status"], name="fact_staleness"),
            models.Index(fields=["expires_at"], name="fact_to_expire", condition=Q(expires_at__isnull=False)),
            models.Index(fields=["review_after"], name="fact_to_review", condition=Q(review_after__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"Fact {self.id}"

"""ReviewItem: a question for a person to decide: facts that contradict each other, a memory to evict, a correction."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q, TextChoices
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memories.models.guard import OwnedQuerySet
from memories.models.supersedable import Fact, Playbook
from memories.models.support_case import SupportCase


class ReviewKind(TextChoices):
    """The question: which of two facts holds, whether to evict a memory, or whether support's correction is right."""

    CONTRADICTION = "contradiction", _("contradiction")
    EVICTION = "eviction", _("eviction")
    CORRECTION = "correction", _("correction")


class ReviewDecision(TextChoices):
    """The decision. `withdrawn`: there is nothing left to decide, because one of its memories ended in another way."""

    OPEN = "open", _("open")
    KEEP_ONE = "keep_one", _("keep one")
    KEEP_BOTH = "keep_both", _("keep both")
    MERGE = "merge", _("merge")
    EDIT = "edit", _("edit")
    EVICT = "evict", _("evict")
    KEEP = "keep", _("keep")
    ACCEPT = "accept", _("accept")
    WITHDRAWN = "withdrawn", _("withdrawn")


class ReviewItem(models.Model):
    """An open or decided question about one owner's memories; `user` null: a tenant's shared ones.

    A contradiction names two facts, the older one `first`. An eviction names a fact (`first`) or a `playbook`. A
    correction, which support proposed in `case`, names one fact or two; `proposed` is the text that replaces them, and
    without a text the fact is no longer true. Only the member decides it. Erasing its fact erases the text as well.
    `evidence` holds numbers and names, never memory texts: `{"cosine", "judge", "staleness", "found"}`. `outcome` holds
    the ids that the decision kept, wrote or ended, so that it can be undone.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=13, choices=ReviewKind.choices, default=ReviewKind.CONTRADICTION)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.RESTRICT, related_name="+")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.RESTRICT, null=True, blank=True, related_name="+"
    )
    first = models.ForeignKey(Fact, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    second = models.ForeignKey(Fact, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    playbook = models.ForeignKey(Playbook, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    reason = models.CharField(max_length=300)
    proposed = models.TextField(blank=True, default="")
    case = models.ForeignKey(SupportCase, on_delete=models.SET_NULL, null=True, blank=True, related_name="corrections")
    evidence: models.JSONField[dict[str, Any]] = models.JSONField(default=dict, blank=True)
    decision = models.CharField(max_length=10, choices=ReviewDecision.choices, default=ReviewDecision.OPEN)
    outcome: models.JSONField[dict[str, Any]] = models.JSONField(default=dict, blank=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    decided_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["first", "second"],
                condition=Q(decision=ReviewDecision.OPEN, kind=ReviewKind.CONTRADICTION),
                name="review_one_open_item_per_pair",
            ),
            models.UniqueConstraint(
                fields=["first"],
                condition=Q(decision=ReviewDecision.OPEN, kind=ReviewKind.EVICTION, first__isnull=False),
                name="review_one_open_eviction_per_fact",
            ),
            models.UniqueConstraint(
                fields=["first"],
                condition=Q(decision=ReviewDecision.OPEN, kind=ReviewKind.CORRECTION),
                name="review_one_open_correction_per_fact",
            ),
            models.UniqueConstraint(
                fields=["playbook"],
                condition=Q(decision=ReviewDecision.OPEN, playbook__isnull=False),
                name="review_one_open_item_per_playbook",
            ),
            models.CheckConstraint(
                name="review_names_what_it_is_about",
                condition=(
                    Q(kind=ReviewKind.CONTRADICTION, first__isnull=False, second__isnull=False, playbook__isnull=True)
                    & ~Q(first=models.F("second"))
                )
                | Q(kind=ReviewKind.EVICTION, first__isnull=False, second__isnull=True, playbook__isnull=True)
                | Q(kind=ReviewKind.EVICTION, first__isnull=True, second__isnull=True, playbook__isnull=False)
                | Q(kind=ReviewKind.CORRECTION, first__isnull=False, second__isnull=True, playbook__isnull=True)
                | (
                    Q(kind=ReviewKind.CORRECTION, first__isnull=False, second__isnull=False, playbook__isnull=True)
                    & ~Q(proposed="")
                    & ~Q(first=models.F("second"))
                ),
            ),
        ]
        indexes = [
            models.Index(fields=["tenant", "decision", "-created_at"], name="review_tenant_open"),
            models.Index(fields=["tenant", "user", "decision"], name="review_owner_open"),
        ]

    def __str__(self) -> str:
        return f"Review {self.id}"

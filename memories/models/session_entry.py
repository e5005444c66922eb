"""SessionEntry: L1, what the agent noted while it worked: goals, plans, observations, constraints, notes, decisions."""

from __future__ import annotations

import uuid
from enum import StrEnum

from django.conf import settings
from django.db import models
from django.utils import timezone

from memories.models.base import OwnedQuerySet, choices
from memories.models.session import Session
from memories.types import Importance


class EntryKind(StrEnum):
    """Which slot of the working memory an entry went through, or that it is a decision."""

    GOAL = "goal"
    PLAN = "plan"
    PROGRESS = "progress"
    OBSERVATION = "observation"
    CONSTRAINT = "constraint"
    NOTE = "note"
    DECISION = "decision"


class SessionEntry(models.Model):
    """One entry, written in the transaction in which it enters the working memory; it goes when the session expires.

    `memory_id` is the lasting memory that it became when the session ended, if it was proposed.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="entries")
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    turn = models.PositiveIntegerField(default=0)
    place = models.PositiveIntegerField()
    kind = models.CharField(max_length=12, choices=choices(EntryKind))
    importance = models.CharField(max_length=9, choices=choices(Importance), default=Importance.NORMAL)
    text = models.TextField()
    memory_id = models.UUIDField(null=True, blank=True)
    proposed_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        ordering = ["session", "place"]
        verbose_name_plural = "session entries"
        constraints = [models.UniqueConstraint(fields=["session", "place"], name="entry_place_in_session")]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"

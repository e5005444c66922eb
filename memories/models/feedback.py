"""Feedback: a member's verdict on an answer, with an optional note for support."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import TextChoices
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memories.constants import MAX_NOTE_CHARACTERS
from memories.models.guard import OwnedQuerySet
from memories.models.session import Session


class FeedbackVerdict(TextChoices):
    """Thumbs up or thumbs down."""

    UP = "up", _("helpful")
    DOWN = "down", _("not helpful")


class Feedback(models.Model):
    """A verdict on the answer of `turn` in `session`: one per turn and member, deleted with the turn.

    `note` is screened like a message.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.RESTRICT, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.RESTRICT, related_name="+")
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="feedback")
    turn = models.PositiveIntegerField()
    verdict = models.CharField(max_length=4, choices=FeedbackVerdict.choices)
    note = models.CharField(max_length=MAX_NOTE_CHARACTERS, blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(auto_now=True)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "id"]
        verbose_name_plural = "feedback"
        constraints = [
            models.UniqueConstraint(fields=["session", "turn", "user"], name="feedback_of_turn_and_member"),
        ]
        indexes = [models.Index(fields=["tenant", "verdict", "-created_at"], name="feedback_of_tenant")]

    def __str__(self) -> str:
        return f"Feedback {self.id}"

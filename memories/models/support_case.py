"""SupportCase: one answer that a member or staff found wrong, until support has dealt with it, and the notes on it."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import TextChoices
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memories.models.guard import OwnedQuerySet
from memories.models.session import Session


class CaseState(TextChoices):
    """Open: support works on it. Waiting: the member was asked something. Closed: nothing is left to do."""

    OPEN = "open", _("open")
    WAITING = "waiting", _("waiting for the member")
    CLOSED = "closed", _("closed")


class CaseOrigin(TextChoices):
    """Whether the member complained (a thumbs down) or staff flagged the answer."""

    MEMBER = "member", _("thumbs down")
    STAFF = "staff", _("flagged by staff")


class SupportCase(models.Model):
    """A case about `turn` of `session`. It holds no words of the conversation, and goes with it.

    `ticket` is the number in the organisation's own help desk.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.RESTRICT, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.RESTRICT, related_name="+")
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="cases")
    turn = models.PositiveIntegerField()
    origin = models.CharField(max_length=6, choices=CaseOrigin.choices)
    state = models.CharField(max_length=7, choices=CaseState.choices, default=CaseState.OPEN)
    ticket = models.CharField(max_length=60, blank=True, default="")
    assignee = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(auto_now=True)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "id"]
        constraints = [models.UniqueConstraint(fields=["session", "turn"], name="case_once_for_a_turn")]
        indexes = [models.Index(fields=["tenant", "state", "-created_at"], name="case_tenant_state")]

    def __str__(self) -> str:
        return f"Case {self.id}"


class CaseNote(models.Model):
    """What somebody of the staff wrote on a case. The member does not see it, but their export holds it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    case = models.ForeignKey(SupportCase, on_delete=models.CASCADE, related_name="notes")
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.RESTRICT, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.RESTRICT, related_name="+")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    text = models.TextField()
    created_at = models.DateTimeField(default=timezone.now)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        ordering = ["created_at", "id"]

    def __str__(self) -> str:
        return f"Note {self.id}"

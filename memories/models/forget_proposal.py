"""ForgetProposal: what would be erased, proposed by an agent or a page, decided by the member in person.

It holds ids and no words, so it may outlive what it erased.
"""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q, TextChoices
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memories.models.guard import OwnedQuerySet
from memories.models.session import Session


class ProposalState(TextChoices):
    """Proposed: waits for the member. Confirmed: hidden, and erased at `erase_at` unless the member undoes it."""

    PROPOSED = "proposed", _("proposed")
    CONFIRMED = "confirmed", _("confirmed")
    KEPT = "kept", _("kept")
    EXPIRED = "expired", _("expired")
    ERASED = "erased", _("erased")


class ForgetProposal(models.Model):
    """A proposal to erase memories, from `turn` of `session`, or from a page (no session).

    `targets` and `goes` list (kind, id): what was chosen, and all that would be erased. `hidden` are the ids that the
    confirmation hid and an undo brings back. `counts` is set if everything goes: the numbers by kind, and of
    conversations, as "session".
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.RESTRICT, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.RESTRICT, related_name="+")
    session = models.ForeignKey(
        Session, on_delete=models.CASCADE, null=True, blank=True, related_name="forget_proposals"
    )
    turn = models.PositiveIntegerField(default=0)
    goes: models.JSONField[list[tuple[str, str]]] = models.JSONField(default=list)
    hidden: models.JSONField[list[str]] = models.JSONField(default=list, blank=True)
    targets: models.JSONField[list[tuple[str, str]]] = models.JSONField(default=list)
    counts: models.JSONField[dict[str, int] | None] = models.JSONField(null=True, blank=True)
    state = models.CharField(max_length=9, choices=ProposalState.choices, default=ProposalState.PROPOSED)
    created_at = models.DateTimeField(default=timezone.now)
    decided_at = models.DateTimeField(null=True, blank=True)
    erase_at = models.DateTimeField(null=True, blank=True)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "id"]
        constraints = [
            models.CheckConstraint(
                name="forget_confirmed_has_time",
                condition=~Q(state=ProposalState.CONFIRMED) | Q(decided_at__isnull=False, erase_at__isnull=False),
            )
        ]
        indexes = [
            models.Index(fields=["erase_at"], name="forget_to_erase", condition=Q(state=ProposalState.CONFIRMED)),
            models.Index(fields=["tenant", "user", "state"], name="forget_owner_state"),
            models.Index(fields=["session", "turn"], name="forget_of_turn"),
        ]

    def __str__(self) -> str:
        return f"Forget proposal {self.id}"

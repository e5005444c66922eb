"""Episode (episodic memory), EpisodeLedger (the consolidation watermark of an owner) and SealedOriginal.

Episodes are never edited; forgetting deletes them.
"""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from memories.models.base import MemoryRow, scope_constraint
from memories.models.guard import OwnedQuerySet
from memories.models.session import Message, Session
from memories.types import Kind, Scope


class Episode(MemoryRow):
    """One user turn, verbatim. `sequence` counts a session's episodes from 1; `context` is an attachment's caption.

    `ordinal` counts an owner's episodes from 1 in the order of storage. Consolidation follows this order. An episode
    that only asks or greets is not `recallable`: it stays in the transcript, and no recall returns it.
    """

    kind = Kind.EPISODIC

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="episodes")
    message = models.OneToOneField(Message, on_delete=models.SET_NULL, null=True, blank=True, related_name="episode")
    sequence = models.PositiveIntegerField()
    speaker = models.CharField(max_length=100, blank=True, default="")
    context = models.TextField(blank=True, default="")
    happened_at = models.DateTimeField()
    ordinal = models.PositiveBigIntegerField()
    recallable = models.BooleanField(default=True)

    class Meta:
        ordering = ["session", "sequence"]
        constraints = [
            scope_constraint("episode"),
            models.CheckConstraint(
                name="episode_belongs_to_a_user", condition=models.Q(scope__in=[Scope.USER, Scope.TASK])
            ),
            models.UniqueConstraint(fields=["session", "sequence"], name="episode_place_in_session"),
            models.UniqueConstraint(fields=["tenant", "user", "ordinal"], name="episode_ordinal_of_owner"),
        ]
        indexes = [
            models.Index(fields=["tenant", "user", "speaker"], name="episode_speakers"),
            models.Index(fields=["tenant", "user", "-happened_at"], name="episode_recent"),
        ]

    def __str__(self) -> str:
        return f"Episode {self.id}"

    @property
    def is_indexed(self) -> bool:
        """Whether the search plane holds this episode, so that a recall may return it."""
        return super().is_indexed and self.recallable

    @property
    def searchable_text(self) -> str:
        """The text and its context."""
        return f"{self.text} [shares {self.context}]" if self.context else self.text


class EpisodeLedger(models.Model):
    """One row per owner. `stored` never decreases, even when episodes are erased, so no ordinal is used twice.

    Every episode up to ordinal `consolidated` was covered by a finished run, or by a permanently failed run that can be
    rerun. `waiting_since` is the time at which the oldest episode above that was stored. `attempts` counts failed runs
    since the last success; the next one starts at `retry_at`. `asked`: learning up to this ordinal was asked for, so
    the owner is due at once. `leased_until` prevents two runs for one owner.
    """

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.RESTRICT, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.RESTRICT, related_name="+")
    stored = models.PositiveBigIntegerField(default=0)
    consolidated = models.PositiveBigIntegerField(default=0)
    asked = models.PositiveBigIntegerField(null=True, blank=True)
    attempts = models.PositiveIntegerField(default=0)
    retry_at = models.DateTimeField(null=True, blank=True)
    waiting_since = models.DateTimeField(null=True, blank=True)
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


class SealedOriginal(models.Model):
    """The unmasked original of the memory `memory_id` of `kind`. Erasing the memory deletes it.

    `sealed` is encrypted with MEMORYHUB_ORIGINAL_KEYS and bound to the memory; see `services/originals.py`.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.RESTRICT, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.RESTRICT, related_name="+")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    memory_id = models.UUIDField(unique=True)
    sealed = models.TextField(editable=False)
    created_at = models.DateTimeField(default=timezone.now)

    objects = OwnedQuerySet.as_manager()

    def __str__(self) -> str:
        return f"Original of {self.memory_id}"

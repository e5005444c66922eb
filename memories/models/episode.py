"""Episode: episodic memory, one user turn, verbatim, with its time; EpisodeLedger, its watermark; SealedOriginal.

An episode is never edited; forgetting deletes it.
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
    """What was said. `sequence` counts a session's episodes from 1; `context` came with it (an image caption).

    `ordinal` counts an owner's episodes from 1, in the order in which they were stored: the consolidation goes by it.
    """

    kind = Kind.EPISODIC

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="episodes")
    message = models.OneToOneField(Message, on_delete=models.SET_NULL, null=True, blank=True, related_name="episode")
    sequence = models.PositiveIntegerField()
    speaker = models.CharField(max_length=100, blank=True, default="")
    context = models.TextField(blank=True, default="")
    happened_at = models.DateTimeField()
    ordinal = models.PositiveBigIntegerField()

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
    def searchable_text(self) -> str:
        """The words said and their context."""
        return f"{self.text} [shares {self.context}]" if self.context else self.text


class EpisodeLedger(models.Model):
    """One row for each owner. `stored` only grows, also when episodes are erased, so an ordinal is never used twice.

    Every episode with an ordinal up to `consolidated` is covered by a run that is done, or by one that failed for good
    and can be run again. `waiting_since` is when the oldest one above it was stored. `attempts` counts the runs that
    failed since the last one that did not; the next is tried at `retry_at`. `leased_until` keeps two runs off the same
    owner.
    """

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.RESTRICT, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.RESTRICT, related_name="+")
    stored = models.PositiveBigIntegerField(default=0)
    consolidated = models.PositiveBigIntegerField(default=0)
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
    """The original of one memory (`memory_id`, of `kind`). It goes when the memory is erased.

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

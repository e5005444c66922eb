"""Episode: episodic memory, one user turn, verbatim, with its time. Never edited; forgetting deletes it."""

from __future__ import annotations

from django.db import models

from memories.models.base import MemoryRow, scope_constraint
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
        """The words said, and what was shown with them."""
        return f"{self.text} [shares {self.context}]" if self.context else self.text

"""Playbook: procedural memory, what to do when something happens, and how often it worked."""

from __future__ import annotations

from django.db import models

from memories.models.base import scope_constraint, unique_while_current
from memories.models.episode import Episode
from memories.models.supersedable import (
    Supersedable,
    history_indexes,
    likeness_index,
    open_tasks_index,
    supersession_constraints,
)
from memories.types import Kind


class Playbook(Supersedable):
    """`trigger` says when, `steps` what to do in order; outcomes are counted with their last times."""

    kind = Kind.PROCEDURAL

    title = models.CharField(max_length=200)
    trigger = models.TextField(blank=True, default="")
    steps: models.JSONField[list[str]] = models.JSONField(default=list, blank=True)
    category = models.CharField(max_length=100, blank=True, default="")
    success_count = models.PositiveIntegerField(default=0)
    failure_count = models.PositiveIntegerField(default=0)
    last_success_at = models.DateTimeField(null=True, blank=True)
    last_failure_at = models.DateTimeField(null=True, blank=True)
    supporting_episodes = models.ManyToManyField(Episode, blank=True, related_name="supports_playbooks")

    class Meta(Supersedable.Meta):
        abstract = False
        ordering = ["title", "id"]
        constraints = [
            scope_constraint("playbook"),
            *supersession_constraints("playbook"),
            *unique_while_current("playbook", "content_hash"),
        ]
        indexes = [
            models.Index(fields=["tenant", "user", "status"], name="playbook_owner_status"),
            likeness_index("playbook"),
            open_tasks_index("playbook"),
            *history_indexes("playbook"),
        ]

    def __str__(self) -> str:
        return f"Playbook {self.id}"

    @property
    def parts(self) -> tuple[str, ...]:
        """What makes it this playbook and no other: the hash and the likeness are taken of these."""
        return (self.title, self.trigger, self.text, *self.steps)

    @property
    def searchable_text(self) -> str:
        """Title, trigger, summary and steps: a person asks by any of them."""
        return " ".join(part for part in (self.title, self.trigger, self.text, *self.steps) if part)

"""MemberChoices: what a member decided about their own memory."""

from __future__ import annotations

from django.db import models

from tenants.models import Membership


class MemberChoices(models.Model):
    """The switches of one member; without a row, memory learns and recalls, and only the tenant keeps topics out.

    `learns`: memories are stored and learned. `recalls`: the agent and programs get memories. `never_topics` has an
    entry on each line, as that of `MemoryPolicy`.
    """

    membership = models.OneToOneField(
        Membership, on_delete=models.CASCADE, primary_key=True, related_name="memory_choices"
    )
    learns = models.BooleanField(default=True)
    recalls = models.BooleanField(default=True)
    never_topics = models.TextField(blank=True, default="")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name_plural = "member choices"

    def __str__(self) -> str:
        return f"Choices of {self.membership_id}"

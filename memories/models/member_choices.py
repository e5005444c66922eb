"""MemberChoices: what a member decided about their own memory."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from memories.models.guard import OwnedQuerySet


class MemberChoices(models.Model):
    """The switches of one member; without a row, memory learns and recalls, and only the tenant keeps topics out.

    `learns`: memories are stored and learned. `recalls`: the agent and programs get memories. `never_topics` has an
    entry on each line, as that of `MemoryPolicy`.
    """

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.RESTRICT, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.RESTRICT, related_name="+")
    learns = models.BooleanField(default=True)
    recalls = models.BooleanField(default=True)
    never_topics = models.TextField(blank=True, default="")
    updated_at = models.DateTimeField(auto_now=True)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "member choices"
        constraints = [models.UniqueConstraint(fields=["tenant", "user"], name="choices_once_per_member")]

    def __str__(self) -> str:
        return f"Choices of {self.user_id} in {self.tenant_id}"

"""Mention: which memory a message was given, wrote, replaced or erased: ids only, it leads both ways, holds no text."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import TextChoices

from memories.models.guard import OwnedQuerySet
from memories.models.session import Message
from memories.types import Kind


class Relation(TextChoices):
    """What the message did with the memory."""

    RECALLED = "recalled", "recalled"
    WROTE = "wrote", "wrote"
    CONFIRMED = "confirmed", "confirmed"
    REPLACED = "replaced", "replaced"
    FORGOT = "forgot", "forgot"


class Mention(models.Model):
    """One memory in one message. `position` keeps the order; `reasons` say in words why a recalled one came up.

    `used`: whether the answer of its turn made use of a recalled one; null while nobody can tell.
    """

    id = models.BigAutoField(primary_key=True)
    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="mentions")
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.RESTRICT, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.RESTRICT, related_name="+")
    relation = models.CharField(max_length=9, choices=Relation.choices)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    memory_id = models.UUIDField()
    position = models.PositiveIntegerField(default=0)
    used = models.BooleanField(null=True, blank=True)
    reasons: models.JSONField[list[str]] = models.JSONField(default=list, blank=True)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        ordering = ["message", "position"]
        indexes = [models.Index(fields=["memory_id", "relation"], name="mention_of_memory")]

    def __str__(self) -> str:
        return f"{self.relation} {self.kind} {self.memory_id}"

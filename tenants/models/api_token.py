"""ApiToken: lets a program act for one membership. The plaintext exists only in the answer that issued it."""

from __future__ import annotations

import uuid
from datetime import datetime

from django.db import models
from django.utils import timezone

from tenants.models.membership import Membership
from tenants.principal import Right


class ApiToken(models.Model):
    """`digest` is the sha256 of the plaintext; `prefix` its first characters, to tell tokens apart in a list."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    membership = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="api_tokens")
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=12, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    scopes: models.JSONField[list[str]] = models.JSONField(default=list)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ["-created_at", "id"]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @property
    def rights(self) -> frozenset[Right]:
        """The rights that the scopes name; a scope that is no right gives none."""
        return frozenset(right for right in Right if right.value in self.scopes)

    def is_usable_at(self, now: datetime) -> bool:
        """Neither revoked nor expired (the membership is checked apart)."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

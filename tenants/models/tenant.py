"""Tenant: an organisation; nothing but global knowledge crosses it."""

from __future__ import annotations

import uuid

from django.db import models
from django.utils import timezone


class Tenant(models.Model):
    """Deactivating a tenant turns away all its members and tokens at once; its memory stays."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=100)
    slug = models.SlugField(max_length=50, unique=True)
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["name", "id"]

    def __str__(self) -> str:
        return self.name

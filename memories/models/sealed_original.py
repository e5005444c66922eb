"""SealedOriginal: what was said before it was masked, encrypted, where a tenant's policy asks to keep it."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone

from memories.models.guard import OwnedQuerySet
from memories.types import Kind


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

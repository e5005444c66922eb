"""IdempotencyKey: a request that its caller may repeat, with the first answer to it.

It holds digests of the caller, the address, the key and the body, and the answer for a day. The answer holds a member's
words: it is emptied when anything of that member is forgotten, and goes with the member. A row without a user is of a
caller who acts for no member.
"""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone

from memories.models.guard import OwnedQuerySet


class IdempotencyKey(models.Model):
    """A repeatable request. `status` is null until it was answered; 500 and more: it failed.

    `committed`: something of the request is stored, so it must not be carried out again. `leased_until`: a process
    carries it out.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.RESTRICT, related_name="+")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.RESTRICT, null=True, blank=True, related_name="+"
    )
    digest = models.CharField(max_length=64, unique=True)
    fingerprint = models.CharField(max_length=64)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    leased_until = models.DateTimeField(null=True, blank=True)
    committed = models.BooleanField(default=False)
    status = models.PositiveSmallIntegerField(null=True, blank=True)
    answer = models.TextField(blank=True, default="")

    objects = OwnedQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["created_at"], name="idempotency_key_age")]

    def __str__(self) -> str:
        return f"Idempotency key {self.id}"

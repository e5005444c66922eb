"""Membership: a user in a tenant, with a role. Its row is the lock that serialises the writes of one owner."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone

from tenants.models.tenant import Tenant
from tenants.principal import Role


class Membership(models.Model):
    """`external_id` is the name that the tenant's own system has for this user; unique in it where not empty."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="memberships")
    role = models.CharField(max_length=8, choices=Role.choices, default=Role.MEMBER.value)
    external_id = models.CharField(max_length=200, blank=True, default="")
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["tenant__name", "user__username", "id"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "user"], name="membership_once_per_tenant"),
            models.UniqueConstraint(
                fields=["tenant", "external_id"],
                condition=~models.Q(external_id=""),
                name="membership_external_id_per_tenant",
            ),
            models.CheckConstraint(
                name="membership_role_is_known", condition=models.Q(role__in=[role.value for role in Role])
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.tenant}"

    @property
    def is_usable(self) -> bool:
        """Whether anybody may act as this member now: membership, tenant and user are all active."""
        return self.is_active and self.tenant.is_active and self.user.is_active

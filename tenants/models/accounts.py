"""Tenants, users, memberships and API tokens.

Only global knowledge crosses tenants. A user has a login, or is an end user with an external id of the tenant's own
system and no usable password. A membership's row is the lock that serialises the writes of one owner. A token acts for
one membership; its plaintext exists only in the answer that issued it.
"""

from __future__ import annotations

import uuid
from datetime import datetime

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils import timezone

from tenants.principal import Right, Role


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


class User(AbstractUser):
    """One person. What they may do in a tenant is in their memberships, not here."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    display_name = models.CharField(max_length=100, blank=True, default="")

    class Meta:
        ordering = ["username"]

    @property
    def is_erased(self) -> bool:
        """Whether all that was known of this person was erased; they do not come back."""
        return self.username == erased_username(self.pk)

    @property
    def speaker(self) -> str:
        """The name under which this person's words are kept."""
        if self.is_erased:
            return f"erased member {str(self.pk)[:8]}"
        return self.display_name or self.get_full_name() or self.get_username()


def erased_username(user_id: uuid.UUID) -> str:
    """The only name that is left of somebody who was erased."""
    return f"erased-{user_id}"


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

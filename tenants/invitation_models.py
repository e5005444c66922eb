"""Model of invitations."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone

from tenants.principal import Role


class Invitation(models.Model):
    """A link that lets one person into a tenant. Accepting one, or withdrawing it, deletes it.

    The link is the signed id, so no row holds what would open it. With a `membership`, it opens that member's account,
    which was imported without a password. `mail_origin` is the site that the mail's link leads to, until it is sent.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="invitations")
    email = models.EmailField(blank=True, default="")
    role = models.CharField(max_length=8, choices=Role.choices, default=Role.MEMBER.value)
    membership = models.OneToOneField(
        "tenants.Membership", null=True, blank=True, on_delete=models.CASCADE, related_name="invitation"
    )
    mail_origin = models.CharField(max_length=300, blank=True, default="", editable=False)
    invited_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField(editable=False)

    class Meta:
        ordering = ["-created_at", "id"]
        indexes = [models.Index(fields=["created_at"], name="invitation_to_send", condition=~models.Q(mail_origin=""))]

    def __str__(self) -> str:
        return f"{self.email or self.role} to {self.tenant}"

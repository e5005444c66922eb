"""A member's search key for the cluster, and the keys that must end there. Only `tenants/search_keys/` writes here.

A membership has at most one active key, whose secret is stored encrypted. A key that is no longer the active one is in
RetiredKey from the same transaction until the cluster has confirmed its end.
"""

from __future__ import annotations

from enum import StrEnum

from django.db import models
from django.db.models import Q, TextChoices
from django.utils import timezone

from tenants.models.accounts import Membership

# Membership.is_usable of a credential's membership, as columns and as a condition.
MAY_ACT = ("membership__is_active", "membership__tenant__is_active", "membership__user__is_active")
USABLE = Q(**dict.fromkeys(MAY_ACT, True))


class CredentialState(TextChoices):
    """Pending: to be made. Active: has a key. Suspended: nobody may act as this member. Revoked: taken by hand."""

    PENDING = "pending", "pending"
    ACTIVE = "active", "active"
    SUSPENDED = "suspended", "suspended"
    REVOKED = "revoked", "revoked"


class KeyTrouble(StrEnum):
    """Why a key could not be made, replaced or ended."""

    NONE = ""
    UNREACHABLE = "unreachable"
    REFUSED = "refused"
    LICENCE = "licence"
    UNPROVEN = "unproven"
    CONFIGURATION = "configuration"
    FAILED = "failed"

    @property
    def sentence(self) -> str:
        """The same for people."""
        return _SENTENCES[self]


_SENTENCES = {
    KeyTrouble.NONE: "",
    KeyTrouble.UNREACHABLE: "The search cluster does not answer.",
    KeyTrouble.REFUSED: "The search cluster refuses the minter.",
    KeyTrouble.LICENCE: "The search cluster has no security, or its licence has no document-level security.",
    KeyTrouble.UNPROVEN: "A search with the new key failed.",
    KeyTrouble.CONFIGURATION: "The minter is not configured.",
    KeyTrouble.FAILED: "The search cluster reported an error.",
}


class SearchCredential(models.Model):
    """`secret` is the encoded key, encrypted; `number` counts the keys that were asked for, for their names.

    `claim` is held by whoever is making a key for this member now, until `claimed_until`. `attempts`, `retry_at` and
    `trouble` speak of the last attempt that failed.
    """

    membership = models.OneToOneField(
        Membership, on_delete=models.PROTECT, primary_key=True, related_name="search_credential"
    )
    state = models.CharField(
        max_length=9,
        choices=CredentialState.choices,
        default=CredentialState.PENDING.value,
    )
    key_id = models.CharField(max_length=64, blank=True, default="")
    secret = models.TextField(blank=True, default="", editable=False)
    number = models.PositiveIntegerField(default=0)
    minted_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    rotate_at = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveIntegerField(default=0)
    retry_at = models.DateTimeField(default=timezone.now)
    trouble = models.CharField(max_length=20, blank=True, default="")
    claim = models.UUIDField(null=True, blank=True, editable=False)
    claimed_until = models.DateTimeField(null=True, blank=True, editable=False)
    refused_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["state", "retry_at"], name="credential_to_mint"),
            models.Index(fields=["state", "rotate_at"], name="credential_to_rotate"),
        ]
        constraints = [
            models.CheckConstraint(
                name="credential_active_has_a_key",
                condition=Q(state="active", minted_at__isnull=False, expires_at__isnull=False, rotate_at__isnull=False)
                & ~Q(key_id="")
                & ~Q(secret="")
                | ~Q(state="active") & Q(key_id="", secret=""),
            ),
            models.CheckConstraint(
                name="credential_state_is_known", condition=Q(state__in=[state.value for state in CredentialState])
            ),
            models.UniqueConstraint(fields=["key_id"], condition=~Q(key_id=""), name="credential_key_of_one_member"),
        ]

    def __str__(self) -> str:
        return f"{self.state} key of {self.membership_id}"


class RetiredKey(models.Model):
    """A key that the cluster must end once `due_at` has come. `membership` is none for keys that no member had."""

    key_id = models.CharField(max_length=64, primary_key=True)
    membership = models.ForeignKey(
        Membership, on_delete=models.SET_NULL, null=True, blank=True, related_name="retired_keys"
    )
    minted_at = models.DateTimeField()
    due_at = models.DateTimeField()
    attempts = models.PositiveIntegerField(default=0)
    trouble = models.CharField(max_length=20, blank=True, default="")

    class Meta:
        indexes = [models.Index(fields=["due_at"], name="retired_key_due")]

    def __str__(self) -> str:
        return f"retired key {self.key_id}"

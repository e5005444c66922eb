"""Models of tenants, users, memberships and API tokens, of the append-only audit log, and of members' search keys.

Only global knowledge crosses tenants. A user either has a login or is an end user with an external id of the tenant's
own system and no usable password. A membership's row is the lock that serialises an owner's writes. A token acts for
one membership, a backend key for any member of its tenant; its plaintext exists only in the response that issued it.
Only `tenants/oauth/` writes OAuth clients, and what members allowed them.

Database triggers refuse to change or delete audit events, to change payloads, to delete one without the record of its
erasure, and to shorten heads. Rows of the log name tenants, users and memories by plain ids, so the log outlives them.
Only `tenants/audit/chain.py` writes events and erases payloads.

A membership has at most one active search key, whose secret is stored encrypted. The transaction that replaces a key
writes a RetiredKey, which stays until Elasticsearch has confirmed the key's end. Only `tenants/search_keys/` writes
keys.
"""

from __future__ import annotations

import json
import uuid
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models import Q, TextChoices
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memoryhub.languages import gettext_lazy
from tenants.auditors import SavedView, TenantCheck  # noqa: F401 - Django finds an app's models through this module
from tenants.invitation_models import Invitation  # noqa: F401 - Django finds an app's models through this module
from tenants.principal import ActorKind, Right, Role
from tenants.provider_models import IdentityProvider, ProvidedIdentity  # noqa: F401 - Django finds an app's models here
from tenants.shared_state import CacheEntry, QuotaState  # noqa: F401 - Django finds an app's models here
from tenants.usernames import erased_username, is_made_up


class Tenant(models.Model):
    """A customer. Deactivating a tenant refuses all its members and tokens at once; its memories stay.

    With `staff_second_factor`, its staff do nothing until they have a second factor.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=100)
    slug = models.SlugField(max_length=50, unique=True)
    staff_second_factor = models.BooleanField(default=False)
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["name", "id"]

    def __str__(self) -> str:
        return self.name


class User(AbstractUser):
    """One person. Their rights in a tenant come from their memberships.

    `time_zone` and `language` are those of their pages; empty: the browser's zone, the site's language. `is_managed`: a
    tenant's own systems made or named the account, so that it never opens another tenant by invitation; this is final.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    display_name = models.CharField(max_length=100, blank=True, default="")
    time_zone = models.CharField(max_length=64, blank=True, default="")
    language = models.CharField(max_length=10, blank=True, default="")
    is_managed = models.BooleanField(default=False, editable=False)

    class Meta:
        ordering = ["username"]

    @property
    def is_erased(self) -> bool:
        """Whether this user's personal data was erased, which is final."""
        return self.username == erased_username(self.pk)

    @property
    def speaker(self) -> str:
        """The display name, also stored as the speaker of this person's messages."""
        if self.is_erased:
            return f"erased member {str(self.pk)[:8]}"
        return self.display_name or self.get_full_name() or self.get_username()

    @property
    def shown_name(self) -> str:
        """The name on a page of staff, never a username that was made up."""
        if is_made_up(self.username) and self.speaker == self.username:
            return gettext("Member without a login (%(id)s)") % {"id": str(self.pk)[:8]}
        return self.speaker

    def __str__(self) -> str:
        return self.shown_name if is_made_up(self.username) else self.get_username()


class Membership(models.Model):
    """A user in a tenant.

    `external_id` is the user's id in the tenant's own system, `user_name` their name in its directory. Each is unique
    in the tenant if not empty, so that no tenant learns of the names of another.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="memberships")
    role = models.CharField(max_length=8, choices=Role.choices, default=Role.MEMBER.value)
    external_id = models.CharField(max_length=200, blank=True, default="")
    user_name = models.CharField(max_length=150, blank=True, default="")
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["tenant__name", "user__username", "id"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "user"], name="membership_once_per_tenant"),
            models.UniqueConstraint(
                fields=["tenant", "external_id"],
                condition=~Q(external_id=""),
                name="membership_external_id_per_tenant",
                violation_error_message=gettext_lazy("Another member has this external id."),
            ),
            models.UniqueConstraint(
                "tenant", Lower("user_name"), condition=~Q(user_name=""), name="membership_user_name_per_tenant"
            ),
            models.CheckConstraint(
                name="membership_role_is_known", condition=Q(role__in=[role.value for role in Role])
            ),
        ]

    def __str__(self) -> str:
        return gettext("%(user)s in %(tenant)s") % {"user": self.user, "tenant": self.tenant}

    @property
    def is_usable(self) -> bool:
        """Whether anybody may act as this member now: membership, tenant and user are all active."""
        return self.is_active and self.tenant.is_active and self.user.is_active


# A token that was not used for this long is refused, as if it had expired.
UNUSED = timedelta(days=90)


class ApiToken(models.Model):
    """A member's token or, without a membership, a backend key of the tenant.

    `digest` is the sha256 of the plaintext; `prefix` its first characters, shown in lists. After a rotation the secret
    before it works until `previous_until`. `networks` (CIDR) are where it may be used from; empty: everywhere. A token
    made with another one, its `maker`, ends with that.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="api_tokens")
    membership = models.ForeignKey(
        Membership, on_delete=models.PROTECT, null=True, blank=True, related_name="api_tokens"
    )
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=12, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    previous_digest = models.CharField(max_length=64, unique=True, null=True, editable=False)
    previous_until = models.DateTimeField(null=True, editable=False)
    scopes: models.JSONField[list[str]] = models.JSONField(default=list)
    networks: models.JSONField[list[str]] = models.JSONField(default=list, blank=True)
    maker = models.ForeignKey("self", on_delete=models.CASCADE, null=True, editable=False, related_name="made")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ["-created_at", "id"]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @property
    def is_key(self) -> bool:
        """Whether this is a backend key."""
        return self.membership_id is None

    @property
    def rights(self) -> frozenset[Right]:
        """The rights that the scopes name; unknown scopes are ignored."""
        return frozenset(right for right in Right if right.value in self.scopes)

    def is_usable_at(self, now: datetime) -> bool:
        """Neither revoked, expired nor long unused; does not check the membership or the tenant."""
        return self.state_at(now) == "works"

    def state_at(self, now: datetime) -> str:
        """Why the token is refused, in a word or two; `works` if it is not."""
        if self.revoked_at is not None:
            return "revoked"
        if self.expires_at is not None and now >= self.expires_at:
            return "expired"
        if now >= (self.last_used_at or self.created_at) + UNUSED:
            return f"expired: unused for {UNUSED.days} days"
        return "works"


class OAuthClient(models.Model):
    """A program that asks members for access: a metadata document if `client_id` is its address, else registered here.

    Everything but the `client_id` is what the program says of itself. `checked_at` is when it said so.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    client_id = models.CharField(max_length=500, unique=True)
    name = models.CharField(max_length=100, blank=True)
    redirect_uris: models.JSONField[list[str]] = models.JSONField(default=list)
    checked_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.name or self.client_id


class OAuthGrant(models.Model):
    """What a member allowed a client: first a code, then `token`, which refresh tokens renew until `ends_at`.

    All refresh tokens of a grant begin alike, with a secret of their `family`, so an earlier one is known when it comes
    again. Of codes and tokens only the sha256 is stored.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    membership = models.ForeignKey(Membership, on_delete=models.CASCADE, related_name="oauth_grants")
    client = models.ForeignKey(OAuthClient, on_delete=models.PROTECT, related_name="grants")
    scopes: models.JSONField[list[str]] = models.JSONField(default=list)
    redirect_uri = models.CharField(max_length=500)
    code_digest = models.CharField(max_length=64, unique=True)
    code_challenge = models.CharField(max_length=43)
    code_until = models.DateTimeField()
    family_digest = models.CharField(max_length=64, unique=True, null=True, editable=False)
    refresh_digest = models.CharField(max_length=64, blank=True, default="", editable=False)
    token = models.OneToOneField(
        ApiToken, on_delete=models.CASCADE, null=True, editable=False, related_name="oauth_grant"
    )
    ends_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.client} for {self.membership_id}"


class AuditEvent(models.Model):
    """One recorded action. `digest` covers every other column and, through `previous_digest`, all earlier events."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    chain = models.CharField(max_length=90)
    sequence = models.PositiveBigIntegerField()
    previous_digest = models.CharField(max_length=64)
    digest = models.CharField(max_length=64)
    payload_digest = models.CharField(max_length=64)
    tenant_id = models.UUIDField(null=True, blank=True)
    owner_id = models.UUIDField(null=True, blank=True)
    actor_kind = models.CharField(max_length=8, choices=ActorKind.choices)
    actor_id = models.UUIDField(null=True, blank=True)
    action = models.CharField(max_length=50)
    target_kind = models.CharField(max_length=30, blank=True, default="")
    target_id = models.UUIDField(null=True, blank=True)
    request_id = models.CharField(max_length=64, blank=True, default="")
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["chain", "sequence"]
        constraints = [models.UniqueConstraint(fields=["chain", "sequence"], name="audit_event_place_in_chain")]
        indexes = [
            models.Index(fields=["target_id", "sequence"], name="audit_event_of_target"),
            models.Index(fields=["tenant_id", "-created_at"], name="audit_event_tenant_recent"),
            models.Index(fields=["tenant_id", "action", "-created_at"], name="audit_event_of_action"),
            models.Index(fields=["actor_id", "-created_at"], name="audit_event_of_actor"),
            models.Index(fields=["request_id"], name="audit_event_of_request"),
        ]

    def __str__(self) -> str:
        return f"{self.chain} {self.sequence} {self.action}"


class AuditPayload(models.Model):
    """The contents of an event, in a row of its own so that it can be erased without breaking the chain.

    `document` is the canonical JSON under the digest, stored as text because a JSON column may rewrite numbers.
    """

    event = models.OneToOneField(AuditEvent, on_delete=models.PROTECT, primary_key=True, related_name="payload")
    salt = models.CharField(max_length=32)
    document = models.TextField()

    def __str__(self) -> str:
        return f"Payload of {self.event_id}"

    @property
    def data(self) -> dict[str, Any]:
        """`{"reason", "before", "after"}` as recorded; empty values if the document is unreadable."""
        said = said_in(self.document)
        return {name: said[name] for name in ("reason", "before", "after")}


def said_in(document: object) -> dict[str, Any]:
    """`{"reason", "before", "after", "row"}` of a payload's document; empty values if it is unreadable.

    `row` is the target's row after the change, used by verification; early events have none.
    """
    try:
        content = json.loads(document)  # type: ignore[arg-type]  # SQL may have stored any value
    except (ValueError, TypeError, RecursionError):
        content = None
    said = content if isinstance(content, dict) else {}
    sides = {name: said[name] if isinstance(said.get(name), dict) else None for name in ("before", "after", "row")}
    return {"reason": str(said.get("reason") or ""), **sides}


class AuditErasure(models.Model):
    """The record that the payload of `event` was erased: `by` is the id of the event that erased it.

    `by` is null for payloads that were erased before such records were kept. `seal` is a keyed digest, so that nobody
    accounts for a missing payload afterwards. The record outlives every erasure and names nobody.
    """

    event = models.OneToOneField(AuditEvent, on_delete=models.PROTECT, primary_key=True, related_name="erasure")
    by = models.UUIDField(null=True)
    seal = models.CharField(max_length=64)

    def __str__(self) -> str:
        return f"Erasure of the payload of {self.event_id}"


class AuditHead(models.Model):
    """The length and last digest of a chain, by which events cut off its end are detected.

    `seal` is a keyed digest of the other columns. The first `unkeyed` events have digests from before these had a key.
    """

    chain = models.CharField(max_length=90, primary_key=True)
    length = models.PositiveBigIntegerField()
    digest = models.CharField(max_length=64)
    unkeyed = models.PositiveBigIntegerField(default=0)
    seal = models.CharField(max_length=64, default="")

    def __str__(self) -> str:
        return f"{self.chain} ({self.length})"


class Checked(TextChoices):
    """The kind of a check: the digests of the audit log, or the memories compared with the audit log."""

    AUDIT = "audit", _("audit")
    SUPERSESSION = "supersession", _("supersession")


class ChainCheck(models.Model):
    """The result of verifying one chain. `first_bad` is the sequence of the first bad event, `event_id` its id.

    `count` counts the good events (or memories), `erased` the events without a payload; `digest` is the digest of the
    last good event. `checked_by` is null for the daily check.
    """

    chain = models.CharField(max_length=90)
    what = models.CharField(max_length=12, choices=Checked.choices)
    ok = models.BooleanField()
    count = models.PositiveBigIntegerField(default=0)
    erased = models.PositiveBigIntegerField(default=0)
    digest = models.CharField(max_length=64, blank=True, default="")
    first_bad = models.PositiveBigIntegerField(null=True, blank=True)
    event_id = models.UUIDField(null=True, blank=True)
    reason = models.TextField(blank=True, default="")
    took_ms = models.FloatField(default=0.0)
    checked_at = models.DateTimeField(default=timezone.now)
    checked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering = ["-checked_at", "-id"]
        indexes = [models.Index(fields=["chain", "what", "-checked_at"], name="chain_check_latest")]

    def __str__(self) -> str:
        return f"{self.what} of {self.chain}: {'good' if self.ok else 'broken'}"


# `Membership.is_usable` of a credential's membership, as column names and as a condition.
MAY_ACT = ("membership__is_active", "membership__tenant__is_active", "membership__user__is_active")
USABLE = Q(**dict.fromkeys(MAY_ACT, True))


class CredentialState(TextChoices):
    """Pending: no key yet. Active: has a key. Suspended: the member is inactive. Revoked: by an operator."""

    PENDING = "pending", _("pending")
    ACTIVE = "active", _("active")
    SUSPENDED = "suspended", _("suspended")
    REVOKED = "revoked", _("revoked")


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
        """A sentence for pages and commands."""
        return str(_SENTENCES[self])


_SENTENCES = {
    KeyTrouble.NONE: "",
    KeyTrouble.UNREACHABLE: gettext_lazy("The search cluster does not answer."),
    KeyTrouble.REFUSED: gettext_lazy("The search cluster refuses the minter."),
    KeyTrouble.LICENCE: gettext_lazy(
        "The search cluster has no security, or its licence has no document-level security."
    ),
    KeyTrouble.UNPROVEN: gettext_lazy("A search with the new key failed."),
    KeyTrouble.CONFIGURATION: gettext_lazy("The minter is not configured."),
    KeyTrouble.FAILED: gettext_lazy("The search cluster reported an error."),
}


class SearchCredential(models.Model):
    """A member's search key.

    `secret` is the encoded key, encrypted; `number` counts requested keys and is part of their names.

    The process that is making a key holds `claim` until `claimed_until`. `attempts`, `retry_at` and `trouble` describe
    the last failed attempt.
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
    """A key that Elasticsearch must end after `due_at`. `membership` is null for keys that belong to no member."""

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

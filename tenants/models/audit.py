"""The append-only audit log: events, payloads and heads of a hash chain for each owner; and recorded proofs of chains.

Triggers in the database refuse to change or delete events, to change payloads and to shrink heads. Rows name tenants,
users and memories by plain ids, so the log outlives what it is about. Only `tenants/audit/chain.py` writes events.

ChainCheck: when a chain was last proven, and what the proof found.
"""

from __future__ import annotations

import json
import uuid
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import TextChoices
from django.utils import timezone

from tenants.principal import ActorKind


class AuditEvent(models.Model):
    """One thing that was done. `digest` covers every other column and, by `previous_digest`, all events before it."""

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
    """What an event says beyond its columns; erasing the row keeps the chain whole.

    `document` is the canonical JSON that the digest was taken of, kept as text: a JSON column may rewrite numbers.
    """

    event = models.OneToOneField(AuditEvent, on_delete=models.PROTECT, primary_key=True, related_name="payload")
    salt = models.CharField(max_length=32)
    document = models.TextField()

    def __str__(self) -> str:
        return f"Payload of {self.event_id}"

    @property
    def data(self) -> dict[str, Any]:
        """`{"reason", "before", "after"}` as recorded; what somebody made unreadable says nothing."""
        said = said_in(self.document)
        return {name: said[name] for name in ("reason", "before", "after")}


def said_in(document: object) -> dict[str, Any]:
    """`{"reason", "before", "after", "row"}` of a payload's document; what somebody made unreadable says nothing.

    `row` is how the target stood afterwards, for proofs; events of long ago have none.
    """
    try:
        content = json.loads(document)  # type: ignore[arg-type]  # whatever somebody put there by SQL
    except (ValueError, TypeError, RecursionError):
        content = None
    said = content if isinstance(content, dict) else {}
    sides = {name: said[name] if isinstance(said.get(name), dict) else None for name in ("before", "after", "row")}
    return {"reason": str(said.get("reason") or ""), **sides}


class AuditHead(models.Model):
    """How long a chain is and how it ends, so that events cut off its end are missed."""

    chain = models.CharField(max_length=90, primary_key=True)
    length = models.PositiveBigIntegerField()
    digest = models.CharField(max_length=64)

    def __str__(self) -> str:
        return f"{self.chain} ({self.length})"


class Checked(TextChoices):
    """What was proven: the digests of the audit log, or the memories against the audit log."""

    AUDIT = "audit", "audit"
    SUPERSESSION = "supersession", "supersession"


class ChainCheck(models.Model):
    """One proof of one chain. `first_bad` is the sequence of the first event that is wrong, `event_id` its id.

    `count` is how many events (or memories) were good, `erased` how many events have no payload any more; `digest` is
    that of the last good event. `checked_by` is null when the daily check ran it.
    """

    chain = models.CharField(max_length=90)
    what = models.CharField(max_length=12, choices=Checked.choices)
    ok = models.BooleanField()
    count = models.PositiveBigIntegerField(default=0)
    erased = models.PositiveBigIntegerField(default=0)
    digest = models.CharField(max_length=64, blank=True, default="")
    first_bad = models.PositiveBigIntegerField(null=True, blank=True)
    event_id = models.UUIDField(null=True, blank=True)
    reason = models.CharField(max_length=200, blank=True, default="")
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

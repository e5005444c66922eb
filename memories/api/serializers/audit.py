"""Serializers for the audit log, erasures and legal holds."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memories.api.fields import (
    Choice,
    Identifier,
    Moment,
    PageQuery,
    StrictSerializer,
    StrictText,
    TextInQuery,
    Truth,
    TruthInQuery,
)
from memories.api.serializers.members import AskedResponse, ReasonRequest
from memories.services.admin_requests import REASON_CHARACTERS
from tenants.principal import ActorKind

_ACTION_CHARACTERS = 150


class AuditQuery(PageQuery):
    """Filters for the audit log."""

    action = TextInQuery(
        default="",
        allow_blank=True,
        max_length=_ACTION_CHARACTERS,
        help_text="Such as `fact.created`, or `fact.*` for all of a kind; several separated by commas.",
    )
    memory = Identifier(default=None, help_text="Events of one memory, or of another thing by its id.")
    request = TextInQuery(
        default="", allow_blank=True, max_length=_ACTION_CHARACTERS, help_text="Events of one `X-Request-ID`."
    )
    since = Moment(default=None, help_text="From this time on.")
    until = Moment(default=None, help_text="Before this time.")


class ReadQuery(StrictSerializer):
    """Why somebody reads."""

    reason = TextInQuery(
        default="", allow_blank=True, max_length=REASON_CHARACTERS, help_text="Needed where the policy asks for it."
    )


class AuditEntry(serializers.Serializer[Any]):
    """One event of a chain, without what was written."""

    id = serializers.UUIDField()
    sequence = serializers.IntegerField(help_text="The place in its chain, from 1 on without a gap.")
    at = serializers.DateTimeField()
    action = serializers.CharField()
    what = serializers.CharField(help_text="The deed in words.")
    actor = serializers.CharField(help_text="Who did it, in words; of staff a role alone if the policy hides names.")
    actor_kind = Choice(ActorKind)
    actor_id = serializers.UUIDField(allow_null=True)
    target_kind = serializers.CharField()
    target_id = serializers.UUIDField(allow_null=True)
    owner_id = serializers.UUIDField(allow_null=True, help_text="The user in whose chain it is. Null: the tenant's.")
    request_id = serializers.CharField()
    erased = serializers.BooleanField(help_text="What was written is erased; the event and its digest stay.")
    digest = serializers.CharField(help_text="Covers the event and, through `previous_digest`, all before it.")
    previous_digest = serializers.CharField()
    fault = serializers.CharField(help_text="Why the event does not verify; empty if it does.")


class AuditPageResponse(serializers.Serializer[Any]):
    """A page of events. It may hold fewer than asked for, also none, while `next_cursor` leads on."""

    results = AuditEntry(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class AuditEventResponse(AuditEntry):
    """One event with what was written."""

    reason = serializers.CharField()
    before = serializers.DictField(allow_null=True)
    after = serializers.DictField(allow_null=True)


class VerificationResponse(serializers.Serializer[Any]):
    """The verification of a chain: every digest, and the place that the latest anchor states."""

    ok = serializers.BooleanField()
    verified_up_to = serializers.IntegerField(help_text="The last event that verifies, as do all before it.")
    digest = serializers.CharField(help_text="Of that event.")
    erased = serializers.IntegerField(help_text="Events among them whose content was erased, as the log says.")
    first_bad = serializers.IntegerField(allow_null=True)
    reason = serializers.CharField(help_text="What is wrong, with ids alone; empty if nothing is.")
    checked_at = serializers.DateTimeField()


class DecisionRequest(StrictSerializer):
    """Why something ends."""

    reason = StrictText(limit=REASON_CHARACTERS, allow_blank=True, default="")


class MemberErasureResponse(AskedResponse):
    """The erasure of a member."""

    user_id = serializers.CharField(allow_null=True, help_text="The tenant's own id; null if none, or if it is erased.")
    membership_id = serializers.UUIDField()
    reason = serializers.CharField()
    asked_by_key = serializers.UUIDField(allow_null=True)
    decided_at = serializers.DateTimeField(allow_null=True)
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    on_hold = serializers.BooleanField(help_text="A legal hold keeps it from going on.")
    progress = serializers.DictField(child=serializers.IntegerField(), help_text="What is erased so far, by store.")
    trouble = serializers.CharField(help_text="Why the last attempt failed; it is tried again.")
    has_receipt = serializers.BooleanField()


class ErasurePageResponse(serializers.Serializer[Any]):
    """A page of erasures."""

    results = MemberErasureResponse(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class ReceiptResponse(serializers.Serializer[Any]):
    """The signed receipt of an erasure: ids, times, counts and digests, no name and no text."""

    receipt = serializers.DictField()
    digest = serializers.CharField()
    signature = serializers.CharField(help_text="Ed25519, by the signing key of the installation.")


class ReceiptCheckResponse(serializers.Serializer[Any]):
    """A verification of a receipt: its signature, and every question asked again."""

    ok = serializers.BooleanField()
    asked = serializers.IntegerField(help_text="How many questions were asked again.")
    troubles = serializers.ListField(child=serializers.CharField())


class HoldsQuery(PageQuery):
    """Which legal holds."""

    released = TruthInQuery(default=False, help_text="Those that are over, instead of those in force.")


class HoldRequest(ReasonRequest):
    """A legal hold on the member that `user_id` names, or on the whole tenant."""

    whole_tenant = Truth(default=False, help_text="On all members, and what the tenant shares. Then name no user.")


class HoldResponse(serializers.Serializer[Any]):
    """A legal hold: while it is in force, nothing is erased or expires."""

    id = serializers.UUIDField()
    user_id = serializers.CharField(allow_null=True, help_text="The tenant's own id of the user, if they have one.")
    owner_id = serializers.UUIDField(allow_null=True, help_text="The user; null: the whole tenant.")
    reason = serializers.CharField()
    placed_at = serializers.DateTimeField()
    released_at = serializers.DateTimeField(allow_null=True)


class HoldPageResponse(serializers.Serializer[Any]):
    """A page of legal holds."""

    results = HoldResponse(many=True)
    next_cursor = serializers.CharField(allow_null=True)

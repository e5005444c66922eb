"""Serializers for members and tokens."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from rest_framework import serializers

from memories.api.fields import (
    Choice,
    Moment,
    PageQuery,
    Several,
    StrictSerializer,
    StrictText,
    Truth,
    TruthInQuery,
    UserId,
    Whole,
)
from memories.models import RequestState
from memories.services.admin_requests import REASON_CHARACTERS
from tenants.principal import Right
from tenants.tokens import MAX_NETWORKS, MAX_ROTATION_GRACE, ROTATION_GRACE

_NAME_CHARACTERS = 100
_NETWORK_CHARACTERS = 50
_HOUR = timedelta(hours=1)
_USER_ID = "The tenant's own id of the user."


class MembersQuery(PageQuery):
    """Filters for the list of members."""

    active = TruthInQuery(default=None, allow_null=True, help_text="Only active, or only deactivated ones.")


class MemberRequest(StrictSerializer):
    """A member to be made."""

    user_id = UserId(help_text=_USER_ID)
    name = StrictText(limit=_NAME_CHARACTERS, default="", allow_blank=True, help_text="Shown as the speaker.")


class MemberChangeRequest(StrictSerializer):
    """Changes of a member; a field that is left out stays."""

    name = StrictText(limit=_NAME_CHARACTERS, required=False)
    active = Truth(required=False, help_text="Whether anybody may act as this member.")


class MemberResponse(serializers.Serializer[Any]):
    """A member that backend keys act for."""

    user_id = serializers.CharField(help_text=_USER_ID)
    name = serializers.CharField()
    active = serializers.BooleanField()
    created_at = serializers.DateTimeField()


class MembersResponse(serializers.Serializer[Any]):
    """A page of members."""

    results = MemberResponse(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class MemoriesErasedResponse(serializers.Serializer[Any]):
    """What a call erased."""

    memories = serializers.IntegerField()
    sessions = serializers.IntegerField()
    complete = serializers.BooleanField(help_text="False: there is more; send the request again.")


class ReasonRequest(StrictSerializer):
    """Why an erasure or an export is asked for."""

    reason = StrictText(limit=REASON_CHARACTERS, help_text="Stored in the audit log; do not name anybody.")


class AskedResponse(serializers.Serializer[Any]):
    """A request that a second person may have to approve."""

    id = serializers.UUIDField()
    state = Choice(RequestState)
    asked_at = serializers.DateTimeField()
    begins_at = serializers.DateTimeField(
        allow_null=True, help_text="When an approved erasure begins; until then an administrator can withdraw it."
    )


class TokenRequest(StrictSerializer):
    """A token, or a backend key, to be made."""

    name = StrictText(limit=_NAME_CHARACTERS, help_text="What it is for.")
    scopes = Several(Choice(Right), limit=len(Right), allow_empty=False)
    expires_at = Moment(default=None, allow_null=True)
    networks = Several(
        StrictText(limit=_NETWORK_CHARACTERS),
        limit=MAX_NETWORKS,
        default=None,
        allow_null=True,
        help_text="From where it may be used, such as `10.0.0.0/8`; empty: from everywhere.",
    )


class RotationRequest(StrictSerializer):
    """How long the old secret works, or signs, on."""

    grace_hours = Whole(min_value=0, max_value=MAX_ROTATION_GRACE // _HOUR, default=ROTATION_GRACE // _HOUR)


class TokenResponse(serializers.Serializer[Any]):
    """A token or a backend key, without its secret."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    prefix = serializers.CharField(help_text="The first characters of the secret.")
    backend_key = serializers.BooleanField(source="is_key")
    scopes = serializers.ListField(child=Choice(Right))
    networks = serializers.ListField(child=serializers.CharField())
    state = serializers.CharField(help_text="`works`, or why not.")
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True)
    previous_until = serializers.DateTimeField(
        allow_null=True, help_text="How long the secret from before the last rotation works."
    )


class TokensResponse(serializers.Serializer[Any]):
    """A page of tokens."""

    results = TokenResponse(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class NewTokenResponse(TokenResponse):
    """A token with its secret, which is shown this once and stored nowhere."""

    token = serializers.CharField()


class TenantResponse(serializers.Serializer[Any]):
    """The caller's tenant."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    slug = serializers.CharField()


class OwnMemberResponse(serializers.Serializer[Any]):
    """The member that the caller acts for."""

    user_id = serializers.CharField(allow_null=True, help_text="The tenant's own id of the user, if they have one.")
    name = serializers.CharField()
    role = serializers.CharField()


class MeResponse(serializers.Serializer[Any]):
    """Who the caller is."""

    tenant = TenantResponse()
    member = OwnMemberResponse(allow_null=True, help_text="Null: a backend key, and no user was named.")
    token = TokenResponse(allow_null=True, help_text="Null: the session of a browser.")
    scopes = serializers.ListField(child=Choice(Right), help_text="What the caller may do here.")
    limits = serializers.DictField(
        child=serializers.IntegerField(), help_text="The limits of use that hold for the caller, by name."
    )

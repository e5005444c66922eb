"""Serializers of the two calls of an integration: messages in, context out; and of operations."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memories.agent.context import LEAST_TOKENS, MOST_TOKENS
from memories.api.fields import (
    Choice,
    Identifier,
    MemoryKind,
    PastMoment,
    Several,
    StrictSerializer,
    StrictText,
    Truth,
    Whole,
)
from memories.api.serializers.memories import AnyMemory
from memories.api.serializers.recall import ExternalRecordSerializer, RecalledSerializer
from memories.api.serializers.reviews import DecisionSerializer
from memories.constants import MAX_MESSAGE_CHARACTERS, MAX_QUERY_CHARACTERS, MAX_RECALL_LIMIT
from memories.models import MessageRole
from memories.selectors.operations import OperationState
from memories.services.sessions.messages import MAX_EXTERNAL_ID, MAX_MESSAGES, Learn
from memories.types import ALL_KINDS, SensitiveKind

LEARN = [(each.value, each.name) for each in (Learn.BACKGROUND, Learn.NOW, Learn.OFF)]


class MessageRequest(StrictSerializer):
    """One message of a conversation. Only the words of users become memories."""

    role = Choice(MessageRole)
    content = StrictText(limit=MAX_MESSAGE_CHARACTERS)
    name = StrictText(
        limit=100,
        required=False,
        help_text="Who speaks. On a user's message, a name that is not the member's marks the words of somebody else,"
        " from whom nothing is learned about the member.",
    )
    at = PastMoment(required=False, help_text="When it was said. Default: now, as for a time to come.")
    id = StrictText(limit=MAX_EXTERNAL_ID, required=False, help_text="Your id of it: it is stored once in its session.")


class MessagesRequest(StrictSerializer):
    """The messages of one or more turns of your agent, in order."""

    session = StrictText(
        limit=MAX_EXTERNAL_ID,
        required=False,
        help_text="Your own id of the conversation, opened with its first message; or a session's `id`. Without it a"
        " new session is opened.",
    )
    messages = Several(MessageRequest(), limit=MAX_MESSAGES, allow_empty=False)
    learn = serializers.ChoiceField(
        LEARN,
        default=Learn.BACKGROUND.value,
        error_messages={"invalid_choice": "must be one of background, now, off.", "null": "must not be null."},
        help_text="background: 202 and an operation; now: wait for what is learned, for at most about 20 seconds; off:"
        " store the messages and learn nothing from them.",
    )
    return_context = Truth(default=False, help_text="Also answer with the context of the last user's message.")


class ContextRequest(StrictSerializer):
    """What the context is for: the user's message, or any question."""

    query = StrictText(limit=MAX_QUERY_CHARACTERS)
    token_budget = Whole(
        min_value=LEAST_TOKENS, max_value=MOST_TOKENS, default=None, help_text="Default: the tenant's policy, 4,000."
    )
    types = Several(MemoryKind(), limit=len(ALL_KINDS), allow_empty=False, default=ALL_KINDS, help_text="Default: all.")
    limit = Whole(
        min_value=1, max_value=MAX_RECALL_LIMIT, default=None, help_text="The most items. Default: the tenant's, 7."
    )
    session_id = Identifier(default=None, help_text="The conversation that it is for.")
    explain = Truth(default=False, help_text="Say which signals made up each score.")


class ProfileFactResponse(serializers.Serializer[Any]):
    """A fact that is worth knowing whatever is asked: pinned, or stated and stable."""

    id = serializers.UUIDField(source="pk")
    text = serializers.CharField()
    key = serializers.CharField()
    pinned = serializers.BooleanField()
    since = serializers.DateTimeField(source="learned_at")


class ContextResponse(serializers.Serializer[Any]):
    """A block of memories for a prompt. `degraded`: the search index did not respond, so better ones may be missing."""

    text = serializers.CharField(help_text="The block: memories as quoted records, profile first.")
    tokens = serializers.IntegerField(help_text="An estimate of its tokens, on the high side; at most the budget.")
    items = RecalledSerializer(many=True, help_text="The recalled memories in it, best first.")
    profile = ProfileFactResponse(many=True)
    external = ExternalRecordSerializer(many=True, help_text="From an index of the tenant's own, best first.")
    instructions = serializers.CharField(help_text="What to do with `text`, in words for the model.")
    degraded = serializers.BooleanField()
    trace_id = serializers.UUIDField()


class OperationResponse(serializers.Serializer[Any]):
    """Learning that was asked for. It survives a restart: what a stopped worker left is continued."""

    id = serializers.UUIDField()
    state = Choice(OperationState, help_text="The last three have ended.")
    session_id = serializers.UUIDField(allow_null=True)
    episode_ids = serializers.ListField(child=serializers.UUIDField(), help_text="What it learns from.")
    decisions = DecisionSerializer(many=True, help_text="What became of each thing that was found in them.")
    run_ids = serializers.ListField(child=serializers.UUIDField(), help_text="See GET /consolidation/{id}/.")
    error = serializers.CharField(help_text="What hinders it, and what to do; empty if nothing does.")
    retry_at = serializers.DateTimeField(allow_null=True, help_text="The next try, after a failure.")
    created_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)


class OperationDetailResponse(OperationResponse):
    """An operation with the memories that its decisions stored, as they are now."""

    memories = serializers.ListField(child=AnyMemory())


class OperationPageResponse(serializers.Serializer[Any]):
    """One page of operations, latest first."""

    results = OperationResponse(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class RecordedMessageResponse(serializers.Serializer[Any]):
    """A message as stored."""

    message_id = serializers.UUIDField()
    id = serializers.CharField(allow_null=True, help_text="Yours.")
    role = Choice(MessageRole)
    turn = serializers.IntegerField()
    episode_id = serializers.UUIDField(
        allow_null=True, help_text="The memory of the words. null: they are in the transcript alone."
    )
    created = serializers.BooleanField(help_text="false: it was stored before.")
    masked = serializers.ListField(child=Choice(SensitiveKind), help_text="Kinds of values that were taken out.")


class MessagesResponse(serializers.Serializer[Any]):
    """The stored messages. `operation` is null if there is nothing to learn."""

    session_id = serializers.UUIDField()
    session = serializers.CharField(allow_null=True, help_text="Your own id of it.")
    messages = RecordedMessageResponse(many=True)
    operation = OperationDetailResponse(allow_null=True)
    context = ContextResponse(  # type: ignore[assignment]  # declared fields leave the class
        allow_null=True, help_text="With `return_context`, if a user spoke."
    )

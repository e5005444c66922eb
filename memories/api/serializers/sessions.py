"""Sessions and their transcripts as the API shows them.

A turn of a conversation: what is sent, and the whole answer of a caller who does not want it in pieces.
"""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memories.agent.events import NoticeKind
from memories.api.fields import Choice, Identifier, StrictSerializer, Text, Truth
from memories.api.serializers.common import Erased, Sensitivity
from memories.api.serializers.recall import RecalledSerializer
from memories.constants import MAX_LISTED_TURNS, MAX_MESSAGE_CHARACTERS, MAX_TITLE_CHARACTERS
from memories.models import MessageRole, MessageState, Relation
from memories.selectors.sessions import MentionView
from memories.types import Kind, SensitiveKind, WriteResult

DEFAULT_LISTED_TURNS = 50


class SessionSerializer(serializers.Serializer[Any]):
    """One conversation."""

    id = serializers.UUIDField(source="pk")
    title = serializers.CharField()
    created_at = serializers.DateTimeField()
    last_turn_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)


class SessionPage(serializers.Serializer[Any]):
    """Some sessions, latest first."""

    results = SessionSerializer(many=True)
    next_cursor = serializers.CharField(allow_null=True, help_text="`cursor` of the next page; null: this is the last.")


class MentionSerializer(serializers.Serializer[Any]):
    """A memory that a step was given, wrote, replaced or erased. `text` is as it is now, null once it is forgotten."""

    relation = Choice(Relation)
    kind = Choice(Kind)
    id = serializers.UUIDField(source="memory_id")
    text = serializers.SerializerMethodField(allow_null=True)
    reasons = serializers.ListField(child=serializers.CharField(), help_text="Why it came up, in words.")

    def get_text(self, mention: MentionView) -> str | None:
        """The words of the memory."""
        return mention.memory.searchable_text if mention.memory else None


class ToolCallSerializer(serializers.Serializer[Any]):
    """A call that the agent made."""

    id = serializers.CharField()
    name = serializers.CharField()
    arguments = serializers.JSONField()


class StepSerializer(serializers.Serializer[Any]):
    """What the agent did before it answered: calls of tools and their results."""

    id = serializers.UUIDField()
    role = Choice(MessageRole)
    state = Choice(MessageState)
    text = serializers.CharField()
    tool_calls = ToolCallSerializer(many=True)
    tool_call_id = serializers.CharField()
    recall_id = serializers.UUIDField(allow_null=True)
    degraded = serializers.BooleanField()
    memories = MentionSerializer(many=True, source="mentions")


class TurnSerializer(serializers.Serializer[Any]):
    """What was said, what the agent did, what it answered."""

    turn = serializers.IntegerField()
    message_id = serializers.UUIDField()
    episode_id = serializers.UUIDField(allow_null=True)
    speaker = serializers.CharField()
    message = serializers.CharField(source="text")
    sensitivity = Sensitivity()
    state = Choice(MessageState)
    said_at = serializers.DateTimeField()
    steps = StepSerializer(many=True)
    answer_id = serializers.UUIDField(allow_null=True)
    answer = serializers.CharField()
    answer_state = Choice(MessageState, allow_null=True, help_text="null: not answered yet.")
    error = serializers.CharField()
    took_ms = serializers.FloatField(allow_null=True)


class TranscriptSerializer(SessionSerializer):
    """A session with its latest turns, oldest first."""

    turns = TurnSerializer(many=True)
    earlier = serializers.IntegerField(
        allow_null=True, help_text="`before` for the turns before these; null: there are none."
    )


class TranscriptQuery(StrictSerializer):
    """Which turns."""

    last = serializers.IntegerField(
        min_value=1, max_value=MAX_LISTED_TURNS, default=DEFAULT_LISTED_TURNS, help_text="How many turns."
    )
    before = serializers.IntegerField(
        min_value=1, max_value=2_000_000_000, default=None, help_text="The last turns before this one."
    )


class NewSession(StrictSerializer):
    """A session to open."""

    title = Text(limit=MAX_TITLE_CHARACTERS, allow_blank=True, default="")


class SessionTitle(StrictSerializer):
    """Another title."""

    title = Text(limit=MAX_TITLE_CHARACTERS)


class NewTurn(StrictSerializer):
    """What the user says. With a `turn_id`, sending the same again adds nothing and gives the same words."""

    message = Text(limit=MAX_MESSAGE_CHARACTERS)
    turn_id = Identifier(default=None, help_text="Chosen by the caller, new for each turn.")
    retry = Truth(default=False, help_text="With a `turn_id` whose answer failed or was cut off: answer it again.")


class ReplacedSerializer(serializers.Serializer[Any]):
    """A memory that a new one took the place of."""

    id = serializers.UUIDField()
    text = serializers.CharField()


class MemoryWrittenSerializer(serializers.Serializer[Any]):
    """A memory that the agent wrote."""

    result = Choice(WriteResult)
    kind = Choice(Kind)
    id = serializers.UUIDField()
    key = serializers.CharField()
    text = serializers.CharField()
    reason = serializers.CharField()
    superseded = ReplacedSerializer(many=True)


class MemoriesRetiredSerializer(serializers.Serializer[Any]):
    """Memories that the agent ended with nothing in their place; `harsh`: they never were true."""

    kind = Choice(Kind)
    harsh = serializers.BooleanField()
    ended = ReplacedSerializer(many=True)


class NoticeSerializer(serializers.Serializer[Any]):
    """Something to know about how this answer was made."""

    kind = Choice(NoticeKind)
    text = serializers.CharField()


class AnswerSerializer(serializers.Serializer[Any]):
    """A turn with its whole answer."""

    session_id = serializers.UUIDField()
    turn = serializers.IntegerField()
    message_id = serializers.UUIDField()
    episode_id = serializers.UUIDField(allow_null=True)
    masked = serializers.ListField(
        child=Choice(SensitiveKind), help_text="Kinds of values that were taken out of what the user said."
    )
    message = serializers.CharField(allow_null=True, help_text="What was stored of it; null: all, as it was said.")
    answer_id = serializers.UUIDField()
    answer = serializers.CharField()
    state = Choice(MessageState)
    took_ms = serializers.FloatField()
    recalled = RecalledSerializer(many=True)
    written = MemoryWrittenSerializer(many=True)
    retired = MemoriesRetiredSerializer(many=True)
    forgotten = Erased(many=True)
    notices = NoticeSerializer(many=True)

"""A turn of a conversation: what is sent, and the whole answer of a caller who does not want it in pieces."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memories.agent.events import NoticeKind
from memories.api.fields import Choice, Identifier, StrictSerializer, Text, Truth
from memories.api.serializers.common import Erased
from memories.api.serializers.recall import RecalledSerializer
from memories.constants import MAX_MESSAGE_CHARACTERS
from memories.models import MessageState
from memories.types import Kind, SensitiveKind, WriteResult


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

"""The events of a streamed turn, as `memories/agent/events.py` writes them."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import PolymorphicProxySerializer
from rest_framework import serializers

from memories.agent.events import Doing
from memories.api.fields import Choice
from memories.api.serializers.recall import RecalledItem
from memories.api.serializers.sessions import (
    ForgetProposedSerializer,
    MemoriesRetiredSerializer,
    MemoryWrittenSerializer,
    NoticeSerializer,
)
from memories.models import MessageState
from memories.types import SensitiveKind


class EventSerializer(serializers.Serializer[Any]):
    """What every event has."""

    type = serializers.CharField()


class TurnStartedEvent(EventSerializer):
    """The user's message is stored. `text` is what was stored of it, if something was masked."""

    session_id = serializers.UUIDField()
    turn = serializers.IntegerField()
    message_id = serializers.UUIDField()
    episode_id = serializers.UUIDField(allow_null=True)
    masked = serializers.ListField(child=Choice(SensitiveKind))
    text = serializers.CharField(required=False)


class StageEvent(EventSerializer):
    """The agent begins a stage."""

    doing = Choice(Doing)


class NoticeEvent(EventSerializer, NoticeSerializer):
    """A notice about how this answer is produced."""


class MemoriesRecalledEvent(EventSerializer):
    """Memories were added to the prompt, by themselves (`automatic`) or at the agent's request."""

    automatic = serializers.BooleanField()
    trace_id = serializers.UUIDField()
    query = serializers.CharField()
    degraded = serializers.BooleanField()
    took_ms = serializers.FloatField()
    items = RecalledItem(many=True)


class TextDeltaEvent(EventSerializer):
    """The next piece of the answer."""

    text = serializers.CharField()


class MemoryWrittenEvent(EventSerializer, MemoryWrittenSerializer):
    """The agent wrote a memory, or was refused."""


class MemoriesRetiredEvent(EventSerializer, MemoriesRetiredSerializer):
    """The agent ended memories without a replacement."""


class ForgetProposedEvent(EventSerializer, ForgetProposedSerializer):
    """The agent proposes to forget; the member decides."""


class TaskChangedEvent(EventSerializer):
    """The session's task was set, advanced or finished."""

    goal = serializers.CharField()
    steps = serializers.IntegerField()
    done = serializers.IntegerField()
    current = serializers.CharField()
    finished = serializers.BooleanField()


class TurnFinishedEvent(EventSerializer):
    """The answer is stored. Counts are of memories; `text` is what was stored, if something was masked."""

    message_id = serializers.UUIDField()
    state = Choice(MessageState)
    took_ms = serializers.FloatField()
    used = serializers.IntegerField()
    wrote = serializers.IntegerField()
    replaced = serializers.IntegerField()
    masked = serializers.ListField(child=Choice(SensitiveKind))
    text = serializers.CharField(required=False)


class TurnFailedEvent(EventSerializer):
    """The answer is incomplete. The user's message and the streamed text are stored."""

    message = serializers.CharField()
    retryable = serializers.BooleanField()


TURN_EVENT = PolymorphicProxySerializer(
    component_name="TurnEvent",
    serializers={
        "turn_started": TurnStartedEvent,
        "stage": StageEvent,
        "notice": NoticeEvent,
        "memories_recalled": MemoriesRecalledEvent,
        "text_delta": TextDeltaEvent,
        "memory_written": MemoryWrittenEvent,
        "memories_retired": MemoriesRetiredEvent,
        "forget_proposed": ForgetProposedEvent,
        "task_changed": TaskChangedEvent,
        "turn_finished": TurnFinishedEvent,
        "turn_failed": TurnFailedEvent,
    },
    resource_type_field_name="type",
)

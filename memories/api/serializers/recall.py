"""Recall as the API asks and answers it: ranks and reasons in words; the numbers behind them stay in the trace."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memories.api.fields import Amount, Choice, Identifier, Moment, Several, StrictSerializer, Text, Truth, Whole
from memories.constants import DEFAULT_RECALL_LIMIT, MAX_QUERY_CHARACTERS, MAX_RECALL_LIMIT
from memories.types import Kind, Scope, Status


class RecallQuestion(StrictSerializer):
    """What to recall."""

    query = Text(limit=MAX_QUERY_CHARACTERS)
    types = Several(Choice(Kind), limit=len(Kind), allow_empty=False, default=tuple(Kind), help_text="Default: all.")
    limit = Whole(min_value=1, max_value=MAX_RECALL_LIMIT, default=DEFAULT_RECALL_LIMIT)
    as_of = Moment(default=None, help_text="Answer with what was believed then.")
    include_superseded = Truth(default=False, help_text="Also what is no longer believed, marked as such.")
    session_id = Identifier(default=None, help_text="The conversation that it is for.")
    threshold = Amount(default=None, help_text="Leave out what scores below; the scores stand in the trace.")
    task = Text(limit=64, allow_blank=True, default="", help_text="Also the memories of this task.")


class RecalledSerializer(serializers.Serializer[Any]):
    """One recalled memory."""

    rank = serializers.IntegerField(help_text="From 1, the best.")
    kind = Choice(Kind)
    id = serializers.UUIDField()
    text = serializers.CharField()
    title = serializers.CharField()
    key = serializers.CharField()
    speaker = serializers.CharField()
    since = serializers.DateTimeField(allow_null=True, help_text="When it happened, or since when it is believed.")
    until = serializers.DateTimeField(allow_null=True)
    status = Choice(Status)
    scope = Choice(Scope)
    session_id = serializers.UUIDField(allow_null=True)
    superseded_by = serializers.UUIDField(allow_null=True)
    retracted = serializers.BooleanField()
    confidence = serializers.FloatField(allow_null=True)
    trigger = serializers.CharField()
    steps = serializers.ListField(child=serializers.CharField())
    success_count = serializers.IntegerField()
    failure_count = serializers.IntegerField()
    reasons = serializers.ListField(child=serializers.CharField(), help_text="Why it came up, in words.")


class RecallSerializer(serializers.Serializer[Any]):
    """The answer: best first. `degraded`: the search plane did not answer, so there may be better ones."""

    trace_id = serializers.UUIDField()
    query = serializers.CharField()
    degraded = serializers.BooleanField()
    took_ms = serializers.FloatField()
    as_of = serializers.DateTimeField(allow_null=True)
    items = RecalledSerializer(many=True)

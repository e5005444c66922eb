"""Serializers for recalls."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memories.api.fields import (
    Amount,
    AppName,
    Choice,
    Filters,
    Identifier,
    MemoryKind,
    Moment,
    Several,
    StrictSerializer,
    StrictText,
    Truth,
    Whole,
)
from memories.api.serializers.memories import AnyMetadata
from memories.constants import DEFAULT_RECALL_LIMIT, MAX_QUERY_CHARACTERS, MAX_RECALL_LIMIT
from memories.types import ALL_KINDS, Scope, Status


class RecallRequest(StrictSerializer):
    """A recall query."""

    query = StrictText(limit=MAX_QUERY_CHARACTERS)
    types = Several(MemoryKind(), limit=len(ALL_KINDS), allow_empty=False, default=ALL_KINDS, help_text="Default: all.")
    limit = Whole(min_value=1, max_value=MAX_RECALL_LIMIT, default=DEFAULT_RECALL_LIMIT)
    as_of = Moment(default=None, help_text="Answer with what was believed then.")
    include_superseded = Truth(default=False, help_text="Also what is no longer believed, marked as such.")
    session_id = Identifier(default=None, help_text="The conversation that it is for.")
    threshold = Amount(default=None, help_text="Leave out what scores below.")
    explain = Truth(default=False, help_text="Say which signals made up each score.")
    task = StrictText(limit=64, allow_blank=True, default="", help_text="Also the memories of this task.")
    filters = Filters()
    app = AppName()


class RecalledItem(serializers.Serializer[Any]):
    """One recalled memory, without its score."""

    rank = serializers.IntegerField(help_text="From 1, the best.")
    kind = MemoryKind()
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
    proposed = serializers.BooleanField(help_text="An agent's how-to that nobody has accepted.")
    metadata = AnyMetadata()
    app = serializers.CharField()
    reasons = serializers.ListField(child=serializers.CharField(), help_text="Why it came up, in words.")


class RecalledSerializer(RecalledItem):
    """One recalled memory."""

    score = serializers.FloatField(help_text="Comparable between recalls; `threshold` cuts by it.")
    signals = serializers.DictField(
        child=serializers.FloatField(),
        required=False,
        help_text="With `explain`: the named numbers behind the score, before and after adjustment.",
    )


class ExternalRecordSerializer(serializers.Serializer[Any]):
    """A hit in an index of the tenant's own: quoted knowledge, and no memory."""

    source = serializers.CharField(help_text="The name of the index.")  # type: ignore[assignment]  # declared fields leave the class
    title = serializers.CharField()
    text = serializers.CharField()
    url = serializers.CharField()


class RecallResponse(serializers.Serializer[Any]):
    """Recalled memories, best first. `degraded`: the search index did not respond, so better ones may be missing."""

    trace_id = serializers.UUIDField()
    query = serializers.CharField()
    degraded = serializers.BooleanField()
    took_ms = serializers.FloatField()
    as_of = serializers.DateTimeField(allow_null=True)
    items = RecalledSerializer(many=True)
    external = ExternalRecordSerializer(many=True, help_text="From an index of the tenant's own, best first.")

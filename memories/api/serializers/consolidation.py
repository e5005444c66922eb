"""Consolidation as the API shows it: what waits, the runs, and what each decided."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memories.api.fields import Choice
from memories.models import RunState, Trigger


class DecisionSerializer(serializers.Serializer[Any]):
    """What came of one proposal: ids and reasons."""

    what = serializers.ChoiceField(["fact", "end", "playbook", "outcome"])
    verdict = serializers.ChoiceField(
        ["created", "merged", "superseded", "blocked", "queued_for_review", "known", "refused"],
        help_text="`known` and `refused` changed nothing.",
    )
    reason = serializers.CharField()
    memory_id = serializers.UUIDField(allow_null=True)
    superseded_ids = serializers.ListField(child=serializers.UUIDField())
    episode_ids = serializers.ListField(child=serializers.UUIDField())


class RunSerializer(serializers.Serializer[Any]):
    """One pass over some episodes. `given_up`: it failed for good, and can be run again."""

    id = serializers.UUIDField(source="pk")
    state = Choice(RunState)
    trigger = Choice(Trigger)
    extractor = serializers.CharField(help_text="The name of the model, or `rules`.")
    given_up = serializers.BooleanField()
    rerun_of = serializers.UUIDField(source="rerun_of_id", allow_null=True)
    episodes = serializers.ListField(source="input.episodes", child=serializers.UUIDField())
    decisions = DecisionSerializer(many=True)
    error = serializers.CharField()
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    cost = serializers.DecimalField(max_digits=12, decimal_places=6, allow_null=True)
    started_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)


class RunPage(serializers.Serializer[Any]):
    """Some runs, latest first, and what waits for the next one."""

    waiting = serializers.IntegerField(help_text="Episodes that no run has read yet.")
    waiting_since = serializers.DateTimeField(allow_null=True)
    retry_at = serializers.DateTimeField(allow_null=True, help_text="When the next try is, if the last one failed.")
    results = RunSerializer(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class ConsolidatedSerializer(serializers.Serializer[Any]):
    """What a consolidation did. `error` says in words why some episodes still wait or were given up."""

    runs = serializers.ListField(child=serializers.UUIDField())
    episodes = serializers.IntegerField()
    decisions = serializers.DictField(child=serializers.IntegerField(), help_text="How many of each verdict.")
    given_up = serializers.IntegerField()
    waiting = serializers.IntegerField(help_text="Episodes that are left; call again for the next batch.")
    error = serializers.CharField()

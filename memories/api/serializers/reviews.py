"""Serializers for reviews, consolidation runs, and looks by staff."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from rest_framework import serializers

from memories.api.fields import (
    Choice,
    Identifier,
    MemoryKind,
    PageQuery,
    Several,
    StrictSerializer,
    StrictText,
    Truth,
    TruthInQuery,
)
from memories.api.serializers.memories import AnyMemory
from memories.constants import MAX_MEMORY_CHARACTERS, MAX_TITLE_CHARACTERS
from memories.models import ProposalState, ReviewDecision, ReviewKind, RunState, Trigger

PROPOSAL_PARTS = ["fact", "end", "playbook", "outcome"]
VERDICTS = ["created", "merged", "superseded", "blocked", "queued_for_review", "known", "refused"]


class ReviewAnswer(StrEnum):
    """The decisions that a person makes; the others are states of a review."""

    KEEP_ONE = ReviewDecision.KEEP_ONE.value
    KEEP_BOTH = ReviewDecision.KEEP_BOTH.value
    MERGE = ReviewDecision.MERGE.value
    EDIT = ReviewDecision.EDIT.value
    EVICT = ReviewDecision.EVICT.value
    KEEP = ReviewDecision.KEEP.value
    ACCEPT = ReviewDecision.ACCEPT.value


class ForgetProposalRequest(StrictSerializer):
    """What would be forgotten."""

    memory_ids = Several(Identifier(), limit=10, allow_empty=False, help_text="Own memories, of any kind.")


class ListedMemory(serializers.Serializer[Any]):
    """A memory that a proposal lists."""

    kind = MemoryKind()
    id = serializers.UUIDField()
    text = serializers.CharField()


class ForgetLists(serializers.Serializer[Any]):
    """What an erasure would take."""

    goes = ListedMemory(many=True, help_text="What would be erased, as far as it exists.")
    stays = ListedMemory(many=True, help_text="What was learned from the same words and stays, without them.")
    also = serializers.ListField(
        child=serializers.CharField(), help_text="Other things in the words that would go, which no memory holds."
    )


class ForgetProposalResponse(ForgetLists):
    """A proposal to forget, which only the member decides."""

    id = serializers.UUIDField()
    session_id = serializers.UUIDField(allow_null=True)
    turn = serializers.IntegerField(help_text="The turn that proposed it; 0: none.")
    state = Choice(ProposalState)
    created_at = serializers.DateTimeField()
    decided_at = serializers.DateTimeField(allow_null=True)
    erase_at = serializers.DateTimeField(allow_null=True, help_text="Until then a confirmation can be undone.")


class ReviewsQuery(PageQuery):
    """Filters for the list of reviews."""

    decided = TruthInQuery(default=False, help_text="Those that were decided, latest first.")


class ReviewResponse(serializers.Serializer[Any]):
    """A question about the owner's memories.

    `memories` holds two facts, older first, or the one proposed for eviction. A correction is proposed by support: it
    names one fact or two, and the owner alone accepts it.
    """

    id = serializers.UUIDField()
    kind = Choice(ReviewKind)
    reason = serializers.CharField()
    proposed = serializers.CharField(
        help_text="Of a correction: the text that replaces the facts. Empty: the fact is no longer true."
    )
    evidence = serializers.DictField(help_text="Numbers and names behind it, such as `staleness`.")
    memories = serializers.ListField(child=AnyMemory())
    decision = Choice(ReviewDecision, help_text="`open`: it waits; `withdrawn`: there is nothing to decide any more.")
    decided_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()


class ReviewPageResponse(serializers.Serializer[Any]):
    """One page of reviews."""

    results = ReviewResponse(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class ReviewDecideRequest(StrictSerializer):
    """A decision.

    `keep_one`, `keep_both`, `merge` or `edit` for two facts; `evict` or `keep` for an eviction; `accept` or `keep` for
    a correction.
    """

    decision = Choice(ReviewAnswer, help_text="One that fits the kind of the review.")
    keep = Identifier(required=False, help_text="Of `keep_one`: the fact that stays.")
    never_true = Truth(default=False, help_text="What goes never was true, rather than not any more.")
    text = StrictText(
        limit=MAX_MEMORY_CHARACTERS, allow_blank=True, default="", help_text="Of `merge`: what takes the place of both."
    )
    first_text = StrictText(
        limit=MAX_MEMORY_CHARACTERS, allow_blank=True, default="", help_text="Of `edit`: the first one, worded anew."
    )
    second_text = StrictText(
        limit=MAX_MEMORY_CHARACTERS, allow_blank=True, default="", help_text="Of `edit`: the second one, worded anew."
    )
    reason = StrictText(limit=MAX_TITLE_CHARACTERS, allow_blank=True, default="")


class ReviewUndoRequest(StrictSerializer):
    """The reason for reverting a decision."""

    reason = StrictText(limit=MAX_TITLE_CHARACTERS, allow_blank=True, default="")


class DecisionSerializer(serializers.Serializer[Any]):
    """The outcome of one proposal: ids and reasons."""

    what = serializers.ChoiceField(PROPOSAL_PARTS)
    verdict = serializers.ChoiceField(
        VERDICTS,
        help_text="`known` and `refused` changed nothing.",
    )
    reason = serializers.CharField()
    memory_id = serializers.UUIDField(allow_null=True)
    superseded_ids = serializers.ListField(child=serializers.UUIDField())
    episode_ids = serializers.ListField(child=serializers.UUIDField())


class RunResponse(serializers.Serializer[Any]):
    """One consolidation run over a batch of episodes. `given_up`: it failed permanently, and may be rerun."""

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


class RunPageResponse(serializers.Serializer[Any]):
    """One page of runs, latest first, and the episodes waiting for the next run."""

    waiting = serializers.IntegerField(help_text="Episodes that no run has read yet.")
    waiting_since = serializers.DateTimeField(allow_null=True)
    retry_at = serializers.DateTimeField(allow_null=True, help_text="When the next try is, if the last one failed.")
    given_up = serializers.IntegerField(help_text="Runs that were given up and that no rerun has read.")
    results = RunResponse(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class ConsolidationResponse(serializers.Serializer[Any]):
    """The result of a consolidation. `error` explains why episodes still wait or were given up."""

    runs = serializers.ListField(child=serializers.UUIDField())
    episodes = serializers.IntegerField()
    decisions = serializers.DictField(child=serializers.IntegerField(), help_text="How many of each verdict.")
    given_up = serializers.IntegerField()
    waiting = serializers.IntegerField(help_text="Episodes that are left; call again for the next batch.")
    error = serializers.CharField()


class LookSerializer(serializers.Serializer[Any]):
    """One look of staff at the owner's memory, as the audit log has it."""

    id = serializers.UUIDField(help_text="Of the event in the owner's audit log.")
    at = serializers.DateTimeField()
    role = serializers.CharField(help_text="Their role today; `platform staff` if they never belonged to the tenant.")
    name = serializers.CharField(help_text="Empty where the tenant's policy shows roles alone.")
    what = serializers.CharField(help_text="What they opened, or did with the memory, in words.")
    reason = serializers.CharField(help_text="Why, if they had to state it.")
    kind = serializers.CharField(help_text="With `target_id`: the memory or `session`, while it exists; else empty.")
    target_id = serializers.UUIDField(allow_null=True)


class LookPageResponse(serializers.Serializer[Any]):
    """One page of looks."""

    results = LookSerializer(many=True)
    next_cursor = serializers.CharField(allow_null=True)

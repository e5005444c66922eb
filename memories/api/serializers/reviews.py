"""Reviews as the API shows them: what was found, the memories that it is about, and what somebody decides."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memories.api.fields import Choice, Identifier, StrictSerializer, Text, Truth
from memories.api.serializers.common import PageQuery
from memories.api.serializers.memories import AnyMemory
from memories.constants import MAX_MEMORY_CHARACTERS, MAX_TITLE_CHARACTERS
from memories.models import ReviewDecision, ReviewKind


class ReviewsQuery(PageQuery):
    """Which reviews."""

    decided = serializers.BooleanField(default=False, help_text="Those that were decided, latest first.")


class ReviewSerializer(serializers.Serializer[Any]):
    """A question about one's own memory. `memories` are the two facts, the older one first, or what is to go."""

    id = serializers.UUIDField()
    kind = Choice(ReviewKind)
    reason = serializers.CharField()
    evidence = serializers.DictField(help_text="Numbers and names behind it, such as `staleness`.")
    memories = serializers.ListField(child=AnyMemory())
    decision = Choice(ReviewDecision, help_text="`open`: it waits; `withdrawn`: there is nothing to decide any more.")
    decided_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()


class ReviewPage(serializers.Serializer[Any]):
    """Some reviews, and where the next ones begin."""

    results = ReviewSerializer(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class ReviewAnswer(StrictSerializer):
    """What is decided: `keep_one`, `keep_both`, `merge` or `edit` of two facts; `evict` or `keep` of what is to go."""

    decision = Choice(ReviewDecision, help_text="One that fits the kind of the review.")
    keep = Identifier(required=False, help_text="Of `keep_one`: the fact that stays.")
    never_true = Truth(default=False, help_text="What goes never was true, rather than not any more.")
    text = Text(
        limit=MAX_MEMORY_CHARACTERS, allow_blank=True, default="", help_text="Of `merge`: what takes the place of both."
    )
    first_text = Text(
        limit=MAX_MEMORY_CHARACTERS, allow_blank=True, default="", help_text="Of `edit`: the first one, worded anew."
    )
    second_text = Text(
        limit=MAX_MEMORY_CHARACTERS, allow_blank=True, default="", help_text="Of `edit`: the second one, worded anew."
    )
    reason = Text(limit=MAX_TITLE_CHARACTERS, allow_blank=True, default="")


class ReviewUndoing(StrictSerializer):
    """Why a decision is taken back."""

    reason = Text(limit=MAX_TITLE_CHARACTERS, allow_blank=True, default="")

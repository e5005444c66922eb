"""What is said of a memory whose time is over, or might be: that it still holds, or is to come back."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memories.api.fields import StrictSerializer, Text
from memories.api.serializers.common import DEFAULT_LISTED
from memories.api.serializers.memories import AnyMemory
from memories.constants import MAX_LISTED, MAX_TITLE_CHARACTERS


class Confirmation(StrictSerializer):
    """Why it is known to hold still."""

    reason = Text(limit=MAX_TITLE_CHARACTERS, allow_blank=True, default="")


class Restoration(StrictSerializer):
    """Why it comes back."""

    reason = Text(limit=MAX_TITLE_CHARACTERS, allow_blank=True, default="")


class ReviewQuery(StrictSerializer):
    """How many facts to review."""

    limit = serializers.IntegerField(min_value=1, max_value=MAX_LISTED, default=DEFAULT_LISTED)


class ReviewList(serializers.Serializer[Any]):
    """Facts to review, those that were confirmed longest ago first."""

    results = serializers.ListField(child=AnyMemory())

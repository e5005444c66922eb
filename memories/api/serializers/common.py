"""Shapes that several resources share."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memories.api.fields import Choice, StrictSerializer
from memories.constants import MAX_LISTED
from memories.types import ForgetOutcome, Handling, Kind, SensitiveKind

DEFAULT_LISTED = 50


class PageQuery(StrictSerializer):
    """Which page of a list."""

    limit = serializers.IntegerField(
        min_value=1, max_value=MAX_LISTED, default=DEFAULT_LISTED, help_text="How many to return."
    )
    cursor = serializers.CharField(
        max_length=2000, default="", allow_blank=True, help_text="`next_cursor` of the page before."
    )


class CascadeQuery(StrictSerializer):
    """How far an erasure goes."""

    cascade = serializers.BooleanField(
        default=False, help_text="Also erase the facts that only the erased episodes supported."
    )


class Nothing(StrictSerializer):
    """An empty body."""


class ErasedSerializer(serializers.Serializer[Any]):
    """One memory that no longer exists."""

    kind = Choice(Kind)
    id = serializers.UUIDField()


class Forgotten(serializers.Serializer[Any]):
    """What an erasure removed. It cannot be undone."""

    erased = ErasedSerializer(many=True)
    redacted_messages = serializers.IntegerField(help_text="Messages of the transcript whose words went with it.")


def forgotten(outcome: ForgetOutcome) -> dict[str, Any]:
    """An erasure as `Forgotten`."""
    erased = [{"kind": kind, "id": memory_id} for kind, memory_id in outcome.erased]
    return dict(Forgotten({"erased": erased, "redacted_messages": outcome.redacted_messages}).data)


class FieldError(serializers.Serializer[Any]):
    """One thing wrong with a request."""

    field = serializers.CharField()
    reason = serializers.CharField()


class SpotSerializer(serializers.Serializer[Any]):
    """Where a value lies that may not be stored. The value itself is not repeated."""

    field = serializers.CharField()
    kind = Choice(SensitiveKind)
    start = serializers.IntegerField(help_text="Its first character, counted from 0.")
    end = serializers.IntegerField(help_text="The first character after it.")


class Sensitivity(serializers.DictField):
    """Kinds of sensitive values that the words had, each with what became of it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            child=Choice(Handling),
            help_text="What sensitive values the words had, by kind, and what became of each: "
            "`allow`: it is in them; `mask`: it was taken out.",
            **options,
        )


class ProblemSerializer(serializers.Serializer[Any]):
    """An error, as problem details (RFC 9457)."""

    type = serializers.CharField(help_text="`urn:memoryhub:problem:` and the name of the problem.")
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    errors = FieldError(many=True)  # type: ignore[assignment]  # declared fields leave the class; see the metaclass
    request_id = serializers.CharField(help_text="Also in the header X-Request-ID.")
    spots = SpotSerializer(
        many=True, required=False, help_text="Of the problem `blocked`: what to take out, and where."
    )

"""Serializers for the memory policy of a tenant. The service checks the values; these say their types."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, ClassVar

from rest_framework import serializers

from memories.api.fields import (
    Amount,
    Choice,
    Messages,
    Several,
    StrictSerializer,
    StrictText,
    Truth,
    WebAddress,
    Whole,
)
from memories.constants import MAX_APP_CHARACTERS
from memories.hygiene.sensitivity.findings import DECIDABLE
from memories.selectors.policies import LINES
from memories.selectors.upstreams import VENDORS
from memories.services.policies import MAX_LINES, POLICY_BOUNDS, POLICY_TEXTS
from memories.services.upstreams import MAX_ADDRESS, MAX_KEY, MAX_MODEL
from memories.types import Handling, RecallMode, SecondPerson
from memoryhub.env.limits import DEFAULT_LIMITS, MAX_LIMIT

_COMMON: Messages = {"null": "must not be null.", "not_a_dict": "must be an object."}
_LINES_HELP = {
    "categories": "Those that learned facts get, each with a colon and what it is for: `repairs: what was mended`.",
    "never_words": "Words and phrases: what holds one is kept out of memory.",
    "never_topics": "Topics: what has all their words is kept out of memory. Terms after a colon: `health: back pain`.",
}


class LearningFields(StrictSerializer):
    """What is learned, and what is kept out of memory."""

    instructions = StrictText(
        limit=POLICY_TEXTS["instructions"], allow_blank=True, required=False, help_text="What matters, for the models."
    )

    def get_fields(self) -> dict[str, Any]:
        """Add the lists."""
        lists = {
            name: Several(
                StrictText(limit=POLICY_TEXTS[name]), limit=MAX_LINES, required=False, help_text=_LINES_HELP[name]
            )
            for name in LINES
        }
        return {**super().get_fields(), **lists}


class AppLearning(LearningFields):
    """What one app adds to the tenant's. Its categories replace those of the tenant."""


class UpstreamFields(StrictSerializer):
    """The endpoint of a model's API. A key that is left out stays, unless the url changes."""

    url = WebAddress(limit=MAX_ADDRESS, help_text="As the API's own clients write it: https://api.openai.com/v1.")
    key = StrictText(limit=MAX_KEY, required=False, allow_blank=True, help_text="Never shown again.")
    model = StrictText(
        limit=MAX_MODEL, required=False, allow_blank=True, help_text="openai only: the model that answers in the chat."
    )


class ShownUpstream(serializers.Serializer[Any]):
    """The endpoint of a model's API, and whether a key is stored for it."""

    url = serializers.CharField()
    has_key = serializers.BooleanField()
    model = serializers.CharField()


class _ByName(serializers.DictField):
    """An object with names of the caller's own."""

    default_error_messages: ClassVar[Messages] = _COMMON


def _mode(kind: type[StrEnum], **options: Any) -> serializers.ChoiceField:
    """A value of an enumeration, or empty for the default."""
    choices = ["", *(each.value for each in kind)]
    said = {**_COMMON, "invalid_choice": f"must be one of {', '.join(kind)}, or empty."}
    return serializers.ChoiceField(choices=choices, allow_blank=True, required=False, error_messages=said, **options)


class PolicyRequest(LearningFields):
    """Changes of the memory policy. A field that is left out stays; null, or an empty mode, restores the default."""

    apps = _ByName(
        child=AppLearning(),
        required=False,
        help_text=f"What single apps add, by name (at most {MAX_APP_CHARACTERS} characters). Replaces all of it.",
    )
    recall_mode = _mode(RecallMode)
    recall_threshold = Amount(required=False, allow_null=True)
    keep_superseded = Truth(required=False)
    keep_originals = Truth(required=False, help_text="People only.")
    apps_apart = Truth(required=False, help_text="A call of an app sees only what is of that app, or of none.")
    handling = _ByName(
        child=Choice(Handling), required=False, help_text=f"Of {', '.join(DECIDABLE)}. People only. Replaces all of it."
    )
    second_person = _mode(SecondPerson, help_text="People only.")
    reason_to_look = Truth(required=False, help_text="People only.")
    looks_name_staff = Truth(required=False, help_text="People only.")
    provision_members = Truth(required=False, help_text="A key makes members on first use.")
    upstreams = _ByName(
        child=UpstreamFields(),
        required=False,
        help_text=f"Where /v1/… passes requests on: {', '.join(VENDORS)}. People only. Replaces all of it.",
    )
    caller_keys = Truth(required=False, help_text="Callers may bring a model key. People only.")
    limits = _ByName(
        child=Whole(min_value=1, max_value=MAX_LIMIT),
        required=False,
        help_text=f"Of {', '.join(DEFAULT_LIMITS)}. People only, of a tenant platform staff only. Replaces all of it.",
    )

    def get_fields(self) -> dict[str, Any]:
        """Add the numbers."""
        numbers = {
            name: Whole(min_value=least, max_value=most, required=False, allow_null=True)
            for name, (least, most) in POLICY_BOUNDS.items()
        }
        return {**super().get_fields(), **numbers}


class PolicyResponse(serializers.Serializer[Any]):
    """The memory policy as it was decided; null, and what is empty: the default holds."""

    updated_at = serializers.DateTimeField(allow_null=True)

    def get_fields(self) -> dict[str, Any]:
        """All that can be changed, and when it was."""
        fields = {**PolicyRequest().get_fields(), **super().get_fields(), "upstreams": _ByName(child=ShownUpstream())}
        for field in fields.values():
            field.required = True
        return fields

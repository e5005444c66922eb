"""Request fields, and serializers shared by all resources.

Fields of JSON bodies never convert, trim or ignore input. Those of query strings parse text, and `Words` strips spaces.

Error messages never repeat the submitted value, which may be a secret, a megabyte long, or invalid Unicode.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, ClassVar

from django.utils import timezone
from django.utils.dateparse import parse_datetime
from rest_framework import serializers

from memories.attributes.filters import parse_filter
from memories.attributes.metadata import METADATA, checked_metadata
from memories.constants import FIRST_YEAR, LAST_YEAR, MAX_APP_CHARACTERS, MAX_LISTED
from memories.errors import InvalidInput
from memories.hygiene.sensitivity.detecting import without_secrets
from memories.types import ALL_KINDS, Filter, ForgetOutcome, Handling, Kind, SensitiveKind
from tenants.end_users import MAX_ID_CHARACTERS

Messages = dict[str, Any]

_COMMON: Messages = {"required": "is missing.", "null": "must not be null."}
_LONGEST_NAME_SHOWN = 40
_MOST_NAMES_SHOWN = 20
_LONGEST_QUERY = 4_000
# Characters. Longer than the part shown, so that a secret is detected as a whole.
_LOOKED_THROUGH = 1000


class StrictSerializer(serializers.Serializer[Any]):
    """A request body or query string that accepts the declared fields and no others."""

    default_error_messages: ClassVar[Messages] = {"invalid": "must be an object."}

    def to_internal_value(self, data: Any) -> Any:
        """Reject unknown fields before validating the known ones."""
        if isinstance(data, Mapping):
            unknown = [name for name in data if name not in self.fields]
            if unknown:
                raise serializers.ValidationError(
                    {shown(name): ["is not a field of this request."] for name in unknown[:_MOST_NAMES_SHOWN]}
                )
        return super().to_internal_value(data)


def shown(name: str) -> str:
    """Make the name of an unknown field safe to repeat: printable ASCII, at most 40 characters, without secrets."""
    return ascii(without_secrets(name[:_LOOKED_THROUGH]))[1:-1][:_LONGEST_NAME_SHOWN]


class _Strict(serializers.Field[Any, Any, Any, Any]):
    """Accepts only the given JSON types: text is never converted to a number, nor a number to text."""

    json_types: ClassVar[tuple[type, ...]] = (int, float)
    default_error_messages: ClassVar[Messages] = {
        "required": "is missing.",
        "null": "must not be null.",
        "invalid": "must be a number.",
        "min_value": "must be at least {min_value}.",
        "max_value": "must be at most {max_value}.",
    }

    def to_internal_value(self, data: Any) -> Any:
        """Reject other JSON types, then let the framework parse the value."""
        if not isinstance(data, self.json_types) or (isinstance(data, bool) and bool not in self.json_types):
            self.fail("invalid")
        return super().to_internal_value(data)


class StrictText(_Strict, serializers.CharField):
    """Text stored unchanged. `limit` is in characters; NUL characters and lone surrogates are rejected."""

    json_types = (str,)
    default_error_messages: ClassVar[Messages] = {
        "invalid": "must be text.",
        "blank": "is empty; write something.",
        "max_length": "is too long: at most {max_length} characters are allowed.",
    }

    def __init__(self, *, limit: int, **options: Any) -> None:
        super().__init__(max_length=limit, trim_whitespace=False, **options)


class UserId(StrictText):
    """The tenant's own id of a user; `checked_id` refuses other characters that are not seen as well."""

    pattern = r"^[^\s/\\\x00-\x1f\x7f-\x9f]([^/\\\x00-\x1f\x7f-\x9f]*[^\s/\\\x00-\x1f\x7f-\x9f])?$"

    def __init__(self, **options: Any) -> None:
        super().__init__(limit=MAX_ID_CHARACTERS, **options)


class WebAddress(StrictText):
    """An http or https address; the service checks the rest of it."""

    pattern = r"^(https?://[!-~]+)?$"


class Identifier(_Strict, serializers.UUIDField):
    """A UUID, sent as text."""

    json_types = (str,)
    default_error_messages: ClassVar[Messages] = {"invalid": "is not a UUID."}


class Moment(_Strict, serializers.DateTimeField):
    """An ISO 8601 timestamp with a time zone, such as `2026-03-01T09:30:00Z`."""

    pattern = rf"^(1[89]\d\d|2[01]\d\d|{LAST_YEAR})-"

    json_types = (str,)
    default_error_messages: ClassVar[Messages] = {
        "invalid": "is not a time in ISO 8601, such as 2026-03-01T09:30:00Z.",
        "naive": "needs a time zone: end it with Z, or an offset such as +02:00.",
        "range": f"lies outside the years {FIRST_YEAR} to {LAST_YEAR}.",
    }

    def to_internal_value(self, value: Any) -> datetime:
        """Return the time in UTC."""
        try:
            moment = parse_datetime(value)
        except (TypeError, ValueError):
            moment = None
        if moment is None:
            self.fail("invalid")
        if timezone.is_naive(moment):
            self.fail("naive")
        try:
            moment = moment.astimezone(UTC)
        except OverflowError:
            self.fail("range")
        if not FIRST_YEAR <= moment.year <= LAST_YEAR:
            self.fail("range")
        return moment


class PastMoment(Moment):
    """A time at which something was said or learned. One to come, by a clock that is ahead, counts as now.

    What is learned later would otherwise look older, and never replace it.
    """

    def to_internal_value(self, value: Any) -> datetime:
        """Return the time in UTC, now at the latest."""
        return min(super().to_internal_value(value), timezone.now())


class Truth(_Strict, serializers.BooleanField):
    """A boolean: true or false."""

    json_types = (bool,)
    default_error_messages: ClassVar[Messages] = {"invalid": "must be true or false."}


class Whole(_Strict, serializers.IntegerField):
    """A whole number; 58.0 is one, as in JSON Schema."""

    default_error_messages: ClassVar[Messages] = {"invalid": "must be a whole number."}

    def to_internal_value(self, data: Any) -> Any:
        """Take a number without a fraction for the whole number that it is."""
        if isinstance(data, float):
            data = int(data) if data.is_integer() else None
        return super().to_internal_value(data)


class Amount(_Strict, serializers.FloatField):
    """A finite floating-point number."""

    default_error_messages: ClassVar[Messages] = {"overflow": "must be a number."}

    def to_internal_value(self, data: Any) -> float:
        """Reject infinity and NaN."""
        value: float = super().to_internal_value(data)
        if not math.isfinite(value):
            self.fail("invalid")
        return value


class Share(Amount):
    """A number from 0 to 1."""

    def __init__(self, **options: Any) -> None:
        super().__init__(min_value=0.0, max_value=1.0, **options)

    def to_internal_value(self, data: Any) -> float:
        """Report integers too large for a float as out of range instead of overflowing."""
        if isinstance(data, int | float) and not abs(data) <= 1:
            data = -1.0 if data < 0 else 2.0
        return super().to_internal_value(data)


class Choice(serializers.ChoiceField):
    """One value of an enumeration, or of those `among` it; others are rejected with a list of the allowed ones."""

    def __init__(self, kind: type[StrEnum], *, among: Iterable[StrEnum] = (), **options: Any) -> None:
        self.kind, self.members = kind, tuple(among or kind)
        named = [(member.value, getattr(member, "label", member.name)) for member in self.members]
        super().__init__(choices=named, **options)
        self.error_messages |= _COMMON | {"invalid_choice": f"must be one of {', '.join(self.members)}."}

    def to_internal_value(self, data: Any) -> StrEnum:
        """Return the enumeration member."""
        try:
            return self.members[self.members.index(self.kind(data))]
        except (TypeError, ValueError):
            self.fail("invalid_choice")


KINDS = [(kind.value, kind.label) for kind in ALL_KINDS]


class MemoryKind(Choice):
    """One of the kinds of memory."""

    def __init__(self, **options: Any) -> None:
        super().__init__(Kind, among=ALL_KINDS, **options)


class Several(serializers.ListField):
    """A list of at most `limit` values."""

    def __init__(self, child: serializers.Field[Any, Any, Any, Any], *, limit: int, **options: Any) -> None:
        super().__init__(child=child, max_length=limit, **options)
        self.error_messages |= _COMMON | {
            "not_a_list": "must be a list.",
            "empty": "must not be empty.",
            "max_length": "is too long: at most {max_length} are allowed.",
        }


class WholeInQuery(serializers.IntegerField):
    """A whole number in a query string."""

    default_error_messages: ClassVar[Messages] = {
        **_Strict.default_error_messages,
        "invalid": "must be a whole number.",
    }


class TruthInQuery(serializers.BooleanField):
    """A boolean in a query string."""

    default_error_messages: ClassVar[Messages] = {**_COMMON, "invalid": "must be true or false."}


class TextInQuery(serializers.CharField):
    """Text in a query string."""

    default_error_messages: ClassVar[Messages] = {**_COMMON, **StrictText.default_error_messages}


class Words(TextInQuery):
    """Comma-separated enumeration values in a query string, such as `status=active,stale`."""

    def __init__(self, kind: type[StrEnum], **options: Any) -> None:
        self.kind = kind
        super().__init__(**options)
        self.error_messages["invalid_choice"] = f"takes one or more of {', '.join(kind)}, separated by commas."

    def to_internal_value(self, data: Any) -> Any:
        """Return the members in the order given."""
        try:
            return tuple(self.kind(word.strip()) for word in str(data).split(","))
        except ValueError:
            self.fail("invalid_choice")


DEFAULT_LISTED = 50


class Cursor(TextInQuery):
    """A place in a list, as `memories/selectors/paging.py` signs it."""

    pattern = r"^([\w-]+:[\w-]+:[\w-]+)?$"

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=2000, **options)


class PageQuery(StrictSerializer):
    """Pagination of a list."""

    limit = WholeInQuery(min_value=1, max_value=MAX_LISTED, default=DEFAULT_LISTED, help_text="How many to return.")
    cursor = Cursor(default="", allow_blank=True, help_text="The previous page's `next_cursor`.")


class Metadata(serializers.JSONField):
    """The caller's own JSON object; `memories/attributes/metadata.py` has its rules."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.error_messages |= _COMMON

    def to_internal_value(self, data: Any) -> Any:
        """Check the object, naming the path at fault."""
        try:
            return checked_metadata(data)
        except InvalidInput as error:
            inside = without_secrets(error.field).removeprefix(METADATA).removeprefix(".")
            raise serializers.ValidationError(f"{inside} {error.reason}".strip()) from None


class AppName(StrictText):
    """The tenant's agent that makes the call."""

    def __init__(self, **options: Any) -> None:
        told = "Which of the tenant's agents calls; also as header X-Memoryhub-App."
        super().__init__(limit=MAX_APP_CHARACTERS, default="", allow_blank=True, help_text=told, **options)


_EXAMPLE = (
    '`{"field": "metadata.trip.to", "op": "eq", "value": "Lisbon"}`, `{"and": […]}`, `{"or": […]}`, `{"not": …}`.'
)


class Filters(serializers.JSONField):
    """A filter on attributes of memories; docs/api.md describes the language. An error names its place in the tree."""

    def __init__(self, **options: Any) -> None:
        super().__init__(default=None, help_text=f"Narrows the answer: {_EXAMPLE}", **options)

    def parsed(self, data: Any) -> Filter:
        """Read the tree. Raises InvalidInput."""
        return parse_filter(data)

    def to_internal_value(self, data: Any) -> Any:
        """Return the filter as a tree."""
        try:
            return self.parsed(data)
        except InvalidInput as error:
            detail: Any = [error.reason]
            for name in reversed(error.field.split(".")[1:]):
                detail = {name: detail}
            raise serializers.ValidationError(detail) from None


class FiltersQuery(Filters):
    """A filter as JSON in a query string."""

    def to_internal_value(self, data: Any) -> Any:
        """Read the JSON."""
        try:
            tree = json.loads(data) if len(data) <= _LONGEST_QUERY else None
        except (ValueError, RecursionError):
            tree = None
        if tree is None:
            raise serializers.ValidationError(f"must be JSON of at most {_LONGEST_QUERY:,} characters.")
        return super().to_internal_value(tree)


class CascadeQuery(StrictSerializer):
    """How far an erasure extends."""

    cascade = TruthInQuery(default=False, help_text="Also erase the memories that only the erased episodes supported.")


class EmptyRequest(StrictSerializer):
    """An empty body."""


class ErasedSerializer(serializers.Serializer[Any]):
    """One memory that no longer exists."""

    kind = MemoryKind()
    id = serializers.UUIDField()


class ErasureResponse(serializers.Serializer[Any]):
    """Memories removed by an erasure. An erasure cannot be undone."""

    erased = ErasedSerializer(many=True)
    redacted_messages = serializers.IntegerField(help_text="How many transcript messages were emptied or deleted.")


def forgotten(outcome: ForgetOutcome) -> dict[str, Any]:
    """Convert an erasure outcome to the form of `ErasureResponse`."""
    erased = [{"kind": kind, "id": memory_id} for kind, memory_id in outcome.erased]
    return {"erased": erased, "redacted_messages": outcome.redacted_messages}


class FieldError(serializers.Serializer[Any]):
    """One invalid field of a request."""

    field = serializers.CharField()
    reason = serializers.CharField()


class SpotSerializer(serializers.Serializer[Any]):
    """Position of a value that must not be stored. The value itself is never repeated."""

    field = serializers.CharField()
    kind = Choice(SensitiveKind)
    start = serializers.IntegerField(help_text="Its first character, counted from 0.")
    end = serializers.IntegerField(help_text="The first character after it.")


class Sensitivity(serializers.DictField):
    """Kinds of sensitive values found in the text, each with how it was handled."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            child=Choice(Handling),
            help_text="The kinds of sensitive values found, each with its handling: "
            "`allow` (kept) or `mask` (removed).",
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
        many=True, required=False, help_text="Only for the problem `blocked`: the positions of the values to remove."
    )

    def get_fields(self) -> Any:
        """Add a member whose name, that of the draft of RateLimit, is no Python name."""
        limits = serializers.ListField(
            child=serializers.CharField(), required=False, help_text="Only for `quota-exceeded`: the limits' names."
        )
        return super().get_fields() | {"violated-policies": limits}

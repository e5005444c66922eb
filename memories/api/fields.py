"""The parts of a request body, strict: nothing is converted, trimmed or ignored.

Invariant: a message never repeats the value that was sent, which may be a secret, a megabyte, or not even Unicode.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, ClassVar
from uuid import UUID

from django.utils import timezone
from django.utils.dateparse import parse_datetime
from rest_framework import serializers

from memories.constants import FIRST_YEAR, LAST_YEAR
from memories.hygiene.sensitivity.detecting import without_secrets

Messages = dict[str, Any]

_COMMON: Messages = {"required": "is missing.", "null": "must not be null."}
_LONGEST_NAME_SHOWN = 40
_MOST_NAMES_SHOWN = 20
# Characters: beyond what is shown, so that a value is seen as a whole.
_LOOKED_THROUGH = 1000


class StrictSerializer(serializers.Serializer[Any]):
    """A body, or the query of an address, that may hold the declared fields and no others."""

    default_error_messages: ClassVar[Messages] = {"invalid": "must be an object."}

    def to_internal_value(self, data: Any) -> Any:
        """Refuse unknown fields before looking at the known ones."""
        if isinstance(data, Mapping):
            unknown = [name for name in data if name not in self.fields]
            if unknown:
                raise serializers.ValidationError(
                    {shown(name): ["is not a field of this request."] for name in unknown[:_MOST_NAMES_SHOWN]}
                )
        return super().to_internal_value(data)


def shown(name: str) -> str:
    """The name of an unknown field as it can be repeated: printable ASCII, short, and without what is never stored."""
    return ascii(without_secrets(name[:_LOOKED_THROUGH]))[1:-1][:_LONGEST_NAME_SHOWN]


class Text(serializers.CharField):
    """Text as it was sent. Lengths are in characters; NUL characters and lone surrogates are refused."""

    default_error_messages: ClassVar[Messages] = _COMMON | {
        "invalid": "must be text.",
        "blank": "is empty; write something.",
        "max_length": "is too long: at most {max_length} characters are allowed.",
    }

    def __init__(self, *, limit: int, **options: Any) -> None:
        super().__init__(max_length=limit, trim_whitespace=False, **options)

    def to_internal_value(self, data: Any) -> str:
        """No number becomes text."""
        if not isinstance(data, str):
            self.fail("invalid")
        return data


class Identifier(serializers.UUIDField):
    """A UUID in its usual form."""

    default_error_messages: ClassVar[Messages] = _COMMON | {"invalid": "is not a UUID."}

    def to_internal_value(self, data: Any) -> UUID:
        """No number becomes an id."""
        try:
            value = UUID(data)
        except (AttributeError, TypeError, ValueError):
            self.fail("invalid")
        return value


class Moment(serializers.DateTimeField):
    """A point in time: ISO 8601 with a time zone (`2026-03-01T09:30:00Z`). Without a zone it would be a guess."""

    default_error_messages: ClassVar[Messages] = _COMMON | {
        "invalid": "is not a time in ISO 8601, such as 2026-03-01T09:30:00Z.",
        "naive": "needs a time zone: end it with Z, or an offset such as +02:00.",
        "range": f"lies outside the years {FIRST_YEAR} to {LAST_YEAR}.",
    }

    def to_internal_value(self, value: Any) -> datetime:
        """The moment, in UTC."""
        moment = self._parsed(value)
        if timezone.is_naive(moment):
            self.fail("naive")
        try:
            moment = moment.astimezone(UTC)
        except OverflowError:
            self.fail("range")
        if not FIRST_YEAR <= moment.year <= LAST_YEAR:
            self.fail("range")
        return moment

    def _parsed(self, value: Any) -> datetime:
        try:
            moment = parse_datetime(value)
        except (TypeError, ValueError):
            moment = None
        if moment is None:
            self.fail("invalid")
        return moment


class Truth(serializers.BooleanField):
    """true or false."""

    default_error_messages: ClassVar[Messages] = _COMMON | {"invalid": "must be true or false."}

    def to_internal_value(self, data: Any) -> bool:
        """No text or number becomes a truth value."""
        if not isinstance(data, bool):
            self.fail("invalid")
        return data


class Whole(serializers.IntegerField):
    """A whole number."""

    default_error_messages: ClassVar[Messages] = _COMMON | {
        "invalid": "must be a whole number.",
        "min_value": "must be at least {min_value}.",
        "max_value": "must be at most {max_value}.",
    }

    def to_internal_value(self, data: Any) -> int:
        """No text becomes a number."""
        if not isinstance(data, int) or isinstance(data, bool):
            self.fail("invalid")
        return data


class Amount(serializers.FloatField):
    """A number, of any size that a calculation can hold."""

    default_error_messages: ClassVar[Messages] = _COMMON | {"invalid": "must be a number."}

    def to_internal_value(self, data: Any) -> float:
        """No text becomes a number."""
        try:
            value = float(data) if isinstance(data, int | float) and not isinstance(data, bool) else math.nan
        except OverflowError:
            value = math.nan
        if not math.isfinite(value):
            self.fail("invalid")
        return value


class Share(serializers.FloatField):
    """A number from 0 to 1."""

    default_error_messages: ClassVar[Messages] = _COMMON | {
        "invalid": "must be a number.",
        "min_value": "must be at least {min_value}.",
        "max_value": "must be at most {max_value}.",
    }

    def __init__(self, **options: Any) -> None:
        super().__init__(min_value=0.0, max_value=1.0, **options)

    def to_internal_value(self, data: Any) -> float:
        """No text becomes a number."""
        if not isinstance(data, int | float) or isinstance(data, bool):
            self.fail("invalid")
        return float(data) if abs(data) <= 1 else 2.0


class Choice(serializers.ChoiceField):
    """One of the values of an enumeration."""

    def __init__(self, kind: type[StrEnum], **options: Any) -> None:
        self.kind = kind
        named = [(member.value, member.name) for member in kind]
        super().__init__(choices=getattr(kind, "choices", named), **options)
        self.error_messages |= _COMMON | {"invalid_choice": f"must be one of {', '.join(kind)}."}

    def to_internal_value(self, data: Any) -> StrEnum:
        """The member of the enumeration."""
        try:
            return self.kind(data)
        except (TypeError, ValueError):
            self.fail("invalid_choice")


class Several(serializers.ListField):
    """A list of at most `limit` values."""

    def __init__(self, child: serializers.Field[Any, Any, Any, Any], *, limit: int, **options: Any) -> None:
        super().__init__(child=child, max_length=limit, **options)
        self.error_messages |= _COMMON | {
            "not_a_list": "must be a list.",
            "empty": "must not be empty.",
            "max_length": "is too long: at most {max_length} are allowed.",
        }


class Words(serializers.CharField):
    """Values of an enumeration separated by commas, in an address: `status=active,stale`."""

    def __init__(self, kind: type[StrEnum], **options: Any) -> None:
        self.kind = kind
        super().__init__(**options)
        self.error_messages["invalid_choice"] = f"takes one or more of {', '.join(kind)}, separated by commas."

    def to_internal_value(self, data: Any) -> Any:
        """The members, in the order given."""
        try:
            return tuple(self.kind(word.strip()) for word in str(data).split(","))
        except ValueError:
            self.fail("invalid_choice")

"""Serializers of items."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from memories.api.fields import (
    Amount,
    AppName,
    Filters,
    PageQuery,
    Sensitivity,
    Several,
    StrictSerializer,
    StrictText,
    TextInQuery,
    Truth,
    TruthInQuery,
    Whole,
    WholeInQuery,
)
from memories.attributes.filters import ITEM_FIELDS, parse_filter
from memories.attributes.items import (
    MAX_ITEM_KEY_CHARACTERS,
    MAX_LABEL_CHARACTERS,
    MAX_LABELS,
    MAX_NAMESPACE_CHARACTERS,
    MAX_PATH_CHARACTERS,
    MAX_PATHS,
    MAX_TTL_MINUTES,
    MIN_TTL_MINUTES,
    PATH_PATTERN,
    checked_paths,
    labels_in,
)
from memories.constants import MAX_LISTED, MAX_QUERY_CHARACTERS, MAX_TITLE_CHARACTERS
from memories.errors import InvalidInput
from memories.selectors.items import FoundItem
from memories.types import Filter

MAX_OFFSET = 10_000
_NAMESPACE = "The labels of the namespace, from the outermost."
_VALUE = "Any JSON of at most 64 kB and 32 levels. It comes back equal."
_IF_VERSION = "Only if the item has this version, else 409; 0: only if there is none."


class Label(StrictText):
    """A label of a namespace."""

    pattern = r"^[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$"

    def __init__(self, **options: Any) -> None:
        super().__init__(limit=MAX_LABEL_CHARACTERS, **options)


class Namespace(Several):
    """A namespace as a list of labels."""

    def __init__(self, **options: Any) -> None:
        super().__init__(Label(), limit=MAX_LABELS, **options)


class NamespacePath(TextInQuery):
    """A namespace in a query string: labels with slashes between them, in which `/` and `%` are percent-encoded."""

    pattern = r"^[^/%\s\x00-\x1f\x7f]{1,128}(/[^/%\s\x00-\x1f\x7f]{1,128}){0,15}$"

    def __init__(self, **options: Any) -> None:
        told = "Its labels with slashes between them, such as users/ada; a slash in a label is %2F, a percent sign %25."
        super().__init__(max_length=3 * MAX_NAMESPACE_CHARACTERS, trim_whitespace=False, help_text=told, **options)

    def to_internal_value(self, data: Any) -> Any:
        """Return the labels."""
        try:
            return labels_in(super().to_internal_value(data))
        except InvalidInput as error:
            raise serializers.ValidationError(error.reason) from None


class KeyInQuery(TextInQuery):
    """A key in a query string."""

    pattern = r"\S"

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=MAX_ITEM_KEY_CHARACTERS, trim_whitespace=False, **options)


class ItemFilters(Filters):
    """A filter on the values of items."""

    def __init__(self) -> None:
        super().__init__()
        self.help_text = (
            f"Like the filters of memories, over {', '.join(ITEM_FIELDS)} and paths of values:"
            ' `{"field": "value.trip.to", "op": "eq", "value": "Lisbon"}`.'
        )

    def parsed(self, data: Any) -> Filter:
        """Read the tree. Raises InvalidInput."""
        return parse_filter(data, document="value", fields=ITEM_FIELDS)


@extend_schema_field(
    {
        "oneOf": [
            {"type": "boolean"},
            {
                "type": "array",
                "items": {"type": "string", "maxLength": MAX_PATH_CHARACTERS, "pattern": f"^({PATH_PATTERN})$"},
                "minItems": 1,
                "maxItems": MAX_PATHS,
            },
        ]
    }
)
class IndexedPaths(serializers.JSONField):
    """Which texts of a value a search reads."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)

    def to_internal_value(self, data: Any) -> Any:
        """Return true, false or the paths."""
        try:
            return checked_paths(data)
        except InvalidInput as error:
            inside = error.field.removeprefix("index").removeprefix(".")
            raise serializers.ValidationError(f"{inside} {error.reason}".strip()) from None


class AnyJson(serializers.JSONField):
    """Any JSON value. It may be null without being declared so, because null is one of the values of any type."""

    def validate_empty_values(self, data: Any) -> tuple[bool, Any]:
        """Take null for a value."""
        return (True, None) if data is None else super().validate_empty_values(data)


class ItemRequest(StrictSerializer):
    """An item to store in place of what is there."""

    namespace = Namespace(allow_empty=False, help_text=_NAMESPACE)
    key = StrictText(limit=MAX_ITEM_KEY_CHARACTERS)
    value = AnyJson(help_text=_VALUE)
    index = IndexedPaths(
        default=True,
        help_text="Which texts of the value a search with a query reads: all, none, or those at these paths, such as"
        " trip.to, stops[0].city, stops[*].city. The first 8,000 characters count.",
    )
    ttl_minutes = Amount(
        min_value=MIN_TTL_MINUTES,
        max_value=MAX_TTL_MINUTES,
        default=None,
        help_text="Erase the item this long after it was put, or read with `refresh_ttl`. Default: never.",
    )
    if_version = Whole(min_value=0, default=None, help_text=_IF_VERSION)
    app = AppName()


class ItemQuery(StrictSerializer):
    """Which item."""

    namespace = NamespacePath()
    key = KeyInQuery(help_text="Its key.")
    app = AppName()


class GetItemQuery(ItemQuery):
    """Which item to read."""

    refresh_ttl = TruthInQuery(
        default=False, help_text="Also let its time to live start anew, which needs `memory:write`."
    )


class DeleteItemQuery(ItemQuery):
    """Which item to delete."""

    if_version = WholeInQuery(min_value=0, default=None, help_text=_IF_VERSION)


class ItemHistoryQuery(PageQuery, ItemQuery):
    """Whose history."""


class EraseItemQuery(StrictSerializer):
    """Why an item is erased."""

    reason = TextInQuery(default="", allow_blank=True, max_length=MAX_TITLE_CHARACTERS)


class SearchItemsRequest(StrictSerializer):
    """Which items to find."""

    namespace_prefix = Namespace(default=(), help_text="Only items in this namespace and those inside it.")
    query = StrictText(
        limit=MAX_QUERY_CHARACTERS,
        allow_blank=True,
        default="",
        help_text="By words and meaning, the best first: at most the 100 best. Without it, the latest first.",
    )
    filters = ItemFilters()
    limit = Whole(min_value=1, max_value=MAX_LISTED, default=10)
    offset = Whole(min_value=0, max_value=MAX_OFFSET, default=0)
    refresh_ttl = Truth(
        default=False, help_text="Also let the time to live of what is found start anew, which needs `memory:write`."
    )
    app = AppName()


class NamespacesRequest(StrictSerializer):
    """Which namespaces to list. A label `*` means any label."""

    prefix = Namespace(default=(), help_text="Those that begin with these labels.")
    suffix = Namespace(default=(), help_text="Those that end with these labels.")
    max_depth = Whole(min_value=1, max_value=MAX_LABELS, default=None, help_text="Cut them after so many labels.")
    limit = Whole(min_value=1, max_value=MAX_LISTED, default=MAX_LISTED)
    offset = Whole(min_value=0, max_value=MAX_OFFSET, default=0)
    app = AppName()


class ItemResponse(serializers.Serializer[Any]):
    """An item."""

    id = serializers.UUIDField()
    namespace = serializers.ListField(child=serializers.CharField(), source="labels")
    key = serializers.CharField()
    value = AnyJson(source="content")
    version = serializers.IntegerField(help_text="Grows with each put and deletion.")
    index = IndexedPaths(help_text="Which texts of the value a search reads: all, none, or those at the paths.")
    app = serializers.CharField(help_text="Which of the tenant's agents put it; empty: none that said so.")
    ttl_minutes = serializers.FloatField(allow_null=True)
    expires_at = serializers.DateTimeField(allow_null=True)
    sensitivity = Sensitivity()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class FoundItemSerializer(ItemResponse):
    """An item that a search found."""

    score = serializers.FloatField(allow_null=True, help_text="null: the search had no query.")

    def to_representation(self, instance: FoundItem) -> dict[str, Any]:
        """Add the score to the item."""
        return {**ItemResponse().to_representation(instance.item), "score": instance.score}


class SearchItemsResponse(serializers.Serializer[Any]):
    """Items that were found. `degraded`: the search index did not respond, so better ones may be missing."""

    results = FoundItemSerializer(many=True, source="items")
    degraded = serializers.BooleanField()


class NamespacesResponse(serializers.Serializer[Any]):
    """Namespaces, each as a list of labels."""

    results = serializers.ListField(child=serializers.ListField(child=serializers.CharField()))


class DeletedItemResponse(serializers.Serializer[Any]):
    """The result of a deletion."""

    deleted = serializers.BooleanField(help_text="false: there was none.")


class ErasedItemResponse(serializers.Serializer[Any]):
    """An erased item, which cannot be brought back."""

    erased = serializers.BooleanField()


class ItemEventSerializer(serializers.Serializer[Any]):
    """One change of an item."""

    id = serializers.UUIDField(help_text="Of the event in the audit log.")
    item_id = serializers.UUIDField(help_text="By which the item and its history are erased, also if it was deleted.")
    action = serializers.CharField(help_text="created, replaced, deleted, or restored: put again after a deletion.")
    at = serializers.DateTimeField()
    actor = serializers.CharField(help_text="Who changed it: member, token, key, agent or system.")
    version = serializers.IntegerField(allow_null=True)
    value = AnyJson(help_text="As it was put; null after a deletion.")
    erased = serializers.BooleanField(help_text="Whether the value is no longer kept.")


class ItemHistoryResponse(serializers.Serializer[Any]):
    """One page of the changes of an item, latest first."""

    results = ItemEventSerializer(many=True)
    next_cursor = serializers.CharField(allow_null=True)

"""How the queue of reviews is narrowed: by state, by whose they are, and by how long they have waited."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from memories.models import ReviewItem
from memories.selectors.reviews import answered, decidable


class StateFilter(admin.SimpleListFilter):
    """What waits, unless something else is asked for."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002
        return [("open", "Open"), ("decided", "Decided"), ("withdrawn", "Nothing left to decide"), ("all", "All")]

    def choices(self, changelist: Any) -> Iterator[Any]:
        """Without the choice that stands for none: what waits takes its place."""
        _, waiting, *others = super().choices(changelist)
        yield {**waiting, "selected": self.value() in (None, "open")}
        yield from others

    def queryset(self, request: HttpRequest, queryset: QuerySet[ReviewItem]) -> QuerySet[ReviewItem]:  # noqa: ARG002
        match self.value():
            case "decided":
                return answered(queryset)
            case "withdrawn":
                return queryset.exclude(pk__in=decidable(queryset)).exclude(pk__in=answered(queryset))
            case "all":
                return queryset
            case _:
                return decidable(queryset)


class WhoseFilter(admin.RelatedOnlyFieldListFilter):
    """Whose they are, without counts: there may be a thousand choices, each of which would be counted for itself."""

    def choices(self, changelist: Any) -> Iterator[Any]:
        uncounted = copy(changelist)
        uncounted.add_facets = False
        return super().choices(uncounted)

    def field_choices(self, field: Any, request: HttpRequest, model_admin: Any) -> list[Any]:
        """Asked once a request: each count beside another filter makes all filters anew."""
        kept: dict[str, list[Any]] = request.__dict__.setdefault("_whose_reviews", {})
        if field.name not in kept:
            kept[field.name] = super().field_choices(field, request, model_admin)
        return kept[field.name]


class AgeFilter(admin.SimpleListFilter):
    """How long ago it was asked."""

    title = "age"
    parameter_name = "age"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002
        return [
            ("day", "Past day"),
            ("week", "Past week"),
            ("older", "Older than a week"),
            ("old", "Older than a month"),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ReviewItem]) -> QuerySet[ReviewItem]:  # noqa: ARG002
        now = timezone.now()
        match self.value():
            case "day":
                return queryset.filter(created_at__gt=now - timedelta(days=1))
            case "week":
                return queryset.filter(created_at__gt=now - timedelta(days=7))
            case "older":
                return queryset.filter(created_at__lte=now - timedelta(days=7))
            case "old":
                return queryset.filter(created_at__lte=now - timedelta(days=30))
            case _:
                return queryset

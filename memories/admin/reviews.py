"""The admin's list of reviews: questions about memories that the system raised and a person decides.

The list shows no text of a memory. The page of one review is in `memories/staff/reviews.py`, at the URL of the admin's
change form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from datetime import timedelta
from typing import Any

from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext as _

from memories.models import ReviewDecision, ReviewItem, ReviewKind
from memories.presenting.reasons import reason_words
from memories.selectors.reviews import answered, decidable
from memories.services.reviews.decisions import ReviewChoice, decide, undo_decision
from memories.staff.base import REFUSALS
from memories.staff.reviews import QUESTIONS, decider, may_decide
from memoryhub.languages import gettext_lazy, number
from tenants.admin.scoping import TenantScopedAdmin, by_name, named, roles_held, signed_in
from tenants.principal import Role
from tenants.principals import STAFF_ROLES
from tenants.selectors import has_active_member

MOST_AT_ONCE = 200


class ReviewStateFilter(admin.SimpleListFilter):
    """Filters by state; shows open reviews by default."""

    title = gettext_lazy("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002
        return [
            ("open", _("Open")),
            ("decided", _("Decided")),
            ("withdrawn", _("Nothing left to decide")),
            ("all", _("All")),
        ]

    def choices(self, changelist: Any) -> Iterator[Any]:
        """Drop the choice for "no filter", because the default is the open reviews."""
        __, waiting, *others = super().choices(changelist)
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


class ReviewWhoseFilter(admin.RelatedOnlyFieldListFilter):
    """Filters by tenant or member. It shows no counts, because each of possibly 1,000 choices would cost a query."""

    def choices(self, changelist: Any) -> Iterator[Any]:
        uncounted = copy(changelist)
        uncounted.add_facets = False
        return super().choices(uncounted)

    def field_choices(self, field: Any, request: HttpRequest, model_admin: Any) -> list[Any]:
        """Cache the choices on the request; each count beside another filter builds every filter anew."""
        kept: dict[str, list[Any]] = request.__dict__.setdefault("_whose_reviews", {})
        if field.name not in kept:
            kept[field.name] = super().field_choices(field, request, model_admin)
        return kept[field.name]


class ReviewAgeFilter(admin.SimpleListFilter):
    """Filters by the time since the review was opened."""

    title = gettext_lazy("age")
    parameter_name = "age"
    # The label, the lookup and the days of each choice.
    _AGES: Mapping[str, tuple[str, str, int]] = {
        "day": (gettext_lazy("Past day"), "gt", 1),
        "week": (gettext_lazy("Past week"), "gt", 7),
        "older": (gettext_lazy("Older than a week"), "lte", 7),
        "old": (gettext_lazy("Older than a month"), "lte", 30),
    }

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002
        return [(age, words) for age, (words, _lookup, _days) in self._AGES.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ReviewItem]) -> QuerySet[ReviewItem]:  # noqa: ARG002
        chosen = self._AGES.get(self.value() or "")
        if chosen is None:
            return queryset
        __, comparison, days = chosen
        return queryset.filter(**{f"created_at__{comparison}": timezone.now() - timedelta(days=days)})


@admin.register(ReviewItem)
class ReviewItemAdmin(TenantScopedAdmin[ReviewItem]):
    """The list for administrators, support and auditors of a tenant; only administrators decide."""

    empty_words = gettext_lazy(
        "Nothing waits. Facts that contradict each other, and memories that may go, will be asked about here."
    )
    roles = STAFF_ROLES
    list_display = ["asked", "member", "tenant", "proposal", "staleness", "decision", "created_at"]
    list_filter = [
        ReviewStateFilter,
        "kind",
        ("tenant", ReviewWhoseFilter),
        ("user", ReviewWhoseFilter),
        ReviewAgeFilter,
    ]
    list_select_related = ["tenant", "user"]
    show_facets = admin.ShowFacets.ALWAYS
    search_fields = ["user__username", "user__display_name", "=id"]
    search_help_text = gettext_lazy("By member, or by the id of a review. The words of memories are not searched.")
    ordering = ["created_at", "id"]
    actions = ["evict_chosen", "keep_chosen", "undo_chosen"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[ReviewItem]:
        return super().get_queryset(request).filter(Q(user=None) | has_active_member())

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002 - machines ask, people decide
        return False

    def has_change_permission(self, request: HttpRequest, obj: ReviewItem | None = None) -> bool:
        user = signed_in(request)
        if obj is not None:
            return may_decide(user, obj)
        return user.is_superuser or Role.ADMIN in roles_held(request)

    @admin.display(description=gettext_lazy("review"))
    def asked(self, item: ReviewItem) -> str:
        """The question that the review asks."""
        return _(QUESTIONS[ReviewKind(item.kind)])

    @admin.display(description=gettext_lazy("member"), ordering=by_name("user"), empty_value=gettext_lazy("shared"))
    def member(self, item: ReviewItem) -> str | None:
        """The owner of the memory; None for shared memory."""
        return named(item.user)

    @admin.display(description=gettext_lazy("why"))
    def proposal(self, item: ReviewItem) -> str | None:
        """The reason to evict a memory. The reason of a contradiction is on the review's page, which is audited."""
        return reason_words(item.reason) if item.kind == ReviewKind.EVICTION else None

    @admin.display(description=gettext_lazy("staleness"))
    def staleness(self, item: ReviewItem) -> str | None:
        """The staleness at the time the review was opened."""
        value = item.evidence.get("staleness")
        return number(value, 2) if isinstance(value, int | float) else None

    @admin.action(description=gettext_lazy("Evict the chosen memories"), permissions=["change"])
    def evict_chosen(self, request: HttpRequest, queryset: QuerySet[ReviewItem]) -> None:
        self._decide(request, queryset, ReviewDecision.EVICT, _("evicted"))

    @admin.action(description=gettext_lazy("Keep the chosen memories"), permissions=["change"])
    def keep_chosen(self, request: HttpRequest, queryset: QuerySet[ReviewItem]) -> None:
        self._decide(request, queryset, ReviewDecision.KEEP, _("kept"))

    @admin.action(description=gettext_lazy("Undo the chosen decisions"), permissions=["change"])
    def undo_chosen(self, request: HttpRequest, queryset: QuerySet[ReviewItem]) -> None:
        def undo(item: ReviewItem) -> None:
            undo_decision(decider(request, item), item_id=item.pk)

        self._each(request, queryset, undo, "")

    def _decide(
        self, request: HttpRequest, chosen: QuerySet[ReviewItem], decision: ReviewDecision, outcome: str
    ) -> None:
        def act(item: ReviewItem) -> None:
            decide(decider(request, item), item_id=item.pk, answer=ReviewChoice(decision))

        self._each(request, chosen.filter(kind=ReviewKind.EVICTION), act, outcome)

    def _each(
        self, request: HttpRequest, chosen: QuerySet[ReviewItem], act: Callable[[ReviewItem], None], outcome: str
    ) -> None:
        """Call `act` on each chosen item separately, at most MOST_AT_ONCE; show each distinct refusal once."""
        done, refused = 0, set()
        for item in chosen.order_by("created_at", "pk")[:MOST_AT_ONCE]:
            try:
                act(item)
                done += 1
            except REFUSALS as error:
                refused.add(str(error))
        for words in sorted(refused):
            self.message_user(request, words, messages.ERROR)
        if done:
            there = format_html(
                '<a href="{}?state=decided">{}</a>', reverse("admin:memories_reviewitem_changelist"), _("Undo it there")
            )
            told = {"count": done, "outcome": outcome or _("open again")}
            words = _("%(count)s of the chosen reviews: %(outcome)s.") % told
            self.message_user(request, format_html("{} {}.", words, there) if outcome else words)
        elif not refused:
            self.message_user(request, _("None of these can be decided here: open a contradiction to decide it."))

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return super().changelist_view(request, {**(extra_context or {}), "title": _("Reviews")})

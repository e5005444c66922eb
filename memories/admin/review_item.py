"""The queue of reviews: what machines found in the memories of members and a person decides.

Invariant: the list shows no words of a memory; a page that does is told to the trail of its owner first. Whoever may
not decide for a tenant reads only, and every decision goes through `memories.services.reviews.decisions`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from memories.admin.review_access import decider, may_decide, reader
from memories.admin.review_filters import AgeFilter, StateFilter, WhoseFilter
from memories.admin.review_page import evidence, parts_of, sides_of, told
from memories.errors import Blocked, InvalidInput, MemoriesError
from memories.hygiene.sensitivity import telling
from memories.models import ReviewDecision, ReviewItem, ReviewKind
from memories.selectors.reviews import UNANSWERED, is_decidable
from memories.services.reviews.decisions import Answer, decide, undo_decision
from memories.services.screening import Screen
from tenants.admin.scoping import TenantScopedAdmin, roles_held, signed_in
from tenants.errors import TenantsError
from tenants.principal import Role
from tenants.principals import STAFF_ROLES
from tenants.selectors import has_active_member

MOST_AT_ONCE = 200
_FIELDS = ("text", "first_text", "second_text", "reason")
_DONE: Mapping[ReviewDecision, str] = {
    ReviewDecision.KEEP_ONE: "One fact was kept; the other one is superseded by it.",
    ReviewDecision.KEEP_BOTH: "Both facts were kept.",
    ReviewDecision.MERGE: "The new wording took the place of both facts.",
    ReviewDecision.EDIT: "The facts were worded anew.",
    ReviewDecision.EVICT: "The memory was evicted.",
    ReviewDecision.KEEP: "The memory was kept.",
}


@admin.register(ReviewItem)
class ReviewItemAdmin(TenantScopedAdmin[ReviewItem]):
    """For administrators, support and auditors of a tenant; only administrators decide."""

    empty_words = "Nothing waits. Facts that contradict each other, and memories that may go, will be asked about here."
    roles = STAFF_ROLES
    list_display = ["asked", "member", "tenant", "proposal", "staleness", "decision", "created_at"]
    list_filter = [
        StateFilter,
        "kind",
        ("tenant", WhoseFilter),
        ("user", WhoseFilter),
        AgeFilter,
    ]
    list_select_related = ["tenant", "user"]
    show_facets = admin.ShowFacets.ALWAYS
    search_fields = ["user__username", "user__display_name", "=id"]
    search_help_text = "By member, or by the id of a review. The words of memories are not searched."
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

    @admin.display(description="review")
    def asked(self, item: ReviewItem) -> str:
        """What is asked."""
        return "Which one holds?" if item.kind == ReviewKind.CONTRADICTION else "Should it go?"

    @admin.display(description="member", ordering="user__username", empty_value="shared")
    def member(self, item: ReviewItem) -> str | None:
        """Whose memory it is about."""
        return None if item.user is None else f"{item.user.speaker} ({item.user})"

    @admin.display(description="why")
    def proposal(self, item: ReviewItem) -> str | None:
        """Why a memory is proposed to go; the reason of a contradiction is on its page, where reading it is told."""
        return item.reason if item.kind == ReviewKind.EVICTION else None

    @admin.display(description="staleness")
    def staleness(self, item: ReviewItem) -> str | None:
        """As it was when it was asked."""
        value = item.evidence.get("staleness")
        return f"{value:.2f}" if isinstance(value, int | float) else None

    @admin.action(description="Evict the chosen memories", permissions=["change"])
    def evict_chosen(self, request: HttpRequest, queryset: QuerySet[ReviewItem]) -> None:
        answer = Answer(ReviewDecision.EVICT)
        self._each(request, queryset.filter(kind=ReviewKind.EVICTION), _deciding(request, answer), "evicted")

    @admin.action(description="Keep the chosen memories", permissions=["change"])
    def keep_chosen(self, request: HttpRequest, queryset: QuerySet[ReviewItem]) -> None:
        answer = Answer(ReviewDecision.KEEP)
        self._each(request, queryset.filter(kind=ReviewKind.EVICTION), _deciding(request, answer), "kept")

    @admin.action(description="Undo the chosen decisions", permissions=["change"])
    def undo_chosen(self, request: HttpRequest, queryset: QuerySet[ReviewItem]) -> None:
        def undo(item: ReviewItem) -> None:
            undo_decision(decider(request, item), item_id=item.pk)

        self._each(request, queryset, undo, "open again")

    def _each(
        self, request: HttpRequest, chosen: QuerySet[ReviewItem], act: Callable[[ReviewItem], None], outcome: str
    ) -> None:
        """`chosen` are among the rows in scope, each done for itself; what a service refuses is said once."""
        done, refused = 0, set()
        for item in chosen.order_by("created_at", "pk")[:MOST_AT_ONCE]:
            try:
                act(item)
                done += 1
            except (MemoriesError, TenantsError) as error:
                refused.add(str(error))
        for words in sorted(refused):
            self.message_user(request, words, messages.ERROR)
        if done:
            there = format_html('<a href="{}?state=decided">Undo it there</a>', _list())
            words = f"{done} of the chosen reviews: {outcome}."
            self.message_user(request, words if outcome == "open again" else format_html("{} {}.", words, there))
        elif not refused:
            self.message_user(request, "None of these can be decided here: open a contradiction to decide it.")

    def get_urls(self) -> list[URLPattern]:
        undo = self.admin_site.admin_view(self.undo_view)
        return [path("<uuid:item_id>/undo/", undo, name="memories_reviewitem_undo"), *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return super().changelist_view(request, {**(extra_context or {}), "title": "Reviews"})

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",  # noqa: ARG002 - the signature of Django's
        extra_context: dict[str, Any] | None = None,  # noqa: ARG002
    ) -> HttpResponse:
        """Side by side, with the forms of what can be decided; their answer."""
        item = self._item(request, unquote(object_id))
        if request.method != "POST":
            return self._page(request, item)
        try:
            answer = _answer(request)
            decide(decider(request, item), item_id=item.pk, answer=answer)
        except InvalidInput as error:
            return self._page(request, item, error=f"{error.field} {error.reason}")
        except Blocked as error:
            return self._page(request, item, error=telling.refusal(error, to_people=True), blocked=True)
        except (MemoriesError, TenantsError) as error:
            self.message_user(request, str(error), messages.ERROR)
        else:
            self.message_user(request, _done(item, answer.decision), messages.SUCCESS)
        return HttpResponseRedirect(_page_of(item.pk))

    def undo_view(self, request: HttpRequest, item_id: UUID) -> HttpResponse:
        """Take a decision back."""
        item = self._item(request, str(item_id))
        if request.method == "POST":
            try:
                undo_decision(decider(request, item), item_id=item.pk)
            except (MemoriesError, TenantsError) as error:
                self.message_user(request, str(error), messages.ERROR)
            else:
                self.message_user(request, _undone(item), messages.SUCCESS)
        return HttpResponseRedirect(_page_of(item.pk))

    def _item(self, request: HttpRequest, item_id: str) -> ReviewItem:
        """One in scope; any other is not there."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        item = self.get_object(request, item_id)
        if item is None:
            raise Http404
        return item

    def _page(self, request: HttpRequest, item: ReviewItem, *, error: str = "", blocked: bool = False) -> HttpResponse:
        try:
            principal = reader(request, item)
        except TenantsError as refused:
            raise PermissionDenied(str(refused)) from refused
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": self.asked(item),
            "item": item,
            "sides": sides_of(principal, item),
            "evidence": evidence(item),
            "parts": parts_of(item, now=timezone.now()),
            "told": told(item),
            "open": is_decidable(item),
            "may_decide": may_decide(signed_in(request), item),
            "answered": item.decision not in UNANSWERED,
            "error": error,
            "given": _given(request, item, blocked=blocked),
        }
        return TemplateResponse(request, "admin/memories/reviewitem/review.html", context, status=400 if error else 200)


def _deciding(request: HttpRequest, answer: Answer) -> Callable[[ReviewItem], None]:
    def act(item: ReviewItem) -> None:
        decide(decider(request, item), item_id=item.pk, answer=answer)

    return act


def _answer(request: HttpRequest) -> Answer:
    """Raises InvalidInput for a form that no page of ours sent."""
    form = request.POST
    words = {name: form.get(name, "").replace("\r\n", "\n").strip() for name in _FIELDS}
    try:
        decision = ReviewDecision(form.get("decision", ""))
        keep = UUID(form["keep"]) if form.get("keep") else None
    except ValueError as error:
        raise InvalidInput("decision", "must be one of those on the page.") from error
    return Answer(decision, keep=keep, never_true=form.get("never_true") == "1", **words)


def _given(request: HttpRequest, item: ReviewItem, *, blocked: bool) -> dict[str, str]:
    """What the form held, to be sent again; where it was `blocked`, without the value."""
    given = {name: request.POST.get(name, "") for name in (*_FIELDS, "decision")}
    if not blocked:
        return given
    screen = Screen(decider(request, item))
    return {name: screen.said(text).text for name, text in given.items()}


def _done(item: ReviewItem, decision: ReviewDecision) -> SafeString:
    return format_html('{} <a href="{}#undo">Undo</a>', _DONE[decision], _page_of(item.pk))


def _undone(decided: ReviewItem) -> str:
    """What taking back an answer did; `decided` is the item as it was until then."""
    if decided.decision == ReviewDecision.EVICT:
        also = " It counts as confirmed just now." if decided.first_id else ""
        return f"Undone: the memory is recalled again, and the review is open.{also}"
    return "Undone: all is as it was, and the review is open."


def _page_of(item_id: UUID) -> str:
    return reverse("admin:memories_reviewitem_change", args=[item_id])


def _list() -> str:
    return reverse("admin:memories_reviewitem_changelist")

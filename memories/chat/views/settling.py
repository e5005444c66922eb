"""What is to be settled: facts that do not fit together, what would be let go; deciding, and taking that back."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from memories.chat.presenting import member_page, refusal, tabs_of
from memories.chat.settling import reviews_of
from memories.errors import Blocked, Conflict, InvalidInput
from memories.hygiene.sensitivity import telling
from memories.models import ReviewDecision, ReviewItem
from memories.selectors.reviews import answered_reviews, get_review, open_reviews
from memories.services.reviews.decisions import Answer, decide, undo_decision
from memories.services.screening import Screen
from tenants.principal import Principal

PAGE_SIZE = 20
SETTLED_SHOWN = 10
_UUID_CHARACTERS = 36
_DONE = {
    ReviewDecision.KEEP_ONE: "Settled: that one stays. The other one is in the history.",
    ReviewDecision.KEEP_BOTH: "Settled: both are true.",
    ReviewDecision.MERGE: "Settled: your wording took the place of both.",
    ReviewDecision.EDIT: "Settled: both stand as you worded them.",
    ReviewDecision.EVICT: "Let go: it is not recalled any more.",
    ReviewDecision.KEEP: "Kept, and confirmed.",
}


@require_safe
@member_page
def listed(request: HttpRequest, principal: Principal) -> HttpResponse:
    """What waits, oldest first, and what was settled lately."""
    page: Page[ReviewItem] = Paginator(open_reviews(principal), PAGE_SIZE).get_page(request.GET.get("page"))
    settled = [] if page.number > 1 else list(answered_reviews(principal)[:SETTLED_SHOWN])
    context: dict[str, Any] = {
        "tabs": tabs_of(principal),
        "page": page,
        "base": "?",
        "reviews": reviews_of(principal, list(page.object_list)),
        "settled": reviews_of(principal, settled),
    }
    return render(request, "remember/reviews.html", context)


@require_safe
@member_page
def show(request: HttpRequest, principal: Principal, review_id: UUID) -> HttpResponse:
    """One question, side by side; or how it was settled."""
    return _page(request, principal, review_id)


@require_POST
@member_page
def settle(request: HttpRequest, principal: Principal, review_id: UUID) -> HttpResponse:
    """The answer of the form."""
    item = get_review(principal, review_id)
    try:
        answer = _answer(request)
        decide(principal, item_id=item.pk, answer=answer)
    except InvalidInput as error:
        return _page(request, principal, review_id, text=_text(request), error=refusal(error, "The text"))
    except Blocked as error:
        told = telling.refusal(error, to_people=True)
        without = Screen(principal).said(_text(request)).text
        return _page(request, principal, review_id, text=without, error=told)
    except Conflict as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _DONE[answer.decision])
    return redirect("remember:review", review_id=review_id)


@require_POST
@member_page
def undo(request: HttpRequest, principal: Principal, review_id: UUID) -> HttpResponse:
    """That was a mistake: what it ended comes back, and the question is open again."""
    decided = get_review(principal, review_id)
    try:
        undo_decision(principal, item_id=review_id)
    except Conflict as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _undone(decided))
    return redirect("remember:review", review_id=review_id)


def _undone(decided: ReviewItem) -> str:
    """What taking back an answer did; `decided` is the item as it was until then."""
    if decided.decision == ReviewDecision.EVICT:
        also = " It counts as confirmed just now." if decided.first_id else ""
        return f"Undone: it is recalled again, and the question is open again.{also}"
    return "Undone: all is as it was, and the question is open again."


def _page(
    request: HttpRequest, principal: Principal, review_id: UUID, *, text: str = "", error: str = ""
) -> HttpResponse:
    item = get_review(principal, review_id)
    (review,) = reviews_of(principal, [item], quotes=True)
    following = open_reviews(principal).exclude(pk=item.pk)
    context: dict[str, Any] = {
        "review": review,
        "left": following.count(),
        "following": following.values_list("pk", flat=True).first(),
        "wording": text or (review.sides[-1].card.text if review.sides else ""),
        "error": error,
    }
    return render(request, "remember/review.html", context, status=400 if error else 200)


def _answer(request: HttpRequest) -> Answer:
    """Raises InvalidInput for a form that no page of ours sent."""
    form = request.POST
    try:
        decision = ReviewDecision(form.get("decision", ""))
        keep = UUID(form["keep"][:_UUID_CHARACTERS]) if form.get("keep") else None
    except ValueError as error:
        raise InvalidInput("decision", "must be one of those on the page.") from error
    return Answer(decision, keep=keep, never_true=form.get("never_true") == "1", text=_text(request).strip())


def _text(request: HttpRequest) -> str:
    return request.POST.get("text", "").replace("\r\n", "\n")

"""Reviews for their owner: contradicting facts and proposed evictions, decisions on them, and undo.

Proposals to forget are listed with them; their card takes the decision (`views/forgetting.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from memories.chat.forgetting import cards_to_settle
from memories.chat.forms import DecisionForm
from memories.chat.presenting import cards_of, member_page, refusal, refusals_shown, tabs_of
from memories.chat.undo_offer import offer_review_undo, taken_offer
from memories.errors import Blocked, Conflict, InvalidInput
from memories.hygiene.sensitivity import findings
from memories.models import ReviewDecision, ReviewItem, ReviewKind
from memories.presenting.lines import SECTIONS
from memories.presenting.memory import details_of, marked_differences, reviewed_rows
from memories.selectors.reviews import UNANSWERED, answered_reviews, get_review, open_reviews, still_open
from memories.services.facts.by_hand import stored_form
from memories.services.reviews.decisions import ReviewChoice, decide, undo_decision
from memories.services.screening import Screen
from memoryhub.redirects import next_address
from tenants.principal import Principal

_QUESTIONS: Mapping[str, str] = {
    ReviewKind.CONTRADICTION: gettext_noop("These two facts contradict each other"),
    ReviewKind.EVICTION: gettext_noop("Is this still needed?"),
    ReviewKind.CORRECTION: gettext_noop("Support proposes a correction"),
}
_SETTLED: Mapping[str, str] = {
    ReviewDecision.KEEP_ONE: gettext_noop("One of them was right. The other one is in the history."),
    ReviewDecision.KEEP_BOTH: gettext_noop("Both are true. You won’t be asked about these two again."),
    ReviewDecision.MERGE: gettext_noop("Neither was right. A new wording replaced both."),
    ReviewDecision.EDIT: gettext_noop("Both were reworded, and both are true."),
    ReviewDecision.EVICT: gettext_noop("It is not recalled any more, and is deleted after 30 days."),
    ReviewDecision.KEEP: gettext_noop("It was kept, and counts as confirmed."),
    ReviewDecision.ACCEPT: gettext_noop("You accepted the correction. The old wording is in the history."),
    ReviewDecision.WITHDRAWN: gettext_noop("No decision is needed any more: these memories have changed since."),
}


@dataclass(frozen=True, slots=True)
class Review:
    """A review with its memories side by side. `settled` describes the decision; empty while it can be decided."""

    item: ReviewItem
    question: str
    sides: Sequence[Mapping[str, Any]]
    settled: str
    can_undo: bool


def reviews_of(principal: Principal, items: Sequence[ReviewItem], *, quotes: bool = False) -> tuple[Review, ...]:
    """The reviews in order, optionally with quotes; the number of queries does not grow with `items`."""
    rows = {item.pk: reviewed_rows(item) for item in items}
    cards = {card.id: card for card in cards_of(principal, [*chain(*rows.values())], quotes=quotes)}
    addressed = {pk: marked_differences([cards[row.pk].addressed for row in each]) for pk, each in rows.items()}
    waiting = still_open(items)
    return tuple(
        Review(
            item,
            _(_QUESTIONS[item.kind]),
            [
                {
                    "card": cards[row.pk],
                    "noun": SECTIONS[row.kind].noun,
                    "told": told,
                    "details": details_of(row),
                }
                for row, told in zip(rows[item.pk], addressed[item.pk], strict=True)
            ],
            settled="" if item.pk in waiting else _(_SETTLED.get(item.decision, _SETTLED[ReviewDecision.WITHDRAWN])),
            can_undo=item.decision not in UNANSWERED,
        )
        for item in items
    )


def first_contradiction(principal: Principal) -> Review | None:
    """The oldest contradiction that waits for the member's decision."""
    items = list(open_reviews(principal).filter(kind=ReviewKind.CONTRADICTION)[:1])
    return next(iter(reviews_of(principal, items)), None)


PAGE_SIZE = 20
SETTLED_SHOWN = 10
_DONE = {
    ReviewDecision.KEEP_ONE: gettext_noop("Decided. The other one is in the history."),
    ReviewDecision.KEEP_BOTH: gettext_noop("Decided. Both are true."),
    ReviewDecision.MERGE: gettext_noop("Decided. Your wording replaced both."),
    ReviewDecision.EDIT: gettext_noop("Decided. Both are kept as you reworded them."),
    ReviewDecision.EVICT: gettext_noop("Decided. It is not recalled any more."),
    ReviewDecision.KEEP: gettext_noop("Kept, and confirmed."),
    ReviewDecision.ACCEPT: gettext_noop("Corrected. You can undo it here."),
}


@member_page()
def listed(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The open reviews, oldest first, and on the first page the open proposals to forget and the latest decisions."""
    page: Page[ReviewItem] = Paginator(open_reviews(principal), PAGE_SIZE).get_page(request.GET.get("page"))
    settled = [] if page.number > 1 else list(answered_reviews(principal)[:SETTLED_SHOWN])
    context: dict[str, Any] = {
        "tabs": tabs_of(principal),
        "page": page,
        "base": "?",
        "cards": [] if page.number > 1 else cards_to_settle(principal),
        "reviews": reviews_of(principal, list(page.object_list)),
        "settled": reviews_of(principal, settled),
        "here": request.get_full_path(),
        "undo_offer": taken_offer(request),
    }
    return render(request, "remember/reviews.html", context)


@member_page()
def show(request: HttpRequest, principal: Principal, review_id: UUID) -> HttpResponse:
    """One review with its memories side by side, or its decision."""
    return _page(request, principal, review_id)


@member_page("POST")
def settle(request: HttpRequest, principal: Principal, review_id: UUID) -> HttpResponse:
    """POST: decide a review. An invalid or blocked text shows the form again with status 400.

    With `next`, a list goes on where it was and offers the undo; else the page of the review does.
    """
    item = get_review(principal, review_id)
    onward = next_address(request, "")
    form = DecisionForm(request.POST)
    try:
        answer = _answer(principal, form)
        decide(principal, item_id=item.pk, answer=answer)
    except InvalidInput as error:
        return _page(request, principal, review_id, text=form.cleaned_data["text"], error=refusal(error, _("The text")))
    except Blocked as error:
        why = findings.refusal(error, to_people=True)
        without = Screen(principal).said(form.cleaned_data["text"]).text
        return _page(request, principal, review_id, text=without, error=why)
    except Conflict as error:
        messages.error(request, str(error))
    else:
        told = _(_DONE[answer.decision])
        if onward:
            offer_review_undo(request, review_id, told)
        else:
            messages.success(request, told)
    return redirect(onward or _address(review_id))


@member_page("POST")
def undo(request: HttpRequest, principal: Principal, review_id: UUID) -> HttpResponse:
    """POST: undo a decision, which restores the memories that it ended and reopens the review."""
    decided = get_review(principal, review_id)
    with refusals_shown(request):
        undo_decision(principal, item_id=review_id)
        messages.success(request, _undone(decided))
    return redirect(next_address(request, _address(review_id)))


def _address(review_id: UUID) -> str:
    return reverse("remember:review", kwargs={"review_id": review_id})


def _undone(decided: ReviewItem) -> str:
    """The result of an undo in a sentence; `decided` is the review before the undo."""
    if decided.decision == ReviewDecision.EVICT:
        if decided.first_id:
            return _("Undone. It is recalled again, counts as confirmed, and needs your decision again.")
        return _("Undone. It is recalled again, and needs your decision again.")
    return _("Undone. Everything is as it was, and needs your decision again.")


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
        "wording": text or (review.sides[-1]["card"].text if review.sides else ""),
        "error": error,
    }
    return render(request, "remember/review.html", context, status=400 if error else 200)


def _answer(principal: Principal, form: DecisionForm) -> ReviewChoice:
    posted = form.values()
    decision = ReviewDecision(posted["decision"])
    text = stored_form(principal, posted["text"].strip())
    return ReviewChoice(decision, keep=posted["keep"], never_true=posted["never_true"], text=text)

"""The offer to undo what a page has just changed, shown once on the next page of the member's memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from django.urls import reverse

from memories.types import Kind

_KEY = "undo_offer"


def offer_undo(request: HttpRequest, kind: Kind, ids: Iterable[UUID], words: str) -> None:
    """Say `words` on the next page, with a button that undoes the change of these memories."""
    url = reverse("remember:change", kwargs={"kind": kind})
    request.session[_KEY] = {"url": url, "ids": [str(each) for each in ids], "words": words}


def offer_review_undo(request: HttpRequest, review_id: UUID, words: str) -> None:
    """Say `words` on the next page, with a button that undoes the decision of this review."""
    request.session[_KEY] = {"url": reverse("remember:review-undo", args=[review_id]), "ids": [], "words": words}


def taken_offer(request: HttpRequest) -> dict[str, Any] | None:
    """The offer, which this page then shows; None if there is none."""
    offer: dict[str, Any] | None = request.session.pop(_KEY, None)
    return offer

"""Reviews: what a machine found in one's own memory and a person decides; and taking a decision back."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.permissions import READ, READ_WRITE
from memories.api.rendering import rendered_all
from memories.api.schema import problems
from memories.api.serializers.reviews import ReviewAnswer, ReviewPage, ReviewSerializer, ReviewsQuery, ReviewUndoing
from memories.api.views.base import ApiView
from memories.models import ReviewItem
from memories.selectors.paging import page_of
from memories.selectors.reviews import answered_reviews, get_review, open_reviews
from memories.services.reviews.decisions import Answer, decide, undo_decision
from tenants.principal import Principal


class ReviewsView(ApiView):
    """What waits for the owner, or was decided."""

    rights = {"GET": READ}

    @extend_schema(operation_id="reviews_list", parameters=[ReviewsQuery], responses={200: ReviewPage, **problems(400)})
    def get(self, request: Request) -> Response:  # noqa: ARG002 - see ApiView.query
        """What is to be decided about one's own memory, oldest first."""
        query = self.query(ReviewsQuery)
        decided = query.pop("decided")
        page = page_of(answered_reviews(self.principal) if decided else open_reviews(self.principal), **query)
        results = [_shown(self.principal, item) for item in page.rows]
        return Response(ReviewPage({"results": results, "next_cursor": page.next_cursor or None}).data)


class ReviewItemView(ApiView):
    """One review."""

    rights = {"GET": READ}

    @extend_schema(operation_id="reviews_read", responses={200: ReviewSerializer, **problems(404)})
    def get(self, request: Request, review_id: UUID) -> Response:  # noqa: ARG002
        """What was found, and the memories that it is about, as they are now."""
        return Response(ReviewSerializer(_shown(self.principal, get_review(self.principal, review_id))).data)


class DecideView(ApiView):
    """An answer."""

    rights = {"POST": READ_WRITE}

    @extend_schema(
        operation_id="reviews_decide",
        request=ReviewAnswer,
        responses={200: ReviewSerializer, **problems(400, 404, 409, 422)},
    )
    def post(self, request: Request, review_id: UUID) -> Response:  # noqa: ARG002 - see ApiView.body
        """Decide, once. 409: it was decided already, or there is nothing to decide any more."""
        get_review(self.principal, review_id)
        decide(self.principal, item_id=review_id, answer=Answer(**self.body(ReviewAnswer)))
        return Response(ReviewSerializer(_shown(self.principal, get_review(self.principal, review_id))).data)


class UndecideView(ApiView):
    """An answer taken back."""

    rights = {"POST": READ_WRITE}

    @extend_schema(
        operation_id="reviews_undo",
        request=ReviewUndoing,
        responses={200: ReviewSerializer, **problems(400, 404, 409, 422)},
    )
    def post(self, request: Request, review_id: UUID) -> Response:  # noqa: ARG002 - see ApiView.body
        """Take a decision back: what it ended is believed again, and the review is open again."""
        get_review(self.principal, review_id)
        undo_decision(self.principal, item_id=review_id, **self.body(ReviewUndoing))
        return Response(ReviewSerializer(_shown(self.principal, get_review(self.principal, review_id))).data)


def _shown(principal: Principal, item: ReviewItem) -> dict[str, Any]:
    rows = [row for row in (item.first, item.second, item.playbook) if row is not None]
    return {
        "id": item.pk,
        "kind": item.kind,
        "reason": item.reason,
        "evidence": item.evidence,
        "memories": rendered_all(principal, rows),
        "decision": item.decision,
        "decided_at": item.decided_at,
        "created_at": item.created_at,
    }

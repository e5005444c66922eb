"""Reviews: what a machine found in one's own memory and a person decides; and taking a decision back.

Consolidation: the runs, a run on demand, and running one again.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.authentication import READ, READ_WRITE
from memories.api.fields import Nothing, PageQuery
from memories.api.schema import problems
from memories.api.serializers.reviews import (
    ConsolidatedSerializer,
    ReviewAnswer,
    ReviewPage,
    ReviewSerializer,
    ReviewsQuery,
    ReviewUndoing,
    RunPage,
    RunSerializer,
)
from memories.api.views.base import ApiView, rendered_all
from memories.models import ReviewItem
from memories.selectors.paging import page_of
from memories.selectors.reviews import answered_reviews, get_review, open_reviews
from memories.selectors.runs import backlog_of, get_run, list_runs
from memories.services.consolidation import consolidate, rerun
from memories.services.reviews.decisions import ReviewChoice, decide, undo_decision
from tenants.principal import Principal


class ReviewsView(ApiView):
    """The owner's reviews, open or decided."""

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
    """Deciding a review."""

    rights = {"POST": READ_WRITE}

    @extend_schema(
        operation_id="reviews_decide",
        request=ReviewAnswer,
        responses={200: ReviewSerializer, **problems(400, 404, 409, 422)},
    )
    def post(self, request: Request, review_id: UUID) -> Response:  # noqa: ARG002 - see ApiView.body
        """Decide, once. 409: it was decided already, or there is nothing to decide any more."""
        get_review(self.principal, review_id)
        decide(self.principal, item_id=review_id, answer=ReviewChoice(**self.body(ReviewAnswer)))
        return Response(ReviewSerializer(_shown(self.principal, get_review(self.principal, review_id))).data)


class UndecideView(ApiView):
    """Undoing a decision."""

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


class RunsView(ApiView):
    """The owner's consolidation runs."""

    rights = {"GET": READ, "POST": READ_WRITE}

    @extend_schema(operation_id="runs_list", parameters=[PageQuery], responses={200: RunPage, **problems(400)})
    def get(self, request: Request) -> Response:  # noqa: ARG002 - see ApiView.query
        """The runs, latest first, and what waits."""
        page = page_of(list_runs(self.principal), **self.query(PageQuery))
        backlog = backlog_of(self.principal)
        return Response(
            RunPage(
                {
                    "waiting": backlog.waiting,
                    "waiting_since": backlog.since,
                    "retry_at": backlog.retry_at,
                    "results": page.rows,
                    "next_cursor": page.next_cursor or None,
                }
            ).data
        )

    @extend_schema(
        operation_id="runs_create", request=Nothing, responses={200: ConsolidatedSerializer, **problems(400, 409)}
    )
    def post(self, request: Request) -> Response:  # noqa: ARG002 - see ApiView.body
        """Consolidate one batch now, without waiting for the rules of the tenant. Answers when it is done."""
        self.body(Nothing)
        return Response(ConsolidatedSerializer(consolidate(self.principal, max_batches=1)).data)


class RunView(ApiView):
    """One run."""

    rights = {"GET": READ}

    @extend_schema(operation_id="runs_read", responses={200: RunSerializer, **problems(404)})
    def get(self, request: Request, run_id: UUID) -> Response:  # noqa: ARG002
        """What a run read and decided, and why."""
        return Response(RunSerializer(get_run(self.principal, run_id)).data)


class RerunView(ApiView):
    """Running a consolidation again."""

    rights = {"POST": READ_WRITE}

    @extend_schema(
        operation_id="runs_rerun", request=Nothing, responses={200: ConsolidatedSerializer, **problems(400, 404, 409)}
    )
    def post(self, request: Request, run_id: UUID) -> Response:  # noqa: ARG002 - see ApiView.body
        """Read the episodes of a run again. What it learned before is known now, so nothing comes twice."""
        self.body(Nothing)
        return Response(ConsolidatedSerializer(rerun(self.principal, run_id)).data)

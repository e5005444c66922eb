"""Views for reviews, consolidation runs, and looks by staff."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from memories.api.authentication import DECIDE, READ, READ_WRITE
from memories.api.fields import EmptyRequest, PageQuery
from memories.api.serializers.reviews import (
    ConsolidationResponse,
    LookPageResponse,
    ReviewDecideRequest,
    ReviewPageResponse,
    ReviewResponse,
    ReviewsQuery,
    ReviewUndoRequest,
    RunPageResponse,
    RunResponse,
)
from memories.api.views.base import ApiView, operation, paged, rendered_all
from memories.models import ConsolidationRun, ReviewItem
from memories.selectors.looks import looks_at
from memories.selectors.paging import page_of
from memories.selectors.reviews import answered_reviews, get_review, open_reviews
from memories.selectors.runs import backlog_of, get_run, list_runs
from memories.services.consolidation import consolidate, rerun
from memories.services.reviews.decisions import ReviewChoice, decide, undo_decision
from memoryhub.env.limits import Bucket
from tenants.principal import Principal

_CALLS_A_MODEL = (Bucket.MODEL_TOKENS,)


class ReviewsView(ApiView):
    """The owner's reviews, open or decided."""

    @operation("reviews_list", READ, query=ReviewsQuery, gives=ReviewPageResponse)
    def get(self, *, decided: bool, **wanted: Any) -> dict[str, Any]:
        """List the owner's reviews, open ones oldest first or decided ones latest first."""
        page = page_of(answered_reviews(self.principal) if decided else open_reviews(self.principal), **wanted)
        return paged(page, [_shown(self.principal, item) for item in page.rows])


class ReviewItemView(ApiView):
    """One review."""

    @operation("reviews_read", READ, gives=ReviewResponse, refuses=(404,))
    def get(self, review_id: UUID) -> dict[str, Any]:
        """Read a review with its memories in their current state."""
        return _shown(self.principal, get_review(self.principal, review_id))


class DecideView(ApiView):
    """Deciding a review."""

    @operation("reviews_decide", DECIDE, takes=ReviewDecideRequest, gives=ReviewResponse, refuses=(404, 409, 422))
    def post(self, review_id: UUID, **answer: Any) -> dict[str, Any]:
        """Decide a review once. 409: it was already decided or withdrawn."""
        get_review(self.principal, review_id)
        decide(self.principal, item_id=review_id, answer=ReviewChoice(**answer))
        return _shown(self.principal, get_review(self.principal, review_id))


class UndecideView(ApiView):
    """Undoing a decision."""

    @operation("reviews_undo", DECIDE, takes=ReviewUndoRequest, gives=ReviewResponse, refuses=(404, 409, 422))
    def post(self, review_id: UUID, **why: Any) -> dict[str, Any]:
        """Revert a decision: memories it ended are active again, and the review reopens."""
        get_review(self.principal, review_id)
        undo_decision(self.principal, item_id=review_id, **why)
        return _shown(self.principal, get_review(self.principal, review_id))


def _shown(principal: Principal, item: ReviewItem) -> dict[str, Any]:
    rows = [row for row in (item.first, item.second, item.playbook) if row is not None]
    same = ("kind", "reason", "proposed", "evidence", "decision", "decided_at", "created_at")
    shown = {name: getattr(item, name) for name in same}
    return shown | {"id": item.pk, "memories": rendered_all(principal, rows)}


class RunsView(ApiView):
    """The owner's consolidation runs."""

    @operation("runs_list", READ, query=PageQuery, gives=RunPageResponse)
    def get(self, **wanted: Any) -> dict[str, Any]:
        """List the runs, latest first, and the waiting episodes."""
        backlog = backlog_of(self.principal)
        waiting = {
            "waiting": backlog.waiting,
            "waiting_since": backlog.since,
            "retry_at": backlog.retry_at,
            "given_up": backlog.given_up,
        }
        return waiting | paged(page_of(list_runs(self.principal), **wanted))

    @operation(
        "runs_create", READ_WRITE, takes=EmptyRequest, gives=ConsolidationResponse, refuses=(409,), also=_CALLS_A_MODEL
    )
    def post(self) -> object:
        """Consolidate one batch now, regardless of the tenant's schedule. Responds when the batch is done."""
        return consolidate(self.principal, max_batches=1)


class RunView(ApiView):
    """One run."""

    @operation("runs_read", READ, gives=RunResponse, refuses=(404,))
    def get(self, run_id: UUID) -> ConsolidationRun:
        """Read the input, decisions and reasons of a run."""
        return get_run(self.principal, run_id)


class RerunView(ApiView):
    """Running a consolidation again."""

    @operation(
        "runs_rerun",
        READ_WRITE,
        takes=EmptyRequest,
        gives=ConsolidationResponse,
        refuses=(404, 409),
        also=_CALLS_A_MODEL,
    )
    def post(self, run_id: UUID) -> object:
        """Reprocess the episodes of a run. Facts learned before are recognized, so nothing is duplicated."""
        return rerun(self.principal, run_id)


class LooksView(ApiView):
    """Who looked at the owner's memory."""

    @operation("looks_list", READ, query=PageQuery, gives=LookPageResponse)
    def get(self, **wanted: Any) -> dict[str, Any]:
        """List when staff looked at the owner's memory or took it along, latest first, and the reasons they stated."""
        found, following = looks_at(self.principal, **wanted)
        return {"results": found, "next_cursor": following or None}

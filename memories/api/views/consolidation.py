"""Consolidation: the runs, a run on demand, and running one again."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.permissions import READ, READ_WRITE
from memories.api.schema import problems
from memories.api.serializers.common import Nothing, PageQuery
from memories.api.serializers.consolidation import ConsolidatedSerializer, RunPage, RunSerializer
from memories.api.views.base import ApiView
from memories.selectors.paging import page_of
from memories.selectors.runs import backlog_of, get_run, list_runs
from memories.services.consolidation import consolidate, rerun


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
    """A run, once more."""

    rights = {"POST": READ_WRITE}

    @extend_schema(
        operation_id="runs_rerun", request=Nothing, responses={200: ConsolidatedSerializer, **problems(400, 404, 409)}
    )
    def post(self, request: Request, run_id: UUID) -> Response:  # noqa: ARG002 - see ApiView.body
        """Read the episodes of a run again. What it learned before is known now, so nothing comes twice."""
        self.body(Nothing)
        return Response(ConsolidatedSerializer(rerun(self.principal, run_id)).data)

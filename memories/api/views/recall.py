"""Recall: the memories that answer a question best."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.authentication import READ
from memories.api.http import recalled
from memories.api.schema import problems
from memories.api.serializers.recall import RecallQuestion, RecallSerializer
from memories.api.views.base import ApiView
from memories.recall.pipeline import recall
from memories.selectors.sessions import get_session


class RecallView(ApiView):
    """A question to the owner's memory."""

    rights = {"POST": READ}

    @extend_schema(
        operation_id="recall", request=RecallQuestion, responses={200: RecallSerializer, **problems(400, 404)}
    )
    def post(self, request: Request) -> Response:  # noqa: ARG002 - see ApiView.body
        """What is remembered that bears on a question, best first. Leaves a trace; `use_count` of facts rises."""
        asked = self.body(RecallQuestion)
        if asked["session_id"]:
            get_session(self.principal, asked["session_id"])
        answer = recall(self.principal, **asked)
        return Response(
            RecallSerializer(
                {
                    "trace_id": answer.trace_id,
                    "query": answer.query,
                    "degraded": answer.degraded,
                    "took_ms": round(answer.took_ms, 1),
                    "as_of": answer.as_of,
                    "items": recalled(answer),
                }
            ).data
        )

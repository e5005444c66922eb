"""Whether a playbook worked."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.permissions import READ_WRITE
from memories.api.rendering import own_memory, written
from memories.api.schema import problems
from memories.api.serializers.memories import Written
from memories.api.serializers.outcomes import Outcome
from memories.api.views.base import ApiView
from memories.errors import Conflict
from memories.services.outcomes import record_outcome
from memories.types import Kind, WriteResult


class OutcomeView(ApiView):
    """A playbook that was followed."""

    rights = {"POST": READ_WRITE}

    @extend_schema(
        operation_id="memories_outcome",
        request=Outcome,
        responses={200: Written, 201: Written, **problems(400, 404, 409, 422)},
    )
    def post(self, request: Request, memory_id: UUID) -> Response:  # noqa: ARG002 - see ApiView.body
        """Say whether it worked. 200: it is counted; 201: other steps took the place of the old ones besides."""
        fields = self.body(Outcome)
        if own_memory(self.principal, memory_id).kind is not Kind.PROCEDURAL:
            raise Conflict("Only playbooks work or fail.")
        outcome = record_outcome(self.principal, playbook_id=memory_id, **fields)
        return Response(
            written(self.principal, outcome), status=201 if outcome.result is WriteResult.SUPERSEDED else 200
        )

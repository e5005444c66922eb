"""Memories whose time is over, or might be: what to review, that it still holds, and that it is to come back."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.permissions import READ, READ_WRITE
from memories.api.rendering import memory_to_change, rendered, rendered_all
from memories.api.schema import problems
from memories.api.serializers.endings import Confirmation, Restoration, ReviewList, ReviewQuery
from memories.api.serializers.memories import ANY_MEMORY
from memories.api.views.base import ApiView
from memories.errors import Conflict
from memories.selectors.memories import get_memory
from memories.selectors.reviews import facts_to_review
from memories.services.retention.dates import confirm_fact
from memories.services.retention.restore import restore
from memories.types import Kind


class ReviewView(ApiView):
    """Facts that nobody has confirmed for long."""

    rights = {"GET": READ}

    @extend_schema(
        operation_id="memories_review", parameters=[ReviewQuery], responses={200: ReviewList, **problems(400)}
    )
    def get(self, request: Request) -> Response:  # noqa: ARG002 - see ApiView.query
        """Facts to ask their owner about, those that were confirmed longest ago first. Listing changes nothing."""
        facts = facts_to_review(self.principal, **self.query(ReviewQuery))
        return Response({"results": rendered_all(self.principal, facts)})


class ConfirmView(ApiView):
    """A fact that still holds."""

    rights = {"POST": READ_WRITE}

    @extend_schema(
        operation_id="memories_confirm",
        request=Confirmation,
        responses={200: ANY_MEMORY, **problems(400, 404, 409, 422)},
    )
    def post(self, request: Request, memory_id: UUID) -> Response:  # noqa: ARG002 - see ApiView.body
        """Say that a fact still holds: its dates begin anew, and a stale one counts in full again."""
        fields = self.body(Confirmation)
        if memory_to_change(self.principal, memory_id).kind is not Kind.SEMANTIC:
            raise Conflict("Only facts are confirmed.")
        confirm_fact(self.principal, fact_id=memory_id, **fields)
        return Response(rendered(self.principal, get_memory(self.principal, Kind.SEMANTIC, memory_id)))


class RestoreView(ApiView):
    """A memory that was evicted or archived."""

    rights = {"POST": READ_WRITE}

    @extend_schema(
        operation_id="memories_restore",
        request=Restoration,
        responses={200: ANY_MEMORY, **problems(400, 404, 409, 422)},
    )
    def post(self, request: Request, memory_id: UUID) -> Response:  # noqa: ARG002
        """Undo what the collection did to a memory, unless it has been erased since."""
        fields = self.body(Restoration)
        kind = memory_to_change(self.principal, memory_id).kind
        restore(self.principal, kind=kind, memory_id=memory_id, **fields)
        return Response(rendered(self.principal, get_memory(self.principal, kind, memory_id)))

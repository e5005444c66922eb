"""What may be said of a memory: that it was wrong, has changed, is over, came back, matters, or holds for more.

Memories whose time is over, or might be: what to review, that it still holds, and that it is to come back.

Whether a playbook worked.
"""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.authentication import READ, READ_WRITE
from memories.api.http import memory_to_change, own_memory, rendered, rendered_all, written
from memories.api.schema import problems
from memories.api.serializers.memories import (
    ANY_MEMORY,
    Confirmation,
    Correction,
    Outcome,
    Pin,
    Promotion,
    Replacement,
    Restoration,
    Retirement,
    ReviewList,
    ReviewQuery,
    Undoing,
    Written,
)
from memories.api.views.base import ApiView
from memories.errors import Conflict
from memories.selectors.memories import get_memory
from memories.selectors.reviews import facts_to_review
from memories.services.facts.promote import promote
from memories.services.facts.remember import pin_fact
from memories.services.facts.supersede import correct, retire, supersede
from memories.services.facts.undo import undo
from memories.services.outcomes import record_outcome
from memories.services.retention.dates import confirm_fact
from memories.services.retention.restore import restore
from memories.types import Kind, WriteResult


class CorrectView(ApiView):
    """A memory that was wrong."""

    rights = {"POST": READ_WRITE}

    @extend_schema(
        operation_id="memories_correct", request=Correction, responses={201: Written, **problems(400, 404, 409, 422)}
    )
    def post(self, request: Request, memory_id: UUID) -> Response:  # noqa: ARG002 - see ApiView.body
        """Say what is right instead, also of one that was replaced. The old one stays in the history as never true."""
        fields = self.body(Correction)
        kind = memory_to_change(self.principal, memory_id).kind
        outcome = correct(self.principal, kind=kind, memory_id=memory_id, **fields)
        return Response(written(self.principal, outcome), status=201)


class SupersedeView(ApiView):
    """Facts that something else took the place of."""

    rights = {"POST": READ_WRITE}

    @extend_schema(
        operation_id="memories_supersede", request=Replacement, responses={201: Written, **problems(400, 404, 409, 422)}
    )
    def post(self, request: Request, memory_id: UUID) -> Response:  # noqa: ARG002
        """Replace a fact, and others if need be, by a new one. The old ones stay in the history."""
        fields = self.body(Replacement)
        if memory_to_change(self.principal, memory_id).kind is not Kind.SEMANTIC:
            raise Conflict("Only facts are superseded so; store a new playbook that names this one in supersedes_ids.")
        old_ids = (memory_id, *fields.pop("also_ids"))
        return Response(written(self.principal, supersede(self.principal, old_ids=old_ids, **fields)), status=201)


class RetireView(ApiView):
    """A memory that is no longer true."""

    rights = {"POST": READ_WRITE}

    @extend_schema(
        operation_id="memories_retire", request=Retirement, responses={200: Written, **problems(400, 404, 409, 422)}
    )
    def post(self, request: Request, memory_id: UUID) -> Response:  # noqa: ARG002
        """Say that it is over (harsh: never was) and nothing takes its place. It stays in the history, not recalled."""
        fields = self.body(Retirement)
        kind = memory_to_change(self.principal, memory_id).kind
        outcome = retire(self.principal, kind=kind, memory_id=memory_id, **fields)
        return Response(written(self.principal, outcome))


class UndoView(ApiView):
    """A memory that was replaced or retired by mistake, or took the place of others by mistake."""

    rights = {"POST": READ_WRITE}

    @extend_schema(
        operation_id="memories_undo", request=Undoing, responses={201: Written, **problems(400, 404, 409, 422)}
    )
    def post(self, request: Request, memory_id: UUID) -> Response:  # noqa: ARG002
        """Bring back, as a new memory, what it replaced, or itself if it was replaced or retired.

        What took the place by mistake stays in the history as never true. An undo can be undone.
        """
        fields = self.body(Undoing)
        kind = memory_to_change(self.principal, memory_id).kind
        outcome = undo(self.principal, kind=kind, memory_id=memory_id, **fields)
        return Response(written(self.principal, outcome), status=201)


class PromoteView(ApiView):
    """A memory that holds for more than it was said for."""

    rights = {"POST": READ_WRITE}

    @extend_schema(
        operation_id="memories_promote",
        request=Promotion,
        responses={200: Written, 201: Written, **problems(400, 404, 409, 422)},
    )
    def post(self, request: Request, memory_id: UUID) -> Response:  # noqa: ARG002
        """Copy it into a wider scope, where it lives on its own. 200: it was known there."""
        fields = self.body(Promotion)
        kind = own_memory(self.principal, memory_id).kind
        outcome = promote(self.principal, kind=kind, memory_id=memory_id, **fields)
        return Response(written(self.principal, outcome), status=200 if outcome.result is WriteResult.MERGED else 201)


class PinView(ApiView):
    """A fact that matters."""

    rights = {"POST": READ_WRITE}

    @extend_schema(operation_id="memories_pin", request=Pin, responses={200: ANY_MEMORY, **problems(400, 404, 409)})
    def post(self, request: Request, memory_id: UUID) -> Response:  # noqa: ARG002
        """Put a fact first and into every prompt, or no longer."""
        fields = self.body(Pin)
        memory = own_memory(self.principal, memory_id)
        if memory.kind is not Kind.SEMANTIC:
            raise Conflict("Only facts can be pinned.")
        pin_fact(self.principal, fact_id=memory_id, **fields)
        return Response(rendered(self.principal, get_memory(self.principal, memory.kind, memory_id)))


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

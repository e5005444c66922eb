"""Memories: list, create, read, change, confirm, forget and recall them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.authentication import READ, READ_WRITE
from memories.api.fields import StrictSerializer
from memories.api.http import memory_to_change, own_memory, recalled, rendered, rendered_all, written
from memories.api.schema import problems
from memories.api.serializers.common import Forgotten, forgotten
from memories.api.serializers.memories import (
    ANY_MEMORY,
    ANY_NEW_MEMORY,
    NEW_MEMORY_SERIALIZERS,
    ChainSerializer,
    Confirmation,
    CorrectionSerializer,
    ForgetQuery,
    MemoriesQuery,
    MemoryPage,
    OutcomeSerializer,
    Pin,
    Promotion,
    RecallQuestion,
    RecallSerializer,
    Replacement,
    Restoration,
    Retirement,
    ReviewList,
    ReviewQuery,
    Undoing,
    WrittenSerializer,
)
from memories.api.views.base import ApiView
from memories.errors import Conflict
from memories.recall.pipeline import recall
from memories.selectors.memories import chain_of, find_memory, get_memory, list_memories
from memories.selectors.paging import page_of
from memories.selectors.reviews import facts_to_review
from memories.selectors.sessions import get_session
from memories.services.catalog import remember_catalog_entry
from memories.services.erasure.forget import forget
from memories.services.facts.promote import promote
from memories.services.facts.remember import pin_fact, remember_fact
from memories.services.facts.supersede import correct, retire, supersede
from memories.services.facts.undo import undo
from memories.services.playbooks import record_outcome, remember_playbook
from memories.services.retention.dates import confirm_fact
from memories.services.retention.restore import restore
from memories.services.sessions.episodes import remember_episode
from memories.types import Kind, WriteOutcome, WriteResult
from tenants.principal import Principal

_REFUSED = problems(400, 404, 409, 422)
# The status of a write's answer: 201 if something new is stored, else 200.
_STATUS = dict.fromkeys((WriteResult.CREATED, WriteResult.SUPERSEDED, WriteResult.QUEUED_FOR_REVIEW), 201)


class MemoriesView(ApiView):
    """The owner's memories."""

    rights = {"GET": READ, "POST": READ_WRITE}

    @extend_schema(
        operation_id="memories_list", parameters=[MemoriesQuery], responses={200: MemoryPage, **problems(400)}
    )
    def get(self, request: Request) -> Response:  # noqa: ARG002 - see ApiView.query
        """Memories of one kind: facts and episodes newest first, playbooks and the catalog by title."""
        wanted = self.query(MemoriesQuery)
        limit, cursor, kind = wanted.pop("limit"), wanted.pop("cursor"), wanted.pop("kind")
        rows = list_memories(self.principal, kind, query=wanted.pop("q"), session_id=wanted.pop("session"), **wanted)
        page = page_of(rows, limit=limit, cursor=cursor)
        return Response({"results": rendered_all(self.principal, page.rows), "next_cursor": page.next_cursor or None})

    @extend_schema(
        operation_id="memories_create",
        request=ANY_NEW_MEMORY,
        responses={200: WrittenSerializer, 201: WrittenSerializer, **_REFUSED},
    )
    def post(self, request: Request) -> Response:
        """Store a memory. 201: it is new; 200: it was known, and merged into what is there."""
        kind = _kind_of(request.data)
        fields = self.body(NEW_MEMORY_SERIALIZERS[kind])
        fields.pop("kind")
        outcome = _remember(self.principal, kind, fields)
        return Response(written(self.principal, outcome), status=_STATUS.get(outcome.result, 200))


class MemoryItemView(ApiView):
    """One memory."""

    rights = {"GET": READ, "DELETE": READ_WRITE}

    @extend_schema(operation_id="memories_read", responses={200: ANY_MEMORY, **problems(404)})
    def get(self, request: Request, memory_id: UUID) -> Response:  # noqa: ARG002
        """A memory, whatever its kind and status."""
        return Response(rendered(self.principal, find_memory(self.principal, memory_id)))

    @extend_schema(
        operation_id="memories_forget", parameters=[ForgetQuery], responses={200: Forgotten, **problems(400, 404)}
    )
    def delete(self, request: Request, memory_id: UUID) -> Response:  # noqa: ARG002
        """Erase a memory for good, with every copy of its words. To say that it is no longer true, retire it."""
        reach = self.query(ForgetQuery)
        kind = own_memory(self.principal, memory_id).kind
        return Response(forgotten(forget(self.principal, kind=kind, memory_id=memory_id, **reach)))


class ChainView(ApiView):
    """The history of one memory."""

    rights = {"GET": READ}

    @extend_schema(operation_id="memories_chain", responses={200: ChainSerializer, **problems(404)})
    def get(self, request: Request, memory_id: UUID) -> Response:  # noqa: ARG002
        """Every state linked to it by supersession, oldest first."""
        kind = find_memory(self.principal, memory_id).kind
        return Response(ChainSerializer({"links": chain_of(self.principal, kind, memory_id)}).data)


def _kind_of(data: object) -> Kind:
    """Which kind of memory a body is; whatever else is wrong with it is said by that kind's shape."""
    named = data.get("kind", Kind.SEMANTIC) if isinstance(data, dict) else Kind.SEMANTIC
    try:
        return Kind(named)
    except (TypeError, ValueError):
        return Kind.SEMANTIC


def _remember(principal: Principal, kind: Kind, fields: dict[str, Any]) -> WriteOutcome:
    match kind:
        case Kind.EPISODIC:
            return remember_episode(principal, **fields | {"speaker": fields["speaker"] or principal.speaker})
        case Kind.SEMANTIC:
            return remember_fact(principal, **fields)
        case Kind.PROCEDURAL:
            return remember_playbook(principal, **fields)
        case Kind.CATALOG:
            return remember_catalog_entry(principal, **fields)


class ChangeView(ApiView):
    """A change of one memory."""

    rights = {"POST": READ_WRITE}

    def change(
        self, command: Callable[..., WriteOutcome], shape: type[StrictSerializer], memory_id: UUID, *, status: int
    ) -> Response:
        """Run a command for memories of any kind, with the fields of the body."""
        fields = self.body(shape)
        kind = memory_to_change(self.principal, memory_id).kind
        outcome = command(self.principal, kind=kind, memory_id=memory_id, **fields)
        return Response(written(self.principal, outcome), status=status)


class CorrectView(ChangeView):
    """Correcting a memory that was wrong."""

    @extend_schema(
        operation_id="memories_correct",
        request=CorrectionSerializer,
        responses={201: WrittenSerializer, **_REFUSED},
    )
    def post(self, request: Request, memory_id: UUID) -> Response:  # noqa: ARG002 - see ApiView.body
        """Say what is right instead, also of one that was replaced. The old one stays in the history as never true."""
        return self.change(correct, CorrectionSerializer, memory_id, status=201)


class SupersedeView(ChangeView):
    """Replacing facts."""

    @extend_schema(
        operation_id="memories_supersede",
        request=Replacement,
        responses={201: WrittenSerializer, **_REFUSED},
    )
    def post(self, request: Request, memory_id: UUID) -> Response:  # noqa: ARG002
        """Replace a fact, and others if need be, by a new one. The old ones stay in the history."""
        fields = self.body(Replacement)
        if memory_to_change(self.principal, memory_id).kind is not Kind.SEMANTIC:
            raise Conflict(
                "This memory is no fact; a playbook is replaced by a new one that names it in supersedes_ids."
            )
        old_ids = (memory_id, *fields.pop("also_ids"))
        return Response(written(self.principal, supersede(self.principal, old_ids=old_ids, **fields)), status=201)


class RetireView(ChangeView):
    """Ending a memory that is no longer true."""

    @extend_schema(
        operation_id="memories_retire",
        request=Retirement,
        responses={200: WrittenSerializer, **_REFUSED},
    )
    def post(self, request: Request, memory_id: UUID) -> Response:  # noqa: ARG002
        """Say that it is over (harsh: never was) and nothing takes its place. It stays in the history, not recalled."""
        return self.change(retire, Retirement, memory_id, status=200)


class UndoView(ChangeView):
    """Undoing a replacement or an end that was a mistake."""

    @extend_schema(
        operation_id="memories_undo",
        request=Undoing,
        responses={201: WrittenSerializer, **_REFUSED},
    )
    def post(self, request: Request, memory_id: UUID) -> Response:  # noqa: ARG002
        """Bring back, as a new memory, what it replaced, or itself if it was replaced or retired.

        What took the place by mistake stays in the history as never true. An undo can be undone.
        """
        return self.change(undo, Undoing, memory_id, status=201)


class PromoteView(ChangeView):
    """Copying a memory into a wider scope."""

    @extend_schema(
        operation_id="memories_promote",
        request=Promotion,
        responses={200: WrittenSerializer, 201: WrittenSerializer, **_REFUSED},
    )
    def post(self, request: Request, memory_id: UUID) -> Response:  # noqa: ARG002
        """Copy it into a wider scope, where it lives on its own. 200: it was known there."""
        fields = self.body(Promotion)
        kind = own_memory(self.principal, memory_id).kind
        outcome = promote(self.principal, kind=kind, memory_id=memory_id, **fields)
        return Response(written(self.principal, outcome), status=200 if outcome.result is WriteResult.MERGED else 201)


class PinView(ChangeView):
    """Pinning a fact."""

    @extend_schema(operation_id="memories_pin", request=Pin, responses={200: ANY_MEMORY, **problems(400, 404, 409)})
    def post(self, request: Request, memory_id: UUID) -> Response:  # noqa: ARG002
        """Put a fact first and into every prompt, or no longer."""
        fields = self.body(Pin)
        memory = own_memory(self.principal, memory_id)
        if memory.kind is not Kind.SEMANTIC:
            raise Conflict("This memory is no fact; only facts can be pinned.")
        pin_fact(self.principal, fact_id=memory_id, **fields)
        return Response(rendered(self.principal, get_memory(self.principal, memory.kind, memory_id)))


class ReviewView(ApiView):
    """The facts that have not been confirmed for long."""

    rights = {"GET": READ}

    @extend_schema(
        operation_id="memories_review", parameters=[ReviewQuery], responses={200: ReviewList, **problems(400)}
    )
    def get(self, request: Request) -> Response:  # noqa: ARG002 - see ApiView.query
        """Facts to ask their owner about, those that were confirmed longest ago first. Listing changes nothing."""
        facts = facts_to_review(self.principal, **self.query(ReviewQuery))
        return Response({"results": rendered_all(self.principal, facts)})


class ConfirmView(ChangeView):
    """Confirming a fact."""

    @extend_schema(
        operation_id="memories_confirm",
        request=Confirmation,
        responses={200: ANY_MEMORY, **_REFUSED},
    )
    def post(self, request: Request, memory_id: UUID) -> Response:  # noqa: ARG002 - see ApiView.body
        """Say that a fact still holds: its dates begin anew, and a stale one counts in full again."""
        fields = self.body(Confirmation)
        if memory_to_change(self.principal, memory_id).kind is not Kind.SEMANTIC:
            raise Conflict("This memory is no fact; only facts are confirmed.")
        confirm_fact(self.principal, fact_id=memory_id, **fields)
        return Response(rendered(self.principal, get_memory(self.principal, Kind.SEMANTIC, memory_id)))


class RestoreView(ChangeView):
    """Restoring an evicted or archived memory."""

    @extend_schema(
        operation_id="memories_restore",
        request=Restoration,
        responses={200: ANY_MEMORY, **_REFUSED},
    )
    def post(self, request: Request, memory_id: UUID) -> Response:  # noqa: ARG002
        """Undo what the collection did to a memory, unless it has been erased since."""
        fields = self.body(Restoration)
        kind = memory_to_change(self.principal, memory_id).kind
        restore(self.principal, kind=kind, memory_id=memory_id, **fields)
        return Response(rendered(self.principal, get_memory(self.principal, kind, memory_id)))


class OutcomeView(ChangeView):
    """Reporting the outcome of a playbook."""

    @extend_schema(
        operation_id="memories_outcome",
        request=OutcomeSerializer,
        responses={200: WrittenSerializer, 201: WrittenSerializer, **_REFUSED},
    )
    def post(self, request: Request, memory_id: UUID) -> Response:  # noqa: ARG002 - see ApiView.body
        """Say whether it worked. 200: it is counted; 201: other steps took the place of the old ones besides."""
        fields = self.body(OutcomeSerializer)
        if own_memory(self.principal, memory_id).kind is not Kind.PROCEDURAL:
            raise Conflict("This memory is no playbook; only playbooks have outcomes.")
        outcome = record_outcome(self.principal, playbook_id=memory_id, **fields)
        return Response(
            written(self.principal, outcome), status=201 if outcome.result is WriteResult.SUPERSEDED else 200
        )


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

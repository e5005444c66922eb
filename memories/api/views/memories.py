"""Memories: list, create, read, forget. What else may be done to one of them is in `views/changes.py`."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.authentication import READ, READ_WRITE
from memories.api.http import own_memory, rendered, rendered_all, written
from memories.api.schema import problems
from memories.api.serializers.common import Forgotten, forgotten
from memories.api.serializers.memories import (
    ANY_MEMORY,
    ANY_NEW_MEMORY,
    NEW_MEMORY_SERIALIZERS,
    ChainSerializer,
    ForgetQuery,
    MemoriesQuery,
    MemoryPage,
    Written,
)
from memories.api.views.base import ApiView
from memories.selectors.memories import chain_of, find_memory, list_memories
from memories.selectors.paging import page_of
from memories.services.catalog import remember_catalog_entry
from memories.services.erasure.forget import forget
from memories.services.facts.remember import remember_fact
from memories.services.playbooks import remember_playbook
from memories.services.sessions.episodes import remember_episode
from memories.types import Kind, WriteOutcome, WriteResult
from tenants.principal import Principal

# What a write answers with: something new is there, or all was there already.
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
        responses={200: Written, 201: Written, **problems(400, 404, 409, 422)},
    )
    def post(self, request: Request) -> Response:
        """Store a memory. 201: it is new; 200: it was known, and merged into what is there."""
        kind = _kind_of(request.data)
        fields = self.body(NEW_MEMORY_SERIALIZERS[kind])
        fields.pop("kind")
        outcome = _remember(self.principal, kind, fields)
        return Response(written(self.principal, outcome), status=_STATUS.get(outcome.result, 200))


class MemoryView(ApiView):
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

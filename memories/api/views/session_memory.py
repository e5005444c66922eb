"""What a session keeps while it lives: its working memory, a search within it, and its end."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.permissions import READ, READ_WRITE
from memories.api.schema import problems
from memories.api.serializers.session_memory import (
    EndedSerializer,
    EndSession,
    EntriesQuery,
    FoundPage,
    WorkingMemoryChange,
    WorkingMemorySerializer,
    ended_shown,
    slot_changes,
    slots_shown,
)
from memories.api.views.base import ApiView
from memories.selectors.session_memory import search_session, working_memory
from memories.services.sessions.entries import end_session
from memories.services.sessions.working_memory import set_slots


class WorkingMemoryView(ApiView):
    """The working memory of a session."""

    rights = {"GET": READ, "PATCH": READ_WRITE}

    @extend_schema(operation_id="working_memory_read", responses={200: WorkingMemorySerializer, **problems(404)})
    def get(self, request: Request, session_id: UUID) -> Response:  # noqa: ARG002 - the framework's signature
        """Goal, plan, constraints, observations and scratchpad."""
        return Response(slots_shown(working_memory(self.principal, session_id)))

    @extend_schema(
        operation_id="working_memory_set",
        request=WorkingMemoryChange,
        responses={200: WorkingMemorySerializer, **problems(400, 404)},
    )
    def patch(self, request: Request, session_id: UUID) -> Response:  # noqa: ARG002 - see ApiView.body
        """Set the slots that are named."""
        changes = slot_changes(self.body(WorkingMemoryChange))
        return Response(slots_shown(set_slots(self.principal, session_id=session_id, changes=changes)))


class SessionEntriesView(ApiView):
    """What a session holds."""

    rights = {"GET": READ}

    @extend_schema(
        operation_id="session_entries", parameters=[EntriesQuery], responses={200: FoundPage, **problems(400, 404)}
    )
    def get(self, request: Request, session_id: UUID) -> Response:  # noqa: ARG002 - see ApiView.query
        """Search the turns, tools and entries of one session; without words, its latest entries."""
        wanted = self.query(EntriesQuery)
        found = search_session(self.principal, session_id, wanted["q"], limit=wanted["limit"])
        return Response(FoundPage({"results": found}).data)


class EndSessionView(ApiView):
    """The end of a task, or of a session."""

    rights = {"POST": READ_WRITE}

    @extend_schema(
        operation_id="session_end", request=EndSession, responses={200: EndedSerializer, **problems(400, 404)}
    )
    def post(self, request: Request, session_id: UUID) -> Response:  # noqa: ARG002 - see ApiView.body
        """Propose what mattered as lasting memory, and empty the working memory. The session may go on."""
        return Response(ended_shown(end_session(self.principal, session_id=session_id, **self.body(EndSession))))

"""Sessions: list, open, read, rename, forget; their working memory and end; and their turns.

A turn is answered whole as JSON or, if asked for, as server-sent events. The user's message is stored before the first
byte of an answer; whoever hangs up cuts the answer off, and what was streamed until then is kept.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from memories.agent.events import CONTENT_TYPE, frames
from memories.agent.loop import run_turn
from memories.api.authentication import CONVERSE, READ, READ_WRITE, WRITE
from memories.api.http import whole_answer
from memories.api.schema import problems
from memories.api.serializers.common import CascadeQuery, Forgotten, PageQuery, forgotten
from memories.api.serializers.sessions import (
    AnswerSerializer,
    EndedSerializer,
    EndSession,
    EntriesQuery,
    FoundPage,
    NewSession,
    NewTurn,
    SessionPage,
    SessionSerializer,
    SessionTitle,
    TranscriptQuery,
    TranscriptSerializer,
    TurnSerializer,
    WorkingMemoryChange,
    WorkingMemorySerializer,
    ended_shown,
    slot_changes,
    slots_shown,
)
from memories.api.views.base import ApiView
from memories.selectors.paging import page_of
from memories.selectors.session_memory import search_session, working_memory
from memories.selectors.sessions import get_session, list_sessions, transcript
from memories.services.erasure.forget import forget_session
from memories.services.sessions.sessions import end_session, rename_session, start_session
from memories.services.sessions.working_memory import set_slots


class SessionsView(ApiView):
    """The owner's sessions."""

    rights = {"GET": READ, "POST": WRITE}

    @extend_schema(operation_id="sessions_list", parameters=[PageQuery], responses={200: SessionPage, **problems(400)})
    def get(self, request: Request) -> Response:  # noqa: ARG002 - see ApiView.query
        """The sessions, latest first."""
        page = page_of(list_sessions(self.principal), **self.query(PageQuery))
        return Response(SessionPage({"results": page.rows, "next_cursor": page.next_cursor or None}).data)

    @extend_schema(
        operation_id="sessions_create", request=NewSession, responses={201: SessionSerializer, **problems(400)}
    )
    def post(self, request: Request) -> Response:  # noqa: ARG002 - see ApiView.body
        """Open a session."""
        session = start_session(self.principal, **self.body(NewSession))
        return Response(SessionSerializer(session).data, status=201)


class SessionView(ApiView):
    """One session."""

    rights = {"GET": READ, "PATCH": WRITE, "DELETE": WRITE}

    @extend_schema(
        operation_id="sessions_read",
        parameters=[TranscriptQuery],
        responses={200: TranscriptSerializer, **problems(400, 404)},
    )
    def get(self, request: Request, session_id: UUID) -> Response:  # noqa: ARG002
        """A session with its latest turns."""
        wanted = self.query(TranscriptQuery)
        session = get_session(self.principal, session_id)
        turns = transcript(self.principal, session_id, **wanted)
        earlier = turns[0].turn if turns and turns[0].turn > 1 else None
        return Response(
            {**SessionSerializer(session).data, "turns": TurnSerializer(turns, many=True).data, "earlier": earlier}
        )

    @extend_schema(
        operation_id="sessions_rename", request=SessionTitle, responses={200: SessionSerializer, **problems(400, 404)}
    )
    def patch(self, request: Request, session_id: UUID) -> Response:  # noqa: ARG002
        """Give a session another title."""
        session = rename_session(self.principal, session_id=session_id, **self.body(SessionTitle))
        return Response(SessionSerializer(session).data)

    @extend_schema(
        operation_id="sessions_forget",
        parameters=[CascadeQuery],
        responses={200: Forgotten, **problems(400, 404)},
    )
    def delete(self, request: Request, session_id: UUID) -> Response:  # noqa: ARG002
        """Erase a session for good: its transcript, its episodes and its recalls."""
        outcome = forget_session(self.principal, session_id=session_id, **self.query(CascadeQuery))
        return Response(forgotten(outcome))


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
    """Searching a session."""

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
    """Ending a task or a session."""

    rights = {"POST": READ_WRITE}

    @extend_schema(
        operation_id="session_end", request=EndSession, responses={200: EndedSerializer, **problems(400, 404)}
    )
    def post(self, request: Request, session_id: UUID) -> Response:  # noqa: ARG002 - see ApiView.body
        """Propose what mattered as lasting memory, and empty the working memory. The session may go on."""
        return Response(ended_shown(end_session(self.principal, session_id=session_id, **self.body(EndSession))))


class EventStreamRenderer(BaseRenderer):
    """Makes `Accept: text/event-stream` a type that can be asked for; the stream is its own response."""

    media_type = "text/event-stream"
    format = "sse"
    charset = None

    def render(self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None) -> bytes:  # noqa: ARG002
        """Nothing is rendered here."""
        return b""


class AnsweringView(ApiView):
    """What both addresses of a turn do."""

    rights = {"POST": CONVERSE}
    renderer_classes = [JSONRenderer, EventStreamRenderer]

    def answer(self, session_id: UUID | None) -> HttpResponseBase:
        """Take a turn and answer it in the form that was asked for."""
        said = self.body(NewTurn)
        events = run_turn(
            self.principal,
            text=said["message"],
            session_id=session_id,
            turn_id=said["turn_id"],
            retry=said["retry"],
        )
        if self.request.accepted_renderer.format != EventStreamRenderer.format:
            return Response(AnswerSerializer(whole_answer(events)).data)
        response = StreamingHttpResponse(frames(events), content_type=CONTENT_TYPE)
        response.headers["X-Accel-Buffering"] = "no"
        return response


class NewSessionTurnsView(AnsweringView):
    """Turns that open a session of their own."""

    @extend_schema(
        operation_id="turn_start",
        request=NewTurn,
        responses={
            (200, "application/json"): AnswerSerializer,
            (200, "text/event-stream"): str,
            **problems(400, 409, 502),
        },
    )
    def post(self, request: Request) -> HttpResponseBase:  # noqa: ARG002 - see ApiView.body
        """Say something in a new session."""
        return self.answer(None)


class SessionTurnsView(AnsweringView):
    """Turns of a session."""

    @extend_schema(
        operation_id="turn_continue",
        request=NewTurn,
        responses={
            (200, "application/json"): AnswerSerializer,
            (200, "text/event-stream"): str,
            **problems(400, 404, 409, 502),
        },
    )
    def post(self, request: Request, session_id: UUID) -> HttpResponseBase:  # noqa: ARG002 - see ApiView.body
        """Say something in a session."""
        return self.answer(session_id)

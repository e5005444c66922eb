"""Sessions: list, open, read, rename, forget; their working memory and end; and their turns.

A turn is answered whole as JSON or, if asked for, as server-sent events. The user's message is stored before the first
byte of an answer; whoever hangs up cuts the answer off, and what was streamed until then is kept.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.response import Response

from memories.agent.events import CONTENT_TYPE, frames
from memories.agent.loop import run_turn
from memories.api.authentication import CONVERSE, READ, READ_WRITE, WRITE
from memories.api.fields import CascadeQuery, Forgotten, PageQuery, forgotten
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
from memories.api.views.base import ApiView, operation, paged, whole_answer
from memories.models import Session
from memories.selectors.paging import page_of
from memories.selectors.session_memory import search_session, working_memory
from memories.selectors.sessions import get_session, list_sessions, transcript
from memories.services.erasure.forget import forget_session
from memories.services.sessions.sessions import end_session, rename_session, start_session
from memories.services.sessions.working_memory import set_slots


class SessionsView(ApiView):
    """The owner's sessions."""

    @operation("sessions_list", READ, query=PageQuery, gives=SessionPage)
    def get(self, **wanted: Any) -> dict[str, Any]:
        """The sessions, latest first."""
        return paged(page_of(list_sessions(self.principal), **wanted))

    @operation("sessions_create", WRITE, takes=NewSession, gives=SessionSerializer, statuses=(201,))
    def post(self, **fields: Any) -> Session:
        """Open a session."""
        return start_session(self.principal, **fields)


class SessionView(ApiView):
    """One session."""

    @operation("sessions_read", READ, query=TranscriptQuery, gives=TranscriptSerializer, refuses=(404,))
    def get(self, session_id: UUID, **wanted: Any) -> Response:
        """A session with its latest turns."""
        session = get_session(self.principal, session_id)
        turns = transcript(self.principal, session_id, **wanted)
        earlier = turns[0].turn if turns and turns[0].turn > 1 else None
        return Response(
            {**SessionSerializer(session).data, "turns": TurnSerializer(turns, many=True).data, "earlier": earlier}
        )

    @operation("sessions_rename", WRITE, takes=SessionTitle, gives=SessionSerializer, refuses=(404,))
    def patch(self, session_id: UUID, **fields: Any) -> Session:
        """Give a session another title."""
        return rename_session(self.principal, session_id=session_id, **fields)

    @operation("sessions_forget", WRITE, query=CascadeQuery, gives=Forgotten, refuses=(404,))
    def delete(self, session_id: UUID, **reach: Any) -> dict[str, Any]:
        """Erase a session for good: its transcript, its episodes and its recalls."""
        return forgotten(forget_session(self.principal, session_id=session_id, **reach))


class WorkingMemoryView(ApiView):
    """The working memory of a session."""

    @operation("working_memory_read", READ, gives=WorkingMemorySerializer, refuses=(404,))
    def get(self, session_id: UUID) -> dict[str, Any]:
        """Goal, plan, constraints, observations and scratchpad."""
        return slots_shown(working_memory(self.principal, session_id))

    @operation(
        "working_memory_set",
        READ_WRITE,
        takes=WorkingMemoryChange,
        gives=WorkingMemorySerializer,
        refuses=(404,),
    )
    def patch(self, session_id: UUID, **slots: Any) -> dict[str, Any]:
        """Set the slots that are named."""
        return slots_shown(set_slots(self.principal, session_id=session_id, changes=slot_changes(slots)))


class SessionEntriesView(ApiView):
    """Searching a session."""

    @operation("session_entries", READ, query=EntriesQuery, gives=FoundPage, refuses=(404,))
    def get(self, session_id: UUID, q: str, limit: int) -> dict[str, Any]:
        """Search the turns, tools and entries of one session; without words, its latest entries."""
        return {"results": search_session(self.principal, session_id, q, limit=limit)}


class EndSessionView(ApiView):
    """Ending a task or a session."""

    @operation("session_end", READ_WRITE, takes=EndSession, gives=EndedSerializer, refuses=(404,))
    def post(self, session_id: UUID, **how: Any) -> dict[str, Any]:
        """Propose what mattered as lasting memory, and empty the working memory. The session may go on."""
        return ended_shown(end_session(self.principal, session_id=session_id, **how))


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

    renderer_classes = [JSONRenderer, EventStreamRenderer]

    def answer(self, session_id: UUID | None, *, message: str, turn_id: UUID | None, retry: bool) -> HttpResponseBase:
        """Take a turn and answer it in the form that was asked for."""
        events = run_turn(self.principal, text=message, session_id=session_id, turn_id=turn_id, retry=retry)
        if self.request.accepted_renderer.format != EventStreamRenderer.format:
            return Response(AnswerSerializer(whole_answer(events)).data)
        response = StreamingHttpResponse(frames(events), content_type=CONTENT_TYPE)
        response.headers["X-Accel-Buffering"] = "no"
        return response


class NewSessionTurnsView(AnsweringView):
    """Turns that open a session of their own."""

    @operation("turn_start", CONVERSE, takes=NewTurn, gives=AnswerSerializer, streams=True, refuses=(409, 502))
    def post(self, **said: Any) -> HttpResponseBase:
        """Say something in a new session."""
        return self.answer(None, **said)


class SessionTurnsView(AnsweringView):
    """Turns of a session."""

    @operation("turn_continue", CONVERSE, takes=NewTurn, gives=AnswerSerializer, streams=True, refuses=(404, 409, 502))
    def post(self, session_id: UUID, **said: Any) -> HttpResponseBase:
        """Say something in a session."""
        return self.answer(session_id, **said)

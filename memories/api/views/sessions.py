"""Views for sessions: list, open, read, rename, erase and search them, their working memory, and their turns.

A turn is answered as one JSON object or, by the Accept header, as server-sent events. The user's message is stored
before the first byte is sent. If the client disconnects, the answer stops, and the part already streamed is kept.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any
from uuid import UUID

from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response

from memories.agent.events import Event, TurnFinished, frames
from memories.agent.loop import run_turn
from memories.agent.streams import streamed, suspended
from memories.api.authentication import CONVERSE, DECIDE, READ, READ_WRITE, WRITE
from memories.api.fields import CascadeQuery, ErasureResponse, PageQuery, forgotten
from memories.api.idempotency import REPLAYED
from memories.api.serializers.events import TURN_EVENT
from memories.api.serializers.sessions import (
    EntriesQuery,
    EntryPageResponse,
    SessionEndRequest,
    SessionEndResponse,
    SessionPageResponse,
    SessionRenameRequest,
    SessionRequest,
    SessionResponse,
    TranscriptQuery,
    TranscriptResponse,
    TurnRequest,
    TurnResponse,
    TurnSerializer,
    WorkingMemoryRequest,
    WorkingMemoryResponse,
    ended_shown,
    slot_changes,
    slots_shown,
)
from memories.api.views.base import ApiView, StreamRenderer, operation, paged, whole_answer
from memories.llm.base import Waiting
from memories.models import Session
from memories.selectors.paging import page_of
from memories.selectors.session_memory import search_session, working_memory
from memories.selectors.sessions import get_session, list_sessions, transcript
from memories.services.erasure.forget import forget_session
from memories.services.sessions.sessions import end_session, rename_session, start_session
from memories.services.sessions.working_memory import set_slots
from memoryhub.env.limits import Bucket
from memoryhub.middleware import ASYNC


class SessionsView(ApiView):
    """The owner's sessions."""

    @operation("sessions_list", READ, query=PageQuery, gives=SessionPageResponse)
    def get(self, **wanted: Any) -> dict[str, Any]:
        """List the sessions, latest first."""
        return paged(page_of(list_sessions(self.principal), **wanted))

    @operation(
        "sessions_create",
        WRITE,
        takes=SessionRequest,
        gives=SessionResponse,
        statuses=(201,),
        also=(Bucket.SESSIONS,),
    )
    def post(self, **fields: Any) -> Session:
        """Open a session."""
        return start_session(self.principal, **fields)


class SessionView(ApiView):
    """One session."""

    @operation("sessions_read", READ, query=TranscriptQuery, gives=TranscriptResponse, refuses=(404,))
    def get(self, session_id: UUID, **wanted: Any) -> Response:
        """Read a session with its latest turns."""
        session = get_session(self.principal, session_id)
        turns = transcript(self.principal, session_id, **wanted)
        earlier = turns[0].turn if turns and turns[0].turn > 1 else None
        return Response(
            {**SessionResponse(session).data, "turns": TurnSerializer(turns, many=True).data, "earlier": earlier}
        )

    @operation("sessions_rename", WRITE, takes=SessionRenameRequest, gives=SessionResponse, refuses=(404,))
    def patch(self, session_id: UUID, **fields: Any) -> Session:
        """Rename a session."""
        return rename_session(self.principal, session_id=session_id, **fields)

    @operation("sessions_forget", DECIDE, query=CascadeQuery, gives=ErasureResponse, refuses=(404,))
    def delete(self, session_id: UUID, **reach: Any) -> dict[str, Any]:
        """Erase a session permanently: its transcript, its episodes and its recalls."""
        return forgotten(forget_session(self.principal, session_id=session_id, **reach))


class WorkingMemoryView(ApiView):
    """The working memory of a session."""

    @operation("working_memory_read", READ, gives=WorkingMemoryResponse, refuses=(404,))
    def get(self, session_id: UUID) -> dict[str, Any]:
        """Read the goal, plan, constraints, observations and scratchpad."""
        return slots_shown(working_memory(self.principal, session_id))

    @operation(
        "working_memory_set",
        READ_WRITE,
        takes=WorkingMemoryRequest,
        gives=WorkingMemoryResponse,
        refuses=(404, 409),
    )
    def patch(self, session_id: UUID, **slots: Any) -> dict[str, Any]:
        """Overwrite the given slots; the others remain unchanged."""
        return slots_shown(set_slots(self.principal, session_id=session_id, changes=slot_changes(slots)))


class SessionEntriesView(ApiView):
    """Searching a session."""

    @operation("session_entries", READ, query=EntriesQuery, gives=EntryPageResponse, refuses=(404,))
    def get(self, session_id: UUID, q: str, limit: int) -> dict[str, Any]:
        """Search the turns, tool calls and entries of one session; without a query, list its latest entries."""
        return {"results": search_session(self.principal, session_id, q, limit=limit)}


class EndSessionView(ApiView):
    """Ending a task or session."""

    @operation("session_end", READ_WRITE, takes=SessionEndRequest, gives=SessionEndResponse, refuses=(404, 409))
    def post(self, session_id: UUID, **how: Any) -> dict[str, Any]:
        """Propose what was learned as lasting memories and clear the working memory.

        The session can still be continued.
        """
        return ended_shown(end_session(self.principal, session_id=session_id, **how))


class EventStreamRenderer(StreamRenderer):
    """For a turn as server-sent events."""

    media_type = "text/event-stream"
    format = "sse"


class AnsweringView(ApiView):
    """Base of the two views that take a turn."""

    renderer_classes = [JSONRenderer, EventStreamRenderer]

    def answer(self, session_id: UUID | None, *, message: str, turn_id: UUID | None, retry: bool) -> HttpResponseBase:
        """Run a turn and respond as JSON or as a stream of events, by the Accept header."""
        turn_id, retry = self.repeated(turn_id, retry=retry)
        turn = run_turn(self.principal, text=message, session_id=session_id, turn_id=turn_id, retry=retry)
        events = self.admission.kept(self.finishing(turn))
        if self.request.accepted_renderer.format == EventStreamRenderer.format:
            response: HttpResponseBase = streamed(self.request._request, frames(events), self.admission)
        elif ASYNC in self.request.META:
            response = self.later(events)
        else:
            response = Response(TurnResponse(whole_answer(events)).data)
        if self.attempt is not None and self.attempt.replays:
            response.headers[REPLAYED] = "true"
        return response

    def later(self, events: Generator[Event]) -> StreamingHttpResponse:
        """The whole answer, whose status is known at its end: until then it holds no thread."""

        def wait() -> Generator[bytes | Waiting]:
            seen: list[Event] = []
            try:
                for event in events:
                    if isinstance(event, Waiting):
                        yield event
                    else:
                        seen.append(event)
                answer = Response(TurnResponse(whole_answer(seen)).data)
            except Exception as error:  # noqa: BLE001 - rendered as where views raise it
                answer = self.handle_exception(error)
            finally:
                events.close()
            answer = self.finalize_response(self.request, answer)
            if isinstance(answer, Response):
                answer.render()
            response.status_code = answer.status_code
            for name, value in answer.items():
                response.headers[name] = value
            yield answer.content

        response = StreamingHttpResponse(suspended(wait(), self.admission))
        return response

    def repeated(self, turn_id: UUID | None, *, retry: bool) -> tuple[UUID | None, bool]:
        """The turn's id and whether to answer it again: a repeated request names the same turn by its key."""
        if self.attempt is None:
            return turn_id, retry
        return turn_id or self.attempt.id, retry or self.attempt.failed

    def finishing(self, events: Generator[Event]) -> Generator[Event]:
        """The events of a turn; their end ends the attempt. A turn without an answer may be tried again."""
        if self.attempt is None:
            yield from events
            return
        answered = False
        try:
            for event in events:
                self.attempt.keep()
                answered = isinstance(event, TurnFinished)
                yield event
        finally:
            events.close()
            if answered:
                self.attempt.finish(200)
            else:
                self.attempt.fail(by_service=True)


class NewSessionTurnsView(AnsweringView):
    """Turns that open a new session."""

    @operation(
        "turn_start",
        CONVERSE,
        takes=TurnRequest,
        gives=TurnResponse,
        streams=TURN_EVENT,
        refuses=(409, 502),
        also=(Bucket.SESSIONS,),
    )
    def post(self, **said: Any) -> HttpResponseBase:
        """Send a message in a new session."""
        return self.answer(None, **said)


class SessionTurnsView(AnsweringView):
    """Turns in an existing session."""

    @operation(
        "turn_continue", CONVERSE, takes=TurnRequest, gives=TurnResponse, streams=TURN_EVENT, refuses=(404, 409, 502)
    )
    def post(self, session_id: UUID, **said: Any) -> HttpResponseBase:
        """Send a message in a session."""
        return self.answer(session_id, **said)

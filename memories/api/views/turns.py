"""Conversing: one POST for a turn, answered whole as JSON or, if asked so, in pieces as server-sent events.

Invariant: what the user said is stored before the first byte of an answer; whoever hangs up cuts the answer off, and
what was streamed until then is kept.
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
from memories.api.authentication import CONVERSE
from memories.api.http import whole_answer
from memories.api.schema import problems
from memories.api.serializers.sessions import AnswerSerializer, NewTurn
from memories.api.views.base import ApiView


class EventStreamRenderer(BaseRenderer):
    """Makes `Accept: text/event-stream` a type that can be asked for; the stream is its own response."""

    media_type = "text/event-stream"
    format = "sse"
    charset = None

    def render(self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None) -> bytes:  # noqa: ARG002
        """Nothing is rendered here."""
        return b""


class TurnView(ApiView):
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


class NewSessionTurnsView(TurnView):
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


class SessionTurnsView(TurnView):
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

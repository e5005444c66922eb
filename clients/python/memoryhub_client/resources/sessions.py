"""Sessions, their turns, and the working memory of the agent."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from memoryhub_client.calls import C, Call, Resource, at, delete, endpoint, get, paged, patch, post, streamed
from memoryhub_client.types import Answer, Ended, Event, Forgotten, Found, Session, Transcript, WorkingMemory


class Sessions(Resource[C]):
    """The owner's conversations."""

    @endpoint
    def create(self, *, title: str | None = None) -> Call[Session]:
        """Open a session."""
        return post("/sessions/", title=title)

    @paged
    def list(self, *, limit: int | None = None) -> Call[Session]:
        """List the sessions, latest first."""
        return get("/sessions/", limit=limit)

    @endpoint
    def get(self, session_id: str, *, last: int | None = None, before: int | None = None) -> Call[Transcript]:
        """Read a session with its latest turns, or those before the turn `before`."""
        return get(at("sessions", session_id), last=last, before=before)

    @endpoint
    def rename(self, session_id: str, title: str) -> Call[Session]:
        """Give a session another title."""
        return patch(at("sessions", session_id), title=title)

    @endpoint
    def forget(self, session_id: str, *, cascade: bool | None = None) -> Call[Forgotten]:
        """Erase a session with its episodes for good, at once. Needs `memory:decide`."""
        return delete(at("sessions", session_id), cascade=cascade)

    @paged
    def search(self, session_id: str, q: str | None = None, *, limit: int | None = None) -> Call[Found]:
        """Search the turns, tools and entries of a session, in one page; without words, list its latest entries."""
        return get(at("sessions", session_id, "entries"), q=q, limit=limit)

    @endpoint
    def end(self, session_id: str, *, outcome: str | None = None, learned: Sequence[str] | None = None) -> Call[Ended]:
        """End the task: important entries become memories, and the working memory is emptied."""
        return post(at("sessions", session_id, "end"), outcome=outcome, learned=learned)


class WorkingMemories(Resource[C]):
    """The agent's working memory of a session."""

    @endpoint
    def get(self, session_id: str) -> Call[WorkingMemory]:
        """Read goal, plan, constraints, observations and scratchpad."""
        return get(at("sessions", session_id, "working-memory"))

    @endpoint
    def set(
        self,
        session_id: str,
        *,
        goal: str | None = None,
        plan: Mapping[str, Any] | None = None,
        constraints: Sequence[Mapping[str, Any]] | None = None,
        observations: Sequence[Mapping[str, Any]] | None = None,
        scratchpad: Sequence[str] | None = None,
    ) -> Call[WorkingMemory]:
        """Overwrite the slots that are named; an empty value clears one."""
        return patch(
            at("sessions", session_id, "working-memory"),
            goal=goal,
            plan=plan,
            constraints=constraints,
            observations=observations,
            scratchpad=scratchpad,
        )


class Turns(Resource[C]):
    """Turns with memoryhub's own agent. Without a `session_id` a turn opens a session."""

    @endpoint
    def create(
        self, message: str, *, session_id: str | None = None, turn_id: str | None = None, retry: bool | None = None
    ) -> Call[Answer]:
        """Say something, and wait for the whole answer.

        If it fails (ModelUnavailable), send the same `turn_id` with `retry=True` for another answer.
        """
        return _turn(message, session_id, turn_id, retry=retry)

    @streamed
    def stream(
        self, message: str, *, session_id: str | None = None, turn_id: str | None = None, retry: bool | None = None
    ) -> Call[Event]:
        """Say something, and read the answer while it is made; leaving the block cuts it off."""
        return _turn(message, session_id, turn_id, retry=retry)


def _turn(message: str, session_id: str | None, turn_id: str | None, *, retry: bool | None) -> Call[Any]:
    path = at("sessions", session_id, "turns") if session_id else "/turns/"
    # With an id of its own, a request that is sent again adds nothing.
    return post(path, message=message, turn_id=turn_id or str(uuid.uuid4()), retry=retry)

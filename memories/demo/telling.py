"""Telling a story: its turns go through the same services as those of the agent, at their own times.

Invariant: a turn that is answered is not told again, so an interrupted telling can be taken up where it stopped.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from memories.agent.prompt import call_id
from memories.agent.tool_schemas import RECALL, WRITE
from memories.constants import AUTOMATIC_RECALL_ITEMS, AUTOMATIC_RECALL_TOKENS, AUTOMATIC_SETTLED_ITEMS
from memories.demo.story import BETWEEN_TURNS, StorySession, StoryTurn, Written
from memories.models import MessageState
from memories.recall.pipeline import recall
from memories.search.outbox import drain
from memories.selectors.memories import list_memories
from memories.selectors.sessions import find_turn
from memories.services.facts.remember import remember_fact
from memories.services.playbooks import remember_playbook
from memories.services.sessions.sessions import start_session, title_from
from memories.services.sessions.turns import Turn, add_tool_result, add_tool_step, begin_turn, clear_answer, finish_turn
from memories.types import Kind, Owner, WriteOutcome
from tenants.principal import Principal

# How long an answer seems to have taken: a moment, and the time to write it.
FIRST_WORD_MS, MS_PER_CHARACTER = 600, 9


def tell(principal: Principal, story: Sequence[StorySession], *, today: datetime, told: Callable[[int], None]) -> None:
    """Tell a member's story, as it went until `today`; `told` counts the turns."""
    for number, session in enumerate(story):
        drain(owner=Owner(principal.tenant_id, principal.user_id))  # what was said days before is not just written
        at = session.begins(today)
        session_id = uuid.uuid5(principal.user_id, f"{principal.tenant_id}:demo:{number}")
        start_session(principal, session_id=session_id, title=title_from(session.turns[0].said), created_at=at)
        for turn in session.turns:
            _tell_turn(principal, session_id, turn, at)
            at += BETWEEN_TURNS
            told(1)


def _tell_turn(principal: Principal, session_id: UUID, turn: StoryTurn, at: datetime) -> None:
    turn_id = uuid.uuid5(session_id, turn.said)
    stored = begin_turn(principal, text=turn.said, session_id=session_id, turn_id=turn_id, at=at)
    if not stored.created:
        if find_turn(principal, session_id, stored.turn).answer_state == MessageState.COMPLETE:
            return
        stored = clear_answer(principal, session_id=session_id, turn=stored.turn)
    _Telling(principal.as_agent(), stored, at).answer(turn)


class _Telling:
    """The agent's part of one turn."""

    def __init__(self, principal: Principal, stored: Turn, at: datetime) -> None:
        self._principal = principal
        self._stored = stored
        self._at = at
        self._place: dict[str, Any] = {"session_id": stored.session_id, "turn": stored.turn, "at": at}
        self._episodes = () if stored.episode_id is None else (stored.episode_id,)

    def answer(self, turn: StoryTurn) -> None:
        """Recall, write what the story says was written, answer."""
        found = recall(
            self._principal,
            turn.said,
            limit=AUTOMATIC_RECALL_ITEMS - AUTOMATIC_SETTLED_ITEMS,
            token_budget=AUTOMATIC_RECALL_TOKENS,
            session_id=self._stored.session_id,
            exclude_episode_ids=self._episodes,
            as_of=self._at,
        )
        identity = self._call(0, RECALL, {"query": turn.said})
        add_tool_result(self._principal, tool_call_id=identity, recall=found, **self._place)
        for step, written in enumerate(turn.written, start=1):
            identity = self._call(step, WRITE, _arguments(written))
            add_tool_result(self._principal, tool_call_id=identity, written=[self._write(written)], **self._place)
        took = FIRST_WORD_MS + MS_PER_CHARACTER * len(turn.answered)
        ended = self._place | {"at": self._at + timedelta(milliseconds=took)}
        finish_turn(self._principal, text=turn.answered, took_ms=took, **ended)

    def _call(self, step: int, tool: str, arguments: dict[str, Any]) -> str:
        identity = call_id(self._stored.turn, step)
        call = {"id": identity, "name": tool, "arguments": arguments}
        add_tool_step(self._principal, tool_calls=[call], **self._place)
        return identity

    def _write(self, written: Written) -> WriteOutcome:
        memory_id = uuid.uuid5(self._stored.message_id, written.title or written.text)
        if written.kind is Kind.SEMANTIC:
            return remember_fact(
                self._principal,
                text=written.text,
                key=written.key,
                category=written.category,
                source=written.source,
                learned_at=self._at,
                supporting_episode_ids=self._episodes,
                supersedes_ids=self._replaced(written),
                contradiction=written.contradiction,
                pinned=written.pinned,
                fact_id=memory_id,
                reason="said in chat",
            )
        return remember_playbook(
            self._principal,
            title=written.title,
            trigger=written.trigger,
            steps=written.steps,
            category=written.category,
            learned_at=self._at,
            supersedes_ids=self._replaced(written),
            success_count=written.success_count,
            failure_count=written.failure_count,
            last_success_at=self._at if written.success_count else None,
            playbook_id=memory_id,
            reason="said in chat",
        )

    def _replaced(self, written: Written) -> list[UUID]:
        """The current memories that are replaced by name."""
        column = "text" if written.kind is Kind.SEMANTIC else "title"
        rows = list_memories(self._principal, written.kind).filter(**{f"{column}__in": written.replaces})
        return list(rows.values_list("pk", flat=True))


def _arguments(written: Written) -> dict[str, Any]:
    """What the agent would have asked the tool for."""
    told = {
        "kind": written.kind.value,
        "text": written.text,
        "key": written.key,
        "category": written.category,
        "title": written.title,
        "trigger": written.trigger,
        "steps": list(written.steps),
        "contradiction": written.contradiction.value,
    }
    return {name: value for name, value in told.items() if value}

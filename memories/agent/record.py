"""Putting a turn's answer into the transcript, message by message.

Invariant: each message goes after the one that this record wrote before it, so a turn that is answered elsewhere
meanwhile raises Conflict here and the two never mix. It is closed once.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any

from memories.agent.tools import Answer
from memories.errors import NotFound
from memories.models import Message, MessageState
from memories.services.erasure.forget import forget
from memories.services.sessions.turns import Turn, add_tool_result, add_tool_step, finish_turn
from memories.types import Kind
from tenants.principal import Principal

logger = logging.getLogger(__name__)


class TurnRecord:
    """What is stored of one answer."""

    def __init__(self, principal: Principal, turn: Turn) -> None:
        self._principal = principal
        self._turn = turn
        self._last_id = turn.message_id
        self._started = time.monotonic()
        self.closed = False

    @property
    def took_ms(self) -> float:
        """Since the record was opened."""
        return (time.monotonic() - self._started) * 1000

    def calls(self, calls: Sequence[Mapping[str, Any]]) -> None:
        """The agent calls tools."""
        self._wrote(add_tool_step(self._principal, tool_calls=calls, **self._place()))

    def answer(self, call_id: str, answer: Answer) -> None:
        """What a tool answered."""
        message = add_tool_result(
            self._principal,
            tool_call_id=call_id,
            text=answer.error,
            recall=answer.recall,
            written=[answer.written] if answer.written else answer.proposed,
            forgotten=answer.forgotten,
            **self._place(),
        )
        self._wrote(message)

    def close(
        self, state: MessageState, *, text: str, memory_tokens: int, error: str = "", wordless: bool = False
    ) -> Message:
        """Store the final answer and return it. `wordless`: see `finish_turn`."""
        message = finish_turn(
            self._principal,
            text=text,
            state=state,
            error=error,
            took_ms=self.took_ms,
            memory_tokens=memory_tokens,
            wordless=wordless,
            **self._place(),
        )
        self._wrote(message)
        self.closed = True
        return message

    def erase(self) -> None:
        """Erase what the user said in this turn, and what was stored of it so far."""
        if self._turn.episode_id is None:
            return
        try:
            forget(
                self._principal,
                kind=Kind.EPISODIC,
                memory_id=self._turn.episode_id,
                reason="the words of a request to erase",
            )
        except NotFound:
            logger.info("turn %s of session %s was erased already", self._turn.turn, self._turn.session_id)

    def _place(self) -> dict[str, Any]:
        return {"session_id": self._turn.session_id, "turn": self._turn.turn, "after": self._last_id}

    def _wrote(self, message: Message) -> None:
        self._last_id = message.pk

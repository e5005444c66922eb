"""Run a user turn from the message to the answer: the only entry point for the chat page and the API.

The user's message and its episode are committed first. Only a killed process leaves a turn without a stored answer;
that turn can be answered again without repeating the message.
"""

from __future__ import annotations

from collections.abc import Generator
from uuid import UUID

from memories.agent.answering import Answering, announced
from memories.agent.events import Event, TextDelta, TurnFailed, TurnFinished
from memories.agent.model import chat_model_of
from memories.llm.base import ChatModel
from memories.models import MessageState, Relation
from memories.selectors.sessions import TurnView, find_turn, transcript
from memories.services.sessions.replacing import answer_again, edit_turn
from memories.services.sessions.turns import Turn, begin_turn, clear_answer
from tenants.principal import Principal, Right


def run_turn(
    principal: Principal,
    *,
    text: str,
    session_id: UUID | None = None,
    turn_id: UUID | None = None,
    retry: bool = False,
    model: ChatModel | None = None,
) -> Generator[Event]:
    """Store the user's message now, and return the events of the answer, which is made while they are read.

    A repeated `turn_id` stores nothing. It returns the stored answer, or with `retry` (or if there is no answer) makes
    a new one. Closing the generator stops the answer and stores the streamed text as cut off. Raises InvalidInput,
    NotFound (session), Conflict (the same turn with another text, or a retry of a complete answer), Forbidden.
    """
    _require_all(principal)
    turn = begin_turn(principal, text=text, session_id=session_id, turn_id=turn_id)
    if not turn.created and not retry:
        (view,) = (view for view in transcript(principal, turn.session_id) if view.turn == turn.turn)
        if view.answer_state is not None:
            return _stored(view)
    if not turn.created:
        turn = clear_answer(principal, session_id=turn.session_id, turn=turn.turn)
    return _answer(principal, turn, model)


def retry_turn(
    principal: Principal, *, session_id: UUID, turn: int, model: ChatModel | None = None
) -> Generator[Event]:
    """Answer a stored turn again after its answer failed, was cut off, or never came. No second episode is made.

    Raises NotFound, Conflict (it has a complete answer), Forbidden.
    """
    _require_all(principal)
    return _answer(principal, clear_answer(principal, session_id=session_id, turn=turn), model)


def edit_and_answer(
    principal: Principal,
    *,
    session_id: UUID,
    turn: int,
    text: str,
    turn_id: UUID | None = None,
    model: ChatModel | None = None,
) -> Generator[Event]:
    """Answer an edited message as a new turn in the place of `turn` and all later ones; see `edit_turn`.

    A repeated `turn_id` returns the stored answer. Raises as `edit_turn` does.
    """
    _require_all(principal)
    begun = edit_turn(principal, session_id=session_id, turn=turn, text=text, turn_id=turn_id)
    if not begun.created:
        view = find_turn(principal, session_id, begun.turn)
        if view.answer_state is not None:
            return _stored(view)
    return _answer(principal, begun, model)


def answer_turn_again(
    principal: Principal, *, session_id: UUID, turn: int, model: ChatModel | None = None
) -> Generator[Event]:
    """Answer the last turn once more. Raises NotFound, Conflict (a later turn exists, it was erased), Forbidden."""
    _require_all(principal)
    return _answer(principal, answer_again(principal, session_id=session_id, turn=turn), model)


def _require_all(principal: Principal) -> None:
    """Raise Forbidden unless the principal may chat, read and write."""
    for right in (Right.CHAT, Right.READ, Right.WRITE):
        principal.require(right)


def _answer(principal: Principal, turn: Turn, model: ChatModel | None) -> Generator[Event]:
    return Answering(principal, turn, model or chat_model_of(principal.tenant_id)).events()


def _stored(view: TurnView) -> Generator[Event]:
    """The events of an answer that is already stored."""
    yield from announced(view)
    if view.answer:
        yield TextDelta(view.answer)
    if view.answer_id is None or view.answer_state is MessageState.FAILED:
        yield TurnFailed(view.error, retryable=True)
        return
    yield TurnFinished(
        message_id=view.answer_id,
        state=view.answer_state or MessageState.COMPLETE,
        took_ms=view.took_ms or 0.0,
        used=len(view.having(Relation.RECALLED)),
        wrote=len(view.having(Relation.WROTE)),
        replaced=len(view.having(Relation.REPLACED)),
    )

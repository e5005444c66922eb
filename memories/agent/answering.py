"""Answering one stored turn: the bounded loop of model calls and tools, and how it is put down whatever happens.

Invariant: however `events` ends, it first stores one answer with exactly the text that it gave out, and says in its
state how it ended. The exceptions: what must not be stored is masked in it (such a value came from the model, nothing
that it is given holds one); a turn that erased something: its words are erased too, see `_close`; and one that was
erased meanwhile: it is stored without words, see `services/sessions/turns.py`.

Putting a turn's answer into the transcript, message by message.

Invariant: each message goes after the one that this record wrote before it, so a turn that is answered elsewhere
meanwhile raises Conflict here and the two never mix. It is closed once.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any
from uuid import UUID

from django.db import DatabaseError
from django.utils import timezone

from memories.agent import prompt
from memories.agent.boundary import Boundary
from memories.agent.events import (
    Doing,
    Event,
    MemoriesRecalled,
    MemoriesRetired,
    MemoryWritten,
    Notice,
    NoticeKind,
    Stage,
    TextDelta,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from memories.agent.offline import MemberResponder
from memories.agent.tool_schemas import RECALL, SEARCH_SESSION, BadArguments, read_arguments
from memories.agent.tools import Answer, Toolbox, failed
from memories.agent.working_memory import render_progress, render_standing
from memories.constants import HISTORY_TURNS, MAX_AGENT_STEPS, MAX_ANSWER_CHARACTERS, MAX_TOOL_CALLS_AT_ONCE
from memories.errors import MemoriesError, NotFound
from memories.hygiene.sensitivity.telling import taken_out
from memories.llm.base import ChatMessage, ChatModel, Finished, ModelFault, Silence, StopReason, Text, ToolCall
from memories.llm.tokens import EMPTY, FILTERED, ONLY_TOOLS, TOO_LONG, ModelTokens, erased
from memories.models import Message, MessageState
from memories.selectors.policies import policy_of
from memories.selectors.session_memory import working_memory
from memories.selectors.sessions import transcript
from memories.services.erasure.forget import forget
from memories.services.screening import Screen, masked_kinds
from memories.services.sessions.turns import Turn, add_tool_result, add_tool_step, finish_turn
from memories.types import Kind, WriteResult
from tenants.errors import TenantsError
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


OFFLINE = "No language model is configured: this answer quotes your memory."
DEGRADED = "Search does not answer at the moment. Nothing is lost, but this answer may miss memories."
ERASED = "What you asked to forget is erased for good, and so are the words of this exchange."
FAULT = "Something went wrong here. What you said is stored. Try again."
NO_SESSION = "This conversation was deleted while it was answered."

_LONGEST_TOOL_NAME = 64
_MADE = (WriteResult.CREATED, WriteResult.SUPERSEDED, WriteResult.QUEUED_FOR_REVIEW)


class Answering:
    """One turn being answered. `events` can be read once."""

    def __init__(self, principal: Principal, turn: Turn, model: ChatModel) -> None:
        self._principal = principal.as_agent()
        self._turn = turn
        self._recalls = not isinstance(model, MemberResponder) or model.looks_up(turn.text)
        self._model = model.bound(self._principal, turn.session_id) if isinstance(model, MemberResponder) else model
        self._boundary = Boundary(tokens=ModelTokens(model.name), alone=model.offline)
        self._tools = Toolbox(
            self._principal,
            session_id=turn.session_id,
            episode_id=turn.episode_id,
            turn=turn.turn,
            boundary=self._boundary,
        )
        self._record = TurnRecord(self._principal, turn)
        self._screen = Screen(self._principal)
        self._streamed: list[str] = []
        self._characters = 0
        self._degraded = False
        self._closed = False
        self._used: set[UUID] = set()
        self._wrote: set[UUID] = set()
        self._replaced: set[UUID] = set()

    def events(self) -> Generator[Event]:
        """Answer, event by event."""
        try:
            yield from self._started()
            yield from self._work()
            yield from self._finish()
        except GeneratorExit:
            self._cut_off()
            raise
        except ModelFault as fault:
            yield self._fail(fault.message, retryable=fault.retryable)
        except NotFound:
            yield self._fail(NO_SESSION, retryable=False)
        except (MemoriesError, TenantsError) as error:
            yield self._fail(str(error), retryable=False)
        except Exception:  # the user is owed an answer, and the turn a state, whatever is wrong in here
            logger.exception("turn %s of session %s", self._turn.turn, self._turn.session_id)
            yield self._fail(FAULT, retryable=True)

    def _started(self) -> Iterator[Event]:
        """The turn as it is stored: whoever said it has to see what was taken out of it."""
        turn = self._turn
        text = turn.text if turn.masked else ""
        yield TurnStarted(turn.session_id, turn.turn, turn.message_id, turn.episode_id, turn.masked, text)
        if turn.masked:
            yield Notice(NoticeKind.MASKED, taken_out(turn.masked))

    def _work(self) -> Iterator[Event]:
        """Recall, then let the model answer; the last step has to be an answer."""
        if self._model.offline:
            yield Notice(NoticeKind.OFFLINE, OFFLINE)
        self._boundary.follow(policy_of(self._principal.tenant_id))
        messages = self._opening()
        if self._boundary.pushes and self._recalls:
            yield Stage(Doing.RECALLING)
            yield from self._recall(messages)
        calls: list[ToolCall] = []
        for step in range(1, MAX_AGENT_STEPS + 1):
            yield Stage(Doing.THINKING)
            calls = yield from self._ask(messages, may_call_tools=step < MAX_AGENT_STEPS)
            if not calls or step == MAX_AGENT_STEPS:
                break
            yield from self._call_tools(step, calls, messages)
        if not "".join(self._streamed).strip():
            raise ModelFault(ONLY_TOOLS if calls else EMPTY, retryable=True)

    def _opening(self) -> list[ChatMessage]:
        turn, policy = self._turn, self._boundary.policy
        turns = transcript(self._principal, turn.session_id, last=HISTORY_TURNS + 1)
        slots = working_memory(self._principal, turn.session_id)
        return prompt.opening(
            prompt.system_message(self._principal.speaker, timezone.now().date(), policy.recall_mode),
            prompt.history(turns, before=turn.turn, count=self._boundary.count),
            turn=turn.turn,
            text=turn.text,
            pinned=self._tools.pinned(),
            standing=render_standing(slots),
            progress=render_progress(slots),
            refresh_turns=policy.pinned_refresh_turns,
        )

    def _recall(self, messages: list[ChatMessage]) -> Iterator[Event]:
        """What the message brings up by itself, put in as if the model had asked for it."""
        recalls = self._tools.recall_automatically(self._turn.text)
        if not recalls:
            return
        calls = [
            {"id": prompt.call_id(self._turn.turn, 0, place), "name": RECALL, "arguments": arguments}
            for place, (arguments, _) in enumerate(recalls)
        ]
        self._calls(calls, messages)
        for made, (_, answer) in zip(calls, recalls, strict=True):
            yield from self._answer(str(made["id"]), answer, messages)

    def _ask(self, messages: Sequence[ChatMessage], *, may_call_tools: bool) -> Generator[Event, None, list[ToolCall]]:
        """One call of the model: stream its text, return the tools that it wants."""
        calls: list[ToolCall] = []
        after_tools = bool(self._streamed)
        tools = self._boundary.tools
        with closing(self._model.stream(messages, tools, may_call_tools=may_call_tools)) as outputs:
            for output in outputs:
                match output:
                    case Text(text):
                        yield self._delta(f"\n\n{text}" if after_tools else text)
                        after_tools = False
                    case ToolCall():
                        calls.append(output)
                    case Silence():
                        yield Stage(Doing.THINKING)  # a listener who left is noticed when there is something to send
                    case Finished(StopReason.LENGTH):
                        raise ModelFault(TOO_LONG, retryable=True)
                    case Finished(StopReason.CONTENT_FILTER):
                        raise ModelFault(FILTERED, retryable=False)
                    case Finished():
                        self._boundary.learn(messages, output.usage.prompt_tokens)
        return calls

    def _delta(self, text: str) -> TextDelta:
        self._characters += len(text)
        if self._characters > MAX_ANSWER_CHARACTERS:
            raise ModelFault(TOO_LONG, retryable=True)
        self._streamed.append(text)
        return TextDelta(text)

    def _call_tools(self, step: int, wanted: Sequence[ToolCall], messages: list[ChatMessage]) -> Iterator[Event]:
        """Call the tools in order; what each did is stored before the next begins."""
        calls: list[dict[str, Any]] = []
        given: dict[str, dict[str, Any]] = {}
        refusals: dict[str, str] = {}
        beside = prompt.call_id(self._turn.turn, step, prompt.BESIDE)
        for place, call in enumerate(wanted):
            identity = prompt.call_id(self._turn.turn, step, place)
            given[identity] = {}
            try:
                given[identity] = read_arguments(call.arguments)
            except BadArguments as error:
                refusals[identity] = str(error)
            if place >= MAX_TOOL_CALLS_AT_ONCE:
                refusals[identity] = f"Too many calls at once; at most {MAX_TOOL_CALLS_AT_ONCE} are made."
            # What is kept of a call and shown to the model again is masked; the tools screen what they are given.
            name, arguments = self._screen.said(call.name).text, self._screen.arguments(given[identity])
            calls.append({"id": identity, "name": name[:_LONGEST_TOOL_NAME], "arguments": arguments})
        looks = all(call["name"] in (RECALL, SEARCH_SESSION) for call in calls)
        topic = self._topic(calls, refusals)
        if topic:
            query = topic[: prompt.SHOWN_QUERY_CHARACTERS]
            calls.insert(0, {"id": beside, "name": RECALL, "arguments": {"query": query}})
        self._calls(calls, messages)
        yield Stage(Doing.RECALLING if looks else Doing.WRITING)
        for made in calls:
            refusal = refusals.get(made["id"])
            if made["id"] == beside:
                answer = self._tools.recall_beside(topic)
            else:
                answer = failed(refusal) if refusal else self._tools.run(made["name"], given[made["id"]])
            yield from self._answer(made["id"], answer, messages)

    def _topic(self, calls: Sequence[Mapping[str, Any]], refusals: Mapping[str, str]) -> str:
        """What calls that will be made are about and nothing was recalled on; empty once the turn erased something."""
        made = [(call["name"], call["arguments"]) for call in calls if call["id"] not in refusals]
        return "" if self._tools.erased else self._boundary.topic(made)

    def _calls(self, calls: Sequence[Mapping[str, Any]], messages: list[ChatMessage]) -> None:
        self._record.calls(calls)
        messages.append(prompt.tool_calls_message(calls))

    def _answer(self, call_id: str, answer: Answer, messages: list[ChatMessage]) -> Iterator[Event]:
        """Store and pass on what a tool did, count it, and tell it."""
        self._record.answer(call_id, answer)
        messages.append(prompt.tool_result_message(call_id, answer.content))
        if answer.closed and not self._closed:
            self._closed = True
            yield Notice(NoticeKind.CLOSED, answer.error)
        self._wrote |= {outcome.memory_id for outcome in answer.proposed if outcome.result in _MADE}
        match answer.event:
            case MemoriesRecalled(recall):
                self._used |= {item.id for item in recall.items}
                if recall.degraded and not self._degraded:
                    self._degraded = True
                    yield Notice(NoticeKind.DEGRADED, DEGRADED)
            case MemoryWritten(outcome):
                if outcome.result in _MADE:
                    self._wrote.add(outcome.memory_id)
                self._replaced |= set(outcome.superseded_ids)
            case MemoriesRetired():
                self._replaced |= {memory_id for memory_id, _ in answer.event.ended}
        if answer.event is not None:
            yield answer.event

    def _finish(self) -> Iterator[Event]:
        stored = self._close(MessageState.COMPLETE)
        masked = masked_kinds(stored.sensitivity)
        if self._tools.erased:
            yield Notice(NoticeKind.ERASED, ERASED)
        yield TurnFinished(
            message_id=stored.pk,
            state=MessageState.COMPLETE,
            took_ms=self._record.took_ms,
            used=len(self._used),
            wrote=len(self._wrote),
            replaced=len(self._replaced),
            masked=masked,
            text=stored.text if masked else "",
        )

    def _cut_off(self) -> None:
        """Nobody listens any more: keep what was streamed."""
        if self._record.closed:
            return
        try:
            self._close(MessageState.CUT_OFF)
        except (MemoriesError, TenantsError) as error:
            logger.info("turn %s of session %s was left: %s", self._turn.turn, self._turn.session_id, error)

    def _fail(self, message: str, *, retryable: bool) -> TurnFailed:
        if not self._record.closed:
            try:
                self._close(MessageState.FAILED, error=message)
            except (MemoriesError, TenantsError) as error:
                logger.info("turn %s of session %s: %s", self._turn.turn, self._turn.session_id, error)
            except DatabaseError:
                logger.exception("turn %s of session %s has no stored end", self._turn.turn, self._turn.session_id)
        return TurnFailed(message, retryable=retryable and not self._tools.erased)

    def _close(self, state: MessageState, *, error: str = "") -> Message:
        """Store the answer. A turn that erased something names it, so its words go too and a count of it stays."""
        took = self._boundary.memory_tokens
        if not self._tools.erased:
            return self._record.close(state, text="".join(self._streamed), memory_tokens=took, error=error)
        self._record.erase()
        text = erased(self._tools.erased)
        return self._record.close(state, text=text, memory_tokens=took, error=error, wordless=True)

"""Answer one stored turn: run the bounded loop of model calls and tools, then store the answer.

However `events` ends, it stores exactly one answer with the text that it streamed and a state that says how it ended.
There are two exceptions. A sensitive value that the model invented is masked. A turn that was erased meanwhile is
stored without text (see `services/sessions/turns.py`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.db import DatabaseError
from django.utils import timezone
from django.utils.translation import gettext_noop

from memories.agent import prompt
from memories.agent.events import (
    Doing,
    Event,
    Notice,
    NoticeKind,
    StageBegun,
    TextDelta,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from memories.agent.limits import TurnLimits
from memories.agent.model import MemberResponder
from memories.agent.prompt import render_progress, render_task
from memories.agent.tool_schemas import RECALL, SEARCH_SESSION, BadArguments, read_arguments
from memories.agent.tools import ToolAnswer, Toolbox, failed
from memories.constants import HISTORY_TURNS, MAX_AGENT_STEPS, MAX_ANSWER_CHARACTERS, MAX_TOOL_CALLS_AT_ONCE
from memories.errors import Conflict, MemoriesError, NotFound
from memories.hygiene.sensitivity.findings import taken_out
from memories.llm.base import (
    ChatMessage,
    ChatModel,
    Finished,
    ModelFault,
    Silence,
    StopReason,
    TextPiece,
    ToolCall,
    Usage,
    Waiting,
)
from memories.llm.tokens import EMPTY, FILTERED, ONLY_TOOLS, TOO_LONG, ModelTokens
from memories.models import Mention, Message, MessageState, Relation
from memories.selectors.memories import Memory
from memories.selectors.session_memory import slots_of
from memories.selectors.sessions import TurnView, conversation, turn_as_stored
from memories.services.admission import spend_model_tokens
from memories.services.erasure.proposals import withheld
from memories.services.screening import Screen, masked_kinds
from memories.services.sessions.turns import (
    FinalAnswer,
    ToolResult,
    ToolStep,
    Turn,
    TurnMessage,
    extend_turn,
    screened_columns,
)
from memories.services.write import begin_with
from memories.types import Kind
from tenants.errors import TenantsError
from tenants.principal import Principal
from tenants.principals import ActiveCheck

logger = logging.getLogger(__name__)


OFFLINE = gettext_noop("No language model is configured: this answer quotes your memory.")
DEGRADED = gettext_noop("Search does not answer at the moment. Nothing is lost, but this answer may miss memories.")
FAULT = gettext_noop("Something went wrong here. What you said is stored. Try again.")
NO_SESSION = gettext_noop("This conversation was deleted while it was answered.")
ERASED_MEANWHILE = gettext_noop(
    "Something that this answer builds on was erased meanwhile, so nothing more was written."
)

_LONGEST_TOOL_NAME = 64
_READING = (RECALL, SEARCH_SESSION)


class Transcript:
    """The agent's messages of one turn, buffered and stored together when the turn ends.

    Each batch must follow the last message that this object knows. If another process answers the same turn, storing
    raises Conflict and the two answers never mix. Tools commit their writes in their own services. A process that dies
    before the batch is stored leaves a turn that can be answered again.
    """

    def __init__(self, principal: Principal, turn: Turn, screen: Screen) -> None:
        self._principal = principal
        self._turn = turn
        self._screen = screen
        self._started = time.monotonic()
        self._pending: list[TurnMessage] = []
        self._rows = [turn.message]
        self._mentions: list[Mention] = []
        self.recalled: set[UUID] = set()
        self.closed = False

    @property
    def took_ms(self) -> float:
        """Milliseconds since this turn began to be answered."""
        return (time.monotonic() - self._started) * 1000

    def add(self, message: TurnMessage) -> None:
        """Buffer a message for the next `store`.

        The message is screened here, because the classifier must not be called under the session lock.
        """
        screened_columns(self._screen, message)
        self._pending.append(message)
        if isinstance(message, ToolResult) and message.recall:
            self.recalled |= {item.id for item in message.recall.items}

    def store(self, *last: TurnMessage) -> Message:
        """Store the buffered messages and `last`, and return the turn's last message. Raises Conflict, NotFound."""
        if batch := [*self._pending, *last]:
            rows, mentions = extend_turn(
                self._principal,
                session_id=self._turn.session_id,
                turn=self._turn.turn,
                messages=batch,
                after=self._rows[-1].pk,
                policy=self._turn.policy,
                screen=self._screen,
            )
            self._pending.clear()
            self._rows += rows
            self._mentions += mentions
        return self._rows[-1]

    @contextmanager
    def stored_first(self) -> Iterator[None]:
        """Store the buffered messages in the transaction of the block's first write, so that both commit or neither.

        A block that writes nothing stores nothing. Raises NotFound, and Conflict also if the owner erased something
        that these messages build on: the block would write it again.
        """
        kept = [*self._pending], [*self._rows], [*self._mentions]
        faults: list[Exception] = []

        def store() -> None:
            try:
                self.store()
                if any(row.state == MessageState.REDACTED for row in self._rows):
                    raise Conflict(ERASED_MEANWHILE)
            except (MemoriesError, TenantsError) as error:
                faults.append(error)
                raise

        def undo() -> None:
            self._pending, self._rows, self._mentions = kept

        with begin_with(store, undo=undo):
            yield
        if faults:  # tools report their errors to the model, but this one ends the turn
            raise faults[0]

    def close(self, answer: FinalAnswer) -> Message:
        """Store the buffered messages and the answer, once, and return the answer."""
        stored = self.store(answer)
        self.closed = True
        return stored

    def count(self, *relations: Relation, used: bool = False) -> int:
        """The number of distinct memories with one of these relations to the turn, or only of those in the answer."""
        counted = (each for each in self._mentions if each.relation in relations and (each.used or not used))
        return len({mention.memory_id for mention in counted})

    def view(self, memories: Mapping[UUID, Memory]) -> TurnView | None:
        """The turn as stored, or None if any of it was redacted or `memories` lacks one that it mentions."""
        if any(row.state == MessageState.REDACTED for row in self._rows):
            return None
        mentions = [mention for mention in self._mentions if mention.relation != Relation.SHOWN or mention.used]
        if any(mention.memory_id not in memories for mention in mentions):
            return None
        self._rows[0].episode_pk = self._turn.episode_id  # type: ignore[attr-defined]  # as the selectors annotate it
        return turn_as_stored(self._rows, mentions, memories)


def announced(turn: Turn | TurnView) -> Iterator[Event]:
    """Announce a stored turn. Its author must see which values were masked."""
    text = turn.text if turn.masked else ""
    yield TurnStarted(turn.session_id, turn.turn, turn.message_id, turn.episode_id, turn.masked, text)
    if turn.masked:
        yield Notice(NoticeKind.MASKED, taken_out(turn.masked))


class Answering:
    """The answering of one turn. `events` may be read only once."""

    def __init__(self, principal: Principal, turn: Turn, model: ChatModel) -> None:
        self._caller = principal
        self._principal = replace(principal.as_agent(), off_record=turn.session.temporary, recalls=turn.policy.recalls)
        self._turn = turn
        self._recalls = not isinstance(model, MemberResponder) or model.looks_up(turn.text)
        self._model = model.bound(self._principal, turn.session_id) if isinstance(model, MemberResponder) else model
        self._limits = TurnLimits(turn.policy, ModelTokens(model.name), alone=model.offline)
        self._withheld = withheld(self._principal)
        self._tools = Toolbox(
            self._principal,
            session_id=turn.session_id,
            episode_id=turn.episode_id,
            turn=turn.turn,
            text=turn.text,
            limits=self._limits,
            unbounded=isinstance(model, MemberResponder),
            withheld=self._withheld,
        )
        self._transcript = Transcript(self._principal, turn, self._tools.screen)
        self._streamed: list[str] = []
        self._characters = 0
        self._noticed: set[NoticeKind] = set()
        self._require_active = ActiveCheck(self._principal)

    def events(self) -> Generator[Event]:
        """Answer the turn and yield each event as it happens."""
        try:
            yield from announced(self._turn)
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
        except Exception:  # the user gets an answer and the turn a final state, whatever fails here
            logger.exception("turn %s of session %s", self._turn.turn, self._turn.session_id)
            yield self._fail(FAULT, retryable=True)
        finally:
            spend_model_tokens(self._caller, self._limits.model_tokens)

    def _work(self) -> Iterator[Event]:
        """Recall, then let the model answer. The last step may not call tools."""
        if self._model.offline:
            yield Notice(NoticeKind.OFFLINE, OFFLINE)
        messages = self._opening()
        if self._limits.pushes and self._recalls:
            yield StageBegun(Doing.RECALLING)
            yield from self._recall(messages)
        calls: list[ToolCall] = []
        for step in range(1, MAX_AGENT_STEPS + 1):
            yield StageBegun(Doing.THINKING)
            calls = yield from self._ask(messages, may_call_tools=step < MAX_AGENT_STEPS)
            if not calls or step == MAX_AGENT_STEPS:
                break
            yield from self._call_tools(step, calls, messages)
        if not "".join(self._streamed).strip():
            raise ModelFault(ONLY_TOOLS if calls else EMPTY, retryable=True)

    def _opening(self) -> list[ChatMessage]:
        turn, policy = self._turn, self._limits.policy.in_app(self._principal.app)
        first = turn.turn == 1
        session_id, gone = turn.session_id, self._withheld
        turns = () if first else conversation(self._principal, session_id, last=HISTORY_TURNS, before=turn.turn)
        slots = slots_of(turn.session)
        if gone is not None:
            kept = (past for past in turns if not gone.takes(session_id, past.turn, f"{past.text} {past.answer}"))
            turns, slots = tuple(kept), slots.without(lambda noted: gone.takes(session_id, noted.turn, noted.text))
        return prompt.opening(
            prompt.system_message(
                self._principal.speaker,
                timezone.now().date(),
                policy.recall_mode,
                instructions=policy.instructions
                if policy.learns
                else f"{policy.instructions}\n{prompt.NOT_KEPT}".strip(),
                never=(*policy.never_topics, *policy.never_words),
            ),
            prompt.history(turns, before=turn.turn, count=self._limits.count),
            turn=turn.turn,
            text=turn.text,
            pinned=self._tools.pinned(),
            task=render_task(slots),
            progress=render_progress(slots),
            refresh_turns=policy.pinned_refresh_turns,
        )

    def _recall(self, messages: list[ChatMessage]) -> Iterator[Event]:
        """Recall by the user's message and show the result to the model as a tool call."""
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
        """Call the model once: stream its text and return the tool calls that it wants."""
        calls: list[ToolCall] = []
        before, usage = len(self._streamed), None
        after_tools = before > 0
        tools = self._limits.tools
        try:
            with closing(self._model.stream(messages, tools, may_call_tools=may_call_tools)) as outputs:
                for output in outputs:
                    if isinstance(output, Waiting):
                        yield output
                        continue
                    self._require_active()
                    usage = output.usage if isinstance(output, Finished) else Usage()
                    match output:
                        case TextPiece(text):
                            yield self._delta(f"\n\n{text}" if after_tools else text)
                            after_tools = False
                        case ToolCall():
                            calls.append(output)
                        case Silence():
                            yield StageBegun(Doing.THINKING)  # sending an event shows whether the reader is still there
                        case Finished(StopReason.LENGTH):
                            raise ModelFault(TOO_LONG, retryable=True)
                        case Finished(StopReason.CONTENT_FILTER):
                            raise ModelFault(FILTERED, retryable=False)
                        case Finished():
                            self._limits.learn(messages, output.usage.prompt_tokens)
        finally:
            if usage is not None:  # the model began to answer
                self._limits.used(messages, usage, "".join(self._streamed[before:]))
        return calls

    def _delta(self, text: str) -> TextDelta:
        self._characters += len(text)
        if self._characters > MAX_ANSWER_CHARACTERS:
            raise ModelFault(TOO_LONG, retryable=True)
        self._streamed.append(text)
        return TextDelta(text)

    def _call_tools(self, step: int, wanted: Sequence[ToolCall], messages: list[ChatMessage]) -> Iterator[Event]:
        """Call the tools in order. A tool that writes stores all buffered messages in its own transaction."""
        self._require_active(after=0.0)
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
            # Stored calls, which the model sees again, are masked. The tools screen their own arguments.
            name, arguments = self._tools.screen.said(call.name).text, self._tools.screen.arguments(given[identity])
            calls.append({"id": identity, "name": name[:_LONGEST_TOOL_NAME], "arguments": arguments})
        looks = all(call["name"] in _READING for call in calls)
        topic = self._topic(calls, refusals)
        if topic:
            query = topic[: prompt.SHOWN_QUERY_CHARACTERS]
            calls.insert(0, {"id": beside, "name": RECALL, "arguments": {"query": query}})
        self._calls(calls, messages)
        yield StageBegun(Doing.RECALLING if looks else Doing.WRITING)
        for made in calls:
            refusal = refusals.get(made["id"])
            if made["id"] == beside:
                answer = self._tools.recall_beside(topic)
            elif refusal:
                answer = failed(refusal)
            elif made["name"] in _READING:
                answer = self._tools.run(made["name"], given[made["id"]])
            else:
                with self._transcript.stored_first():  # the gates and erasures read the turn's recalls
                    answer = self._tools.run(made["name"], given[made["id"]])
            yield from self._answer(made["id"], answer, messages)

    def _topic(self, calls: Sequence[Mapping[str, Any]], refusals: Mapping[str, str]) -> str:
        """The topic of the calls that no recall has covered yet."""
        return self._limits.topic((call["name"], call["arguments"]) for call in calls if call["id"] not in refusals)

    def _calls(self, calls: Sequence[Mapping[str, Any]], messages: list[ChatMessage]) -> None:
        self._transcript.add(ToolStep(calls))
        messages.append(prompt.tool_calls_message(calls))

    def _answer(self, call_id: str, answer: ToolAnswer, messages: list[ChatMessage]) -> Iterator[Event]:
        """Buffer a tool's result, show it to the model, and yield its events."""
        written = [answer.written] if answer.written else answer.proposed
        self._transcript.add(ToolResult(call_id, answer.error, answer.recall, written, answer.shown))
        messages.append(prompt.tool_result_message(call_id, answer.content))
        if answer.closed:
            yield from self._notice(NoticeKind.CLOSED, answer.error)
        if answer.recall and answer.recall.degraded:
            yield from self._notice(NoticeKind.DEGRADED, DEGRADED)
        if answer.event is not None:
            yield answer.event

    def _notice(self, kind: NoticeKind, text: str) -> Iterator[Event]:
        """Yield a notice, at most once a turn for each kind."""
        if kind not in self._noticed:
            self._noticed.add(kind)
            yield Notice(kind, text)

    def _finish(self) -> Iterator[Event]:
        stored = self._close(MessageState.COMPLETE)
        masked = masked_kinds(stored.sensitivity)
        only_read = not self._tools.changed
        yield TurnFinished(
            message_id=stored.pk,
            state=MessageState.COMPLETE,
            took_ms=self._transcript.took_ms,
            used=self._transcript.count(Relation.RECALLED, Relation.SHOWN, used=True),
            wrote=self._transcript.count(Relation.WROTE),
            replaced=self._transcript.count(Relation.REPLACED),
            masked=masked,
            text=stored.text if masked else "",
            view=self._transcript.view(self._tools.rows) if only_read else None,
            session=self._turn.session if only_read else None,
        )

    def _cut_off(self) -> None:
        """Store the streamed text after the reader disconnected."""
        if self._transcript.closed:
            return
        try:
            self._close(MessageState.CUT_OFF)
        except (MemoriesError, TenantsError) as error:
            logger.info("turn %s of session %s was left: %s", self._turn.turn, self._turn.session_id, error)

    def _fail(self, message: str, *, retryable: bool) -> TurnFailed:
        if not self._transcript.closed:
            try:
                self._close(MessageState.FAILED, error=message)
            except (MemoriesError, TenantsError) as error:
                logger.info("turn %s of session %s: %s", self._turn.turn, self._turn.session_id, error)
            except DatabaseError:
                logger.exception("turn %s of session %s has no stored end", self._turn.turn, self._turn.session_id)
        return TurnFailed(message, retryable=retryable)

    def _close(self, state: MessageState, *, error: str = "") -> Message:
        """Store the answer, and which memories it may repeat beside the recalled ones."""
        text = "".join(self._streamed)
        model = self._model
        sources: Sequence[tuple[Kind, UUID]] | None = None
        shown = [*self._tools.pinned_shown]
        if isinstance(model, MemberResponder):
            sources = model.sources()
            shown += [*model.told(text), *sources]
        answer = FinalAnswer(
            text,
            state,
            error,
            took_ms=self._transcript.took_ms,
            memory_tokens=self._limits.memory_tokens,
            shown=[each for each in dict.fromkeys(shown) if each[1] not in self._transcript.recalled],
            sources=None if sources is None else {memory_id for _, memory_id in sources},
        )
        return self._transcript.close(answer)

"""The offline responder: a ChatModel without a language model.

It stores plain statements, erases on request, and answers questions by quoting what was recalled. It is deterministic:
the same messages always give the same answer.

Invariant: it writes and erases only by the same tools as any model, and only what the user's latest message asks for.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence

from memories.agent.offline import answers, forgetting, questions
from memories.agent.offline.changing import unsettled
from memories.agent.offline.past import asks_for_history, history
from memories.agent.offline.plan import CHANGING, MOST_PARTS, plan
from memories.agent.offline.records import Memory, Turn, read_turn
from memories.agent.offline.standing import places, points_to_a_place
from memories.consolidation.grammar.rules import Reading, read
from memories.llm.base import ChatMessage, Finished, Output, StopReason, TextPiece, ToolSchema

_GREETING = re.compile(r"(?:hi|hello|hey|good (?:morning|afternoon|evening)|greetings)\b[^?]{0,30}$", re.IGNORECASE)
_THANKS = re.compile(r"(?:thanks|thank you|cheers|great|ok|okay|perfect|nice)\b[^?]{0,30}$", re.IGNORECASE)
_OF_ITSELF = re.compile(r"(?:who|what) are you\b|what can you do\b|how do you work\b|help$", re.IGNORECASE)
_ALL_IT_KNOWS = re.compile(
    r"(?:what|tell me (?:what|everything|all)) (?:do )?you (?:know|remember)(?: about me)?[?.!]*$", re.IGNORECASE
)
_PIECE = re.compile(r"\S+\s*|\s+")

KEPT = (
    "What you said is kept among your events. I am the offline responder: I answer from your memory and store plain "
    "statements, such as “remember that …”, “I moved to …” or “forget …”."
)
ALL_OF_IT = (
    "I do not erase everything at once. On the page “What I remember” you can export all of it and forget each memory; "
    "a whole conversation is forgotten from its own menu."
)
ALL_I_KNOW = "All that I know of you is on the page “What I remember”; ask me about one thing and I look it up."
CLOSED = "I cannot look into your memory at the moment, so I do not know. What you said is kept."
NOTHING_TO_TAKE_BACK = "Nothing in your memory says that, so there is nothing to take back. What you said is kept."
NOTHING_TO_FORGET = "I found nothing like that in your memory, so nothing was erased."


class OfflineResponder:
    """What answers when no model is configured."""

    name = "offline responder"
    offline = True

    def stream(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolSchema], *, may_call_tools: bool
    ) -> Generator[Output]:
        """Answer `messages`; see ChatModel."""
        turn = read_turn(messages)
        reading = read(turn.text)
        offered = {tool["function"]["name"] for tool in tools}
        calls = plan(turn, reading, looks_up="recall_memory" in offered) if may_call_tools and tools else []
        if calls:
            yield from calls
            yield Finished(StopReason.TOOL_CALLS)
            return
        for piece in _PIECE.findall(_say(turn, reading)):
            yield TextPiece(piece)
        yield Finished(StopReason.DONE)


def _say(turn: Turn, reading: Reading) -> str:
    """The answer, once nothing is left to do."""
    parts = []
    if done := turn.calls(*CHANGING):
        parts.append(answers.report(done))
    if reading.forget is not None and not turn.calls("forget_memory") and not turn.closed:
        parts.append(_not_forgotten(turn, reading.forget))
    if turn.closed:
        parts.append(CLOSED)
    elif not done and (end := unsettled(turn)):
        parts.append(answers.which_place(places(end, turn)) if points_to_a_place(end) else NOTHING_TO_TAKE_BACK)
    elif reading.question:
        parts += _answers(reading.question, turn.memories)
    if parts:
        return "\n\n".join(parts)
    if _GREETING.match(turn.text.strip()):
        return f"Hello. {KEPT}"
    if _THANKS.match(turn.text.strip()):
        return "You are welcome."
    return KEPT


def _answers(question: str, memories: Sequence[Memory]) -> list[str]:
    """What memory says to each part of a question; the parts are named if there are several."""
    asked = questions.parts(question)
    if len(asked) == 1:
        return [_answer(question, memories)]
    return [f"{part}\n{_answer(part, memories)}" for part in asked[:MOST_PARTS]]


def _answer(question: str, memories: Sequence[Memory]) -> str:
    """What memory says, unless the question is about the responder."""
    if _OF_ITSELF.match(question):
        return KEPT
    if _ALL_IT_KNOWS.match(question):
        return ALL_I_KNOW
    told = history(question, memories) if asks_for_history(question) else ""
    return told or answers.answer(question, memories)


def _not_forgotten(turn: Turn, forget: str) -> str:
    if forgetting.EVERYTHING.match(forget):
        return ALL_OF_IT
    found = forgetting.choice(turn, forget)
    return answers.choose(found) if found else NOTHING_TO_FORGET

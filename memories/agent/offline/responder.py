"""The offline responder: a ChatModel without a language model.

It stores plain statements, erases on request, and answers questions by quoting what was recalled. It is deterministic:
the same messages always give the same answer.

Invariant: it writes and erases only by the same tools as any model, and only what the user's latest message asks for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Sequence
from dataclasses import asdict
from typing import Any

from memories.agent.offline import answers
from memories.agent.offline.records import Memory, Turn, read_turn
from memories.consolidation.grammar.rules import Reading, Statement, read
from memories.consolidation.grammar.words import content_words
from memories.llm.base import ChatMessage, Finished, Output, StopReason, Text, ToolCall, ToolSchema

# A memory is meant if it holds this share of the words by which the user names it.
MEANT_SHARE = 0.6

_EVERYTHING = re.compile(
    r"(?:everything|all of it|all|it all)(?:\s+about me|\s+you know(?: about me)?)?$", re.IGNORECASE
)
_ABOUT = re.compile(
    r"^(?:about|that|the fact that|what i (?:said|told you) about|everything (?:you know )?about|all about"
    r"|the memor(?:y|ies) (?:about|of|that))\s+",
    re.IGNORECASE,
)
_LONGEST_QUERY = 300
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
        calls = _plan(turn, reading) if may_call_tools and tools else []
        if calls:
            yield from calls
            yield Finished(StopReason.TOOL_CALLS)
            return
        for piece in _PIECE.findall(_say(turn, reading)):
            yield Text(piece)
        yield Finished(StopReason.DONE)


def _plan(turn: Turn, reading: Reading) -> list[ToolCall]:
    """The tools to call next; none once everything is done."""
    if turn.calls("write_memory", "forget_memory"):
        return []
    about = _about(reading.forget) if reading.forget is not None else ""
    if about and not _asked_for(turn, about):
        return [_call("recall_memory", query=about[:_LONGEST_QUERY])]
    calls = [_write(statement, turn.memories) for statement in reading.statements]
    if book := reading.playbook:
        calls.append(_call("write_memory", kind="procedural", **asdict(book)))
    meant = _meant(about, turn.memories) if about else []
    if len(meant) == 1:
        calls.append(_call("forget_memory", memory_id=meant[0].id))
    if not calls and answers.asks_for_the_past(reading.question) and not _saw_the_past(turn):
        return [_call("recall_memory", query=reading.question[:_LONGEST_QUERY], include_superseded=True)]
    return calls


def _say(turn: Turn, reading: Reading) -> str:
    """The answer, once nothing is left to do."""
    parts = []
    if done := turn.calls("write_memory", "forget_memory"):
        parts.append(answers.report(done))
    if reading.forget is not None and not turn.calls("forget_memory") and not turn.closed:
        parts.append(_not_forgotten(reading.forget, turn.memories))
    if turn.closed:
        parts.append(CLOSED)
    elif reading.question:
        parts.append(_answer(reading.question, turn.memories))
    if parts:
        return "\n\n".join(parts)
    if _GREETING.match(turn.text.strip()):
        return f"Hello. {KEPT}"
    if _THANKS.match(turn.text.strip()):
        return "You are welcome."
    return KEPT


def _answer(question: str, memories: Sequence[Memory]) -> str:
    """What memory says, unless the question is about the responder."""
    if _OF_ITSELF.match(question):
        return KEPT
    return ALL_I_KNOW if _ALL_IT_KNOWS.match(question) else answers.answer(question, memories)


def _write(statement: Statement, memories: Sequence[Memory]) -> ToolCall:
    """A fact to store. One that ends another names it, if the recall shows exactly which."""
    arguments: dict[str, Any] = {"text": statement.text, "key": statement.key, "category": statement.category}
    if statement.ends:
        facts = [memory for memory in memories if memory.kind == "semantic" and memory.current and not memory.shared]
        ended = _meant(statement.ends, facts)
        if len(ended) == 1:
            arguments |= {"key": ended[0].key, "supersedes_ids": [ended[0].id]}
    return _call("write_memory", **{name: value for name, value in arguments.items() if value})


def _not_forgotten(forget: str, memories: Sequence[Memory]) -> str:
    if _EVERYTHING.match(forget):
        return ALL_OF_IT
    about = _about(forget)
    meant = _meant(about, memories) if about else [memory for memory in memories if not memory.shared]
    return answers.choose(meant) if meant else NOTHING_TO_FORGET


def _about(forget: str) -> str:
    """What to forget, without the words around it; empty if that names nothing ("it", "that", "everything")."""
    about = _ABOUT.sub("", forget)
    return about if content_words(about) and not _EVERYTHING.match(forget) else ""


def _meant(about: str, memories: Sequence[Memory]) -> list[Memory]:
    """The memories that `about` names best; facts and how-tos before the sentences they were learned from."""
    named = content_words(about)
    own = [memory for memory in memories if memory.current and not memory.shared and memory.kind != "catalog"]
    share = {memory.id: len(named & memory.words) / len(named) for memory in own} if named else {}
    best = max(share.values(), default=0.0)
    if best < MEANT_SHARE:
        return []
    meant = [memory for memory in own if share[memory.id] == best]
    return [memory for memory in meant if memory.kind != "episodic"] or meant


def _saw_the_past(turn: Turn) -> bool:
    return any(done.arguments.get("include_superseded") for done in turn.calls("recall_memory"))


def _asked_for(turn: Turn, query: str) -> bool:
    asked = (str(done.arguments.get("query", "")) for done in turn.calls("recall_memory"))
    return query[:_LONGEST_QUERY] in asked


def _call(tool: str, **arguments: Any) -> ToolCall:
    return ToolCall(tool, json.dumps(arguments, ensure_ascii=False))

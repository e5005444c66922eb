"""What the offline responder does next: look things up, then change the memory, then look up what it is asked.

Invariant: it changes only what the user's latest message asks for, on memories that it has been shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from memories.agent.offline import answers
from memories.agent.offline.past import asks_for_history
from memories.agent.offline.pointing import pointed_at, points_back
from memories.agent.offline.questions import parts
from memories.agent.offline.records import Memory, Turn
from memories.consolidation.grammar.rules import Reading, Statement
from memories.consolidation.grammar.words import content_words
from memories.llm.base import ToolCall

# The tools that change the memory; once one was called, what the message asks for is done.
CHANGING = ("write_memory", "retire_memory", "forget_memory")
# A memory is meant if it holds this share of the words by which the user names it.
MEANT_SHARE = 0.6
MOST_PARTS = 3
_LONGEST_QUERY = 300
_WIDE = 20

EVERYTHING = re.compile(
    r"(?:everything|all of it|all|it all)(?:\s+about me|\s+you know(?: about me)?)?$", re.IGNORECASE
)
_ABOUT = re.compile(
    r"^(?:about|that|the fact that|what i (?:said|told you) about|everything (?:you know )?about|all about"
    r"|the memor(?:y|ies) (?:about|of|that))\s+",
    re.IGNORECASE,
)


def plan(turn: Turn, reading: Reading) -> list[ToolCall]:
    """The tools to call next; none once everything is done."""
    if not turn.calls(*CHANGING):
        calls = _new(turn, _before_changing(turn, reading)) or _changes(turn, reading)
        if calls:
            return calls
    return _new(turn, _before_answering(reading))


def to_forget(turn: Turn, forget: str) -> list[Memory]:
    """The memories that a request to forget can mean; several mean that it has to ask."""
    about = about_what(forget)
    if points_back(forget) or not about:
        pointed = pointed_at(turn) if points_back(forget) else None
        return [pointed] if pointed else [memory for memory in turn.memories if not memory.shared]
    return meant(about, turn.memories)


def about_what(forget: str) -> str:
    """What to forget, without the words around it; empty if that names nothing ("it", "that", "everything")."""
    if points_back(forget):
        return ""
    about = _ABOUT.sub("", forget)
    return about if content_words(about) and not EVERYTHING.match(forget) else ""


def meant(about: str, memories: Sequence[Memory]) -> list[Memory]:
    """The memories that `about` names best; facts and how-tos before the sentences they were learned from."""
    named = content_words(about)
    own = [memory for memory in memories if memory.current and not memory.shared and memory.kind != "catalog"]
    share = {memory.id: len(named & memory.words) / len(named) for memory in own} if named else {}
    best = max(share.values(), default=0.0)
    if best < MEANT_SHARE:
        return []
    found = [memory for memory in own if share[memory.id] == best]
    return [memory for memory in found if memory.kind != "episodic"] or found


def _before_changing(turn: Turn, reading: Reading) -> Iterator[dict[str, Any]]:
    """What has to be looked up to know what a message changes."""
    if reading.forget is not None:
        if about := about_what(reading.forget):
            yield {"query": about[:_LONGEST_QUERY]}
        elif points_back(reading.forget) and turn.said:
            yield {"query": turn.said[:_LONGEST_QUERY]}


def _changes(turn: Turn, reading: Reading) -> list[ToolCall]:
    """What to write, end and erase."""
    calls = [_write(statement, turn.memories) for statement in reading.statements]
    if book := reading.playbook:
        calls.append(_call("write_memory", kind="procedural", **asdict(book)))
    if reading.forget is not None and (about_what(reading.forget) or points_back(reading.forget)):
        found = to_forget(turn, reading.forget)
        if len(found) == 1 and (pointed_at(turn) or not points_back(reading.forget)):
            calls.append(_call("forget_memory", memory_id=found[0].id))
    return calls


def _before_answering(reading: Reading) -> Iterator[dict[str, Any]]:
    """What has to be looked up to answer: what was, and each half of a question by itself."""
    asked = parts(reading.question)[:MOST_PARTS]
    for part in asked:
        query = part[:_LONGEST_QUERY]
        if asks_for_history(part):
            yield {"query": query, "types": ["semantic"], "include_superseded": True, "limit": _WIDE}
        elif answers.asks_for_the_past(part):
            yield {"query": query, "include_superseded": True}
        elif len(asked) > 1:
            yield {"query": query}


def _write(statement: Statement, memories: Sequence[Memory]) -> ToolCall:
    """A fact to store. One that ends another names it, if the recall shows exactly which."""
    arguments: dict[str, Any] = {"text": statement.text, "key": statement.key, "category": statement.category}
    if statement.ends:
        facts = [memory for memory in memories if memory.kind == "semantic" and memory.current and not memory.shared]
        ended = meant(statement.ends, facts)
        if len(ended) == 1:
            arguments |= {"key": ended[0].key, "supersedes_ids": [ended[0].id]}
    return _call("write_memory", **{name: value for name, value in arguments.items() if value})


def _new(turn: Turn, wanted: Iterator[dict[str, Any]]) -> list[ToolCall]:
    """Recalls of what was not asked for in this turn."""
    asked = [dict(done.arguments) for done in turn.calls("recall_memory")]
    calls = [arguments for arguments in wanted if arguments not in asked and not turn.closed]
    return [_call("recall_memory", **arguments) for arguments in calls]


def _call(tool: str, **arguments: Any) -> ToolCall:
    return ToolCall(tool, json.dumps(arguments, ensure_ascii=False))

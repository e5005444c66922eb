"""What the offline responder does next: look things up, then change the memory, then look up what it is asked.

Invariant: it changes only what the user's latest message asks for, on memories that it has been shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from memories.agent.offline import answers, changing, forgetting
from memories.agent.offline.past import asks_for_history
from memories.agent.offline.questions import parts
from memories.agent.offline.records import LONGEST_QUERY, WIDE, Turn, tool_call
from memories.consolidation.grammar.rules import Reading
from memories.hygiene.sensitivity.findings import has_label
from memories.llm.base import ToolCall

# The tools that change the memory; once one was called, what the message asks for is done.
CHANGING = ("write_memory", "retire_memory", "forget_memory")
MOST_PARTS = 3


def plan(turn: Turn, reading: Reading, *, looks_up: bool = True) -> list[ToolCall]:
    """The tools to call next; none once everything is done. `looks_up`: whether it may recall."""
    if looks_up and (calls := _new(turn, _to_begin(turn))):
        return calls
    if not looks_up:
        return [] if turn.calls(*CHANGING) else _changes(turn, reading)
    if not turn.calls(*CHANGING):
        calls = _new(turn, _before_changing(turn, reading)) or _changes(turn, reading)
        if calls:
            return calls
    return _new(turn, _before_answering(reading))


def _to_begin(turn: Turn) -> Iterator[dict[str, Any]]:
    """What the message brings up, where that was not recalled by itself."""
    query = turn.text[:LONGEST_QUERY]
    if not any(done.arguments.get("query") == query for done in turn.calls("recall_memory")):
        yield {"query": query}
        yield {"query": query, "types": ["semantic", "procedural"]}


def _before_changing(turn: Turn, reading: Reading) -> Iterator[dict[str, Any]]:
    yield from changing.lookups(turn, reading)
    if reading.forget is not None:
        yield from forgetting.lookups(turn, reading.forget)


def _changes(turn: Turn, reading: Reading) -> list[ToolCall]:
    """What to write, end and erase. Words that lost a value are not written: without it they hardly say anything."""
    calls = [call for call in changing.changes(turn, reading) if not has_label(call.arguments)]
    if reading.forget is not None and (memory := forgetting.meant(turn, reading.forget)):
        calls.append(tool_call("forget_memory", memory_id=memory.id))
    return calls


def _before_answering(reading: Reading) -> Iterator[dict[str, Any]]:
    """What has to be looked up to answer: what was, and each half of a question by itself."""
    asked = parts(reading.question)[:MOST_PARTS]
    for part in asked:
        query = part[:LONGEST_QUERY]
        if asks_for_history(part):
            yield {"query": query, "types": ["semantic"], "include_superseded": True, "limit": WIDE}
        elif answers.asks_for_the_past(part):
            yield {"query": query, "include_superseded": True}
        elif len(asked) > 1:
            yield {"query": query}


def _new(turn: Turn, wanted: Iterable[dict[str, Any]]) -> list[ToolCall]:
    """Recalls of what was not asked for in this turn."""
    asked = [dict(done.arguments) for done in turn.calls("recall_memory")]
    calls = {repr(arguments): arguments for arguments in wanted if arguments not in asked and not turn.closed}
    return [tool_call("recall_memory", **arguments) for arguments in calls.values()]

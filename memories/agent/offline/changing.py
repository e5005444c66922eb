"""What a message changes: facts to write with all that they make false, facts that end, facts that never were true.

Invariant: it names only facts of the user's own that a recall of this turn showed, and in doubt none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from memories.agent.offline.forgetting import named
from memories.agent.offline.pointing import denies_it, pointed_at
from memories.agent.offline.records import LONGEST_QUERY, WIDE, Turn, tool_call
from memories.agent.offline.standing import ended_by, hanging, hanging_on, held, points_to_a_place
from memories.english.changes import Change, Correction, End, Shift, read_changes
from memories.english.extractor import LONG_AGO
from memories.english.grammar import Reading, Statement
from memories.english.known import Held, corrected, corrected_key, made_false, shifted
from memories.english.times import began
from memories.llm.base import ToolCall
from memories.types import Contradiction

# As many as the tools take.
MOST_AT_ONCE = 10


def lookups(turn: Turn, reading: Reading) -> Iterator[dict[str, Any]]:
    """What has to be recalled to know what a message changes."""
    for statement in reading.statements:
        if slots := hanging(statement, turn.memories):
            yield {"query": slots, "types": ["semantic"], "limit": WIDE}
    for change in read_changes(turn.text):
        yield from _lookup(turn, change)
    if denies_it(turn.text) and turn.said:
        yield {"query": turn.said[:LONGEST_QUERY]}


def _lookup(turn: Turn, change: Change) -> Iterator[dict[str, Any]]:
    """What never was may have ended long ago; what ends takes along what hangs on it."""
    wide = {"types": ["semantic"], "limit": WIDE}
    query = _names(change)[:LONGEST_QUERY]
    if not isinstance(change, End):
        if not _found(change, held(turn.memories)):
            yield {"query": query, **wide}
    elif change.kind is Contradiction.HARSH:
        yield {"query": query, **wide, "include_superseded": True}
    elif slots := hanging_on(ended_by(change, turn)):
        yield {"query": slots, **wide}
    else:
        yield {"query": query, **wide}


def changes(turn: Turn, reading: Reading) -> list[ToolCall]:
    """The tools that carry out what a message changes."""
    work = _Work(turn)
    read = read_changes(turn.text)
    for change in read:
        if not isinstance(change, End):
            work.put_right(change)
    ends = [change for change in read if isinstance(change, End)]
    for statement in reading.statements:
        work.state(statement, reading.statements, ends)
    for end in ends:
        work.end(end)
    if denies_it(turn.text) and (memory := pointed_at(turn)) and memory.kind == "semantic":
        work.calls.append(tool_call("retire_memory", memory_ids=[memory.id], contradiction="harsh"))
    if book := reading.playbook:
        work.calls.append(tool_call("write_memory", kind="procedural", **asdict(book)))
    return work.calls


def unsettled(turn: Turn) -> End | None:
    """What the message says never was, or calls only "there", where it is not clear which fact is meant."""
    ends = (change for change in read_changes(turn.text) if isinstance(change, End))
    asked = (end for end in ends if end.kind is Contradiction.HARSH or points_to_a_place(end))
    return next((end for end in asked if not ended_by(end, turn)), None)


@dataclass(slots=True)
class _Work:
    """The calls so far, and what they took care of: clauses and keys that were put right, facts that end."""

    turn: Turn
    calls: list[ToolCall] = field(default_factory=list)
    done: set[str] = field(default_factory=set)
    over: set[str] = field(default_factory=set)

    def put_right(self, change: Correction | Shift) -> None:
        """A known fact in other words."""
        found = _found(change, held(self.turn.memories))
        if found is None:
            return
        fact, text = found
        key = corrected_key(fact, change) if isinstance(change, Correction) else fact.key
        harsh = isinstance(change, Correction)
        self._write(text, key, "", [fact], harsh=harsh)
        self.done |= {change.quote, *({fact.key} - {""})}

    def state(self, statement: Statement, others: Iterable[Statement], ends: Iterable[End]) -> None:
        """A fact to store, with every fact that it makes false or that it says is over."""
        if self.done & {statement.quote, statement.key or statement.quote}:
            return
        said = {other.text.casefold() for other in others}
        false = [fact for fact in made_false(statement, held(self.turn.memories)) if fact.text.casefold() not in said]
        since = began(statement.quote, self.turn.now) if self.turn.now else None
        if since and self._is_an_old_story(since, false):
            return
        key = statement.key
        if statement.ends:
            over = self._over(statement, ends)
            key = over[0].key if over else key
            false = [*over, *(fact for fact in false if fact not in over)]
        harsh = statement.corrects and bool(false)
        self._write(statement.text, key, statement.category, false, harsh=harsh, since=since)

    def _is_an_old_story(self, since: datetime, false: Iterable[Held]) -> bool:
        """Whether something known began after what is told now as of long ago: that is not over."""
        long_ago = self.turn.now is not None and since < self.turn.now - LONG_AGO
        return long_ago and any(since < (fact.valid_from or fact.learned_at) for fact in false)

    def end(self, end: End) -> None:
        """Facts that end with nothing in their place."""
        ids = [str(fact.id) for fact in ended_by(end, self.turn) if str(fact.id) not in self.over]
        if not ids:
            return
        self.over |= {*ids}
        how = {"contradiction": "harsh"} if end.kind is Contradiction.HARSH else {}
        self.calls.append(tool_call("retire_memory", memory_ids=ids[:MOST_AT_ONCE], **how))

    def _over(self, statement: Statement, ends: Iterable[End]) -> list[Held]:
        """What a statement such as "No longer works at Acme" ends."""
        for end in ends:
            if end.quote == statement.quote and (found := ended_by(end, self.turn)):
                return found
        facts = [memory for memory in self.turn.memories if memory.kind == "semantic"]
        ids = {memory.id for memory in named(statement.ends, facts)}
        return [fact for fact in held(self.turn.memories) if str(fact.id) in ids] if len(ids) == 1 else []

    def _write(
        self,
        text: str,
        key: str,
        category: str,
        false: Iterable[Held],
        *,
        harsh: bool,
        since: datetime | None = None,
    ) -> None:
        ids = [str(fact.id) for fact in false if str(fact.id) not in self.over]
        self.over |= {*ids}
        arguments: dict[str, Any] = {"text": text, "key": key, "category": category}
        arguments |= {"supersedes_ids": ids[:MOST_AT_ONCE], "contradiction": "harsh" if harsh else ""}
        arguments["valid_from"] = since.isoformat() if since else ""
        self.calls.append(tool_call("write_memory", **{name: value for name, value in arguments.items() if value}))


def _found(change: Correction | Shift, known: list[Held]) -> tuple[Held, str] | None:
    """The fact that is meant, and what it says now."""
    return corrected(change, known) if isinstance(change, Correction) else shifted(change, known)


def _names(change: Change) -> str:
    """The words by which a change names what it is about."""
    match change:
        case Correction():
            return f"{change.about} {change.wrong}".strip()
        case Shift():
            return change.about
        case End() if points_to_a_place(change):
            return "lives in, home city"
        case End():
            return {"home": "lives in ", "work": "works at "}.get(change.how, "") + change.what

"""What the offline responder is given: the user's message and, from tool results, memories and what was done.

Invariant: it knows nothing but the messages that any model would see.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from memories.english.text import content_words
from memories.llm.base import ChatMessage, ToolCall

# How much of a text makes a query, how many memories a wide recall brings up, how many exchanges "there" reaches back.
LONGEST_QUERY = 300
WIDE = 20
EXCHANGES = 3
_TODAY = re.compile(r"Today is \w+, (\d{1,2} \w+ \d{4})")


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory as a tool result told it. `since` is when it was said (episodes) or learned, `until` when that ended.

    `true_from` and `true_until` are when it was so in the world, where that is known to differ.
    """

    id: str
    kind: str
    text: str
    title: str
    key: str
    speaker: str
    steps: tuple[str, ...]
    worked: str
    since: datetime | None
    until: datetime | None
    status: str
    shared: bool
    words: frozenset[str]
    never_true: bool = False
    replaced_by: str = ""
    true_from: datetime | None = None
    true_until: datetime | None = None

    @property
    def current(self) -> bool:
        """Whether it is still believed."""
        return self.status not in ("superseded", "evicted")

    @property
    def ended(self) -> datetime | None:
        """When it stopped being so, as far as memory knows."""
        return None if self.current else self.true_until or self.until

    @property
    def settled(self) -> bool:
        """Whether it says what is true or what works, rather than what was said."""
        return self.kind in ("semantic", "procedural")


@dataclass(frozen=True, slots=True)
class Done:
    """A tool that was called in this turn, with what it answered."""

    tool: str
    arguments: Mapping[str, Any]
    result: Mapping[str, Any]


@dataclass(slots=True)
class Turn:
    """The user's latest message and what happened since; `said` and `answered` are the exchange just before it.

    `earlier` are the words of the last exchanges, newest first, in each what the user said before what was answered;
    `now` is the end of the day on which it is said.
    """

    text: str = ""
    done: list[Done] = field(default_factory=list)
    said: str = ""
    answered: str = ""
    earlier: tuple[str, ...] = ()
    now: datetime | None = None

    def calls(self, *tools: str) -> list[Done]:
        """The calls of these tools."""
        return [done for done in self.done if done.tool in tools]

    @property
    def closed(self) -> bool:
        """Whether the memory could not be searched in this turn."""
        return any(done.result.get("closed") for done in self.done)

    @property
    def memories(self) -> list[Memory]:
        """All memories that were recalled in this turn, each once: the latest recall first, best first."""
        found: dict[str, Memory] = {}
        for done in reversed(self.done):
            for item in done.result.get("memories", ()):
                memory = _memory(item)
                found.setdefault(memory.id, memory)
        return list(found.values())


def read_turn(messages: Sequence[ChatMessage]) -> Turn:
    """The turn that the messages end in."""
    latest = max((place for place, message in enumerate(messages) if message["role"] == "user"), default=-1)
    if latest < 0:
        return Turn()
    before = _exchanges(messages[:latest])
    said, answered = before[0] if before else ("", "")
    earlier = tuple(words for exchange in before[:EXCHANGES] for words in exchange)
    turn = Turn(str(messages[latest]["content"]), said=said, answered=answered, earlier=earlier, now=_today(messages))
    called: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for message in messages[latest + 1 :]:
        for call in message.get("tool_calls") or ():
            called[call["id"]] = (call["function"]["name"], json.loads(call["function"]["arguments"]))
        if message["role"] == "tool" and message["tool_call_id"] in called:
            turn.done.append(Done(*called[message["tool_call_id"]], json.loads(message["content"])))
    return turn


def _today(messages: Sequence[ChatMessage]) -> datetime | None:
    """The end of the day that the instructions give."""
    told = _TODAY.search(str(messages[0]["content"])) if messages else None
    return datetime.strptime(f"{told[1]} 23:59 +0000", "%d %B %Y %H:%M %z") if told else None


def tool_call(tool: str, **arguments: Any) -> ToolCall:
    """A call of a tool, as a model makes it."""
    return ToolCall(tool, json.dumps(arguments, ensure_ascii=False))


def _exchanges(messages: Sequence[ChatMessage]) -> list[tuple[str, str]]:
    """What was said and answered before, newest first."""
    exchanges: list[tuple[str, str]] = []
    for message in messages:
        if message["role"] == "user":
            exchanges.append((str(message["content"]), ""))
        elif message["role"] == "assistant" and message["content"] and exchanges:
            exchanges[-1] = (exchanges[-1][0], str(message["content"]))
    return exchanges[::-1]


def distinct(memories: Iterable[Memory]) -> list[Memory]:
    """Without a second one of the same words: a fact and the sentence it was learned from may read alike."""
    seen: dict[str, Memory] = {}
    for memory in memories:
        seen.setdefault(" ".join((memory.text or memory.title).casefold().split()), memory)
    return list(seen.values())


def _memory(item: Mapping[str, Any]) -> Memory:
    steps = tuple(map(str, item.get("steps", ())))
    told = [item.get(name, "") for name in ("text", "title", "trigger", "key", "speaker")]
    return Memory(
        id=item["id"],
        kind=item["kind"],
        text=item.get("text", ""),
        title=item.get("title", ""),
        key=item.get("key", ""),
        speaker=item.get("speaker", ""),
        steps=steps,
        worked=item.get("worked", ""),
        since=_time(item.get("said_at") or item.get("since")),
        until=_time(item.get("until")),
        status=item.get("status", "active"),
        shared=item.get("shared", False),
        never_true=item.get("never_true", False),
        replaced_by=item.get("replaced_by", ""),
        true_from=_time(item.get("true_from")),
        true_until=_time(item.get("true_until")),
        words=content_words(" ".join((*told, *steps))),
    )


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text).astimezone(UTC) if text else None

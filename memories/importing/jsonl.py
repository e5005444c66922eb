"""Conversations as JSON lines: `{"session", "role", "content", "timestamp"}`, all four required.

Roles: `user` is the owner; `assistant` goes to the transcript alone; `system`, `developer` and `tool` are no part of
what was said and are left out; any other role is the name of a person, whose turns become episodes like the owner's.
Within a session turns are ordered by time, equal times by line.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from memories.constants import MAX_MESSAGE_CHARACTERS
from memories.errors import InvalidInput
from memories.hygiene.text import clean_text
from memories.importing.conversations import ConversationSession, ConversationTurn, json_lines, text_of, time_of

_OWNER = frozenset(["user", "human"])
_ASSISTANT = frozenset(["assistant", "ai", "bot", "model"])
_UNSPOKEN = frozenset(["system", "developer", "tool", "function"])
MAX_SPEAKER_CHARACTERS = 100


def parse_jsonl(lines: Iterable[bytes | str]) -> tuple[ConversationSession, ...]:
    """The sessions of a file in the order of their first lines. Raises InvalidInput naming the line."""
    sessions: dict[str, list[ConversationTurn]] = defaultdict(list)
    seen: dict[tuple[str, str], int] = defaultdict(int)
    for place, line in json_lines(lines):
        session = _session_name(line, place)
        turn = _turn(line, place)
        if turn is None:
            continue
        # The same words in the same second may be said twice: the second of them is another turn.
        seen[session, turn.key] += 1
        if (count := seen[session, turn.key]) > 1:
            turn = _again(turn, count)
        sessions[session].append(turn)
    return tuple(
        ConversationSession(key=name, turns=tuple(sorted(turns, key=lambda turn: turn.happened_at)))
        for name, turns in sessions.items()
    )


def _session_name(line: Mapping[str, Any], place: str) -> str:
    name = line.get("session")
    if isinstance(name, int) and not isinstance(name, bool):
        name = str(name)
    if not isinstance(name, str) or not name.strip():
        raise InvalidInput(place, 'needs "session", the name of the conversation it belongs to.')
    return name.strip()


def _turn(line: Mapping[str, Any], place: str) -> ConversationTurn | None:
    role = text_of(line.get("role"), "role", place=place).strip()
    if not role:
        raise InvalidInput(place, 'needs "role": user, assistant, or the name of who speaks.')
    if role.lower() in _UNSPOKEN:
        return None
    if "timestamp" not in line:
        raise InvalidInput(place, 'needs "timestamp": a memory has its time.')
    happened_at = time_of(line["timestamp"], "timestamp", place=place)
    text = text_of(line.get("content"), "content", place=place)
    person = role.lower() not in _OWNER | _ASSISTANT
    try:
        clean_text(text, field='"content"', limit=MAX_MESSAGE_CHARACTERS)
        clean_text(role, field='"role"', limit=MAX_SPEAKER_CHARACTERS)
    except InvalidInput as error:
        raise InvalidInput(place, f"{error.field} {error.reason}") from None
    from_assistant = role.lower() in _ASSISTANT
    return ConversationTurn(
        key=_digest(role.lower(), happened_at.isoformat(), text),
        place=place,
        text=text,
        happened_at=happened_at,
        speaker=role if person else "",
        from_assistant=from_assistant,
        remembered=not from_assistant,
    )


def _again(turn: ConversationTurn, count: int) -> ConversationTurn:
    return ConversationTurn(
        key=f"{turn.key}:{count}",
        place=turn.place,
        text=turn.text,
        happened_at=turn.happened_at,
        speaker=turn.speaker,
        from_assistant=turn.from_assistant,
        remembered=turn.remembered,
    )


def _digest(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()

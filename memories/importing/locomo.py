"""Conversations in the form of the LoCoMo benchmark: two people, dated sessions, every turn an episode of its speaker.

A session has one time; its turns are a minute apart from there, so that their order is also an order in time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from memories.errors import InvalidInput
from memories.importing.conversations import ConversationSession, ConversationTurn, text_of

_SESSION = re.compile(r"session_(\d+)")
_DATE = re.compile(r"\s*(\d{1,2}):(\d{2})\s*([ap]m) on (\d{1,2}) ([A-Za-z]+),? (\d{4})\s*", re.IGNORECASE)
_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
BETWEEN_TURNS = timedelta(minutes=1)


def conversation_count(data: object) -> int:
    """How many conversations a LoCoMo file holds. Raises InvalidInput if it is none."""
    return len(_entries(data))


def parse_locomo(data: object, index: int) -> tuple[ConversationSession, ...]:
    """The sessions of conversation `index` (from 0) in order; a turn's key is its `dia_id`.

    Raises InvalidInput: not that form, or no such conversation.
    """
    entries = _entries(data)
    if not 0 <= index < len(entries):
        raise InvalidInput("conversation", f"there is no number {index}; this file has 0 to {len(entries) - 1}.")
    entry = entries[index]
    conversation = entry.get("conversation") if isinstance(entry, dict) else None
    if not isinstance(conversation, dict):
        raise InvalidInput(f"conversation {index}", 'needs "conversation", as LoCoMo has it.')
    name = str(entry.get("sample_id") or f"{conversation.get('speaker_a')}-{conversation.get('speaker_b')}")
    numbers = sorted(int(match[1]) for key in conversation if (match := _SESSION.fullmatch(key)))
    if not numbers:
        raise InvalidInput(f"conversation {index}", "has no session_1, session_2 and so on.")
    return tuple(_session(conversation, f"session_{number}", name) for number in numbers)


def _entries(data: object) -> Sequence[Any]:
    entries = data if isinstance(data, list) else [data]
    if not entries or not all(isinstance(entry, dict) and "conversation" in entry for entry in entries):
        raise InvalidInput("file", 'is not in LoCoMo\'s form: a list of objects with "conversation".')
    return entries


def _session(conversation: Mapping[str, Any], key: str, name: str) -> ConversationSession:
    turns = conversation[key]
    if not isinstance(turns, list):
        raise InvalidInput(key, "must be a list of turns.")
    started = _time(conversation.get(f"{key}_date_time"), key)
    spoken = [_turn(turn, f"{key}, turn {n}", started + (n - 1) * BETWEEN_TURNS) for n, turn in enumerate(turns, 1)]
    people = " and ".join(filter(None, (str(conversation.get(f"speaker_{letter}") or "") for letter in "ab")))
    return ConversationSession(
        key=f"{name}/{key}",
        turns=tuple(spoken),
        title=f"{people}, {started.day} {started:%B %Y}"[:200],
    )


def _turn(turn: object, place: str, happened_at: datetime) -> ConversationTurn:
    if not isinstance(turn, dict):
        raise InvalidInput(place, "must be an object with speaker, dia_id and text.")
    speaker, key, text, caption, query = (
        text_of(turn.get(name), name, place=place) for name in ("speaker", "dia_id", "text", "blip_caption", "query")
    )
    if not speaker or not key:
        raise InvalidInput(place, 'needs "speaker" and "dia_id".')
    return ConversationTurn(
        key=key,
        place=f"{place} ({key})",
        text=text,
        happened_at=happened_at,
        speaker=speaker,
        context=f"{caption} {query}".strip() if caption else "",
    )


def _time(value: object, session: str) -> datetime:
    match = _DATE.fullmatch(value) if isinstance(value, str) else None
    if match is None or match[5].lower() not in _MONTHS:
        raise InvalidInput(f"{session}_date_time", 'must be a time such as "1:56 pm on 8 May, 2023".')
    hour = int(match[1]) % 12 + (12 if match[3].lower() == "pm" else 0)
    try:
        return datetime(
            int(match[6]), _MONTHS.index(match[5].lower()) + 1, int(match[4]), hour, int(match[2]), tzinfo=UTC
        )
    except ValueError:
        raise InvalidInput(f"{session}_date_time", "is no time that exists.") from None

"""Parsers for conversations in three formats, and validated reading of files, JSON, texts and times.

Every error names its place in the source. Times are ISO 8601 (UTC without an offset) or seconds since 1970.

JSON lines: `{"session", "role", "content", "timestamp"}`, all required. The role `user` is the owner; `assistant` turns
are stored in the transcript only; `system`, `developer` and `tool` turns are skipped; any other role is a person's
name, whose turns become episodes like the owner's. Turns of a session are sorted by time, then by line.

ChatGPT: `conversations.json` of an account export is a tree of messages. Only the last visible path is read, and only
the texts of user and assistant. A user message longer than MAX_MESSAGE_CHARACTERS is stored in the transcript without
an episode.

LoCoMo: two people, dated sessions, every turn an episode of its speaker. A session has a single time; its turns are
spaced one minute apart, so that sorting by time keeps their order.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from django.utils.translation import gettext as _

from memories.constants import FIRST_YEAR, LAST_YEAR, MAX_MESSAGE_CHARACTERS
from memories.errors import InvalidInput
from memories.hygiene.text import clean_text

Entry = TypeVar("Entry")


@dataclass(frozen=True, slots=True)
class ConversationTurn:
    """One message.

    `key` identifies it within its session and is the same in every export of the source; `place` locates it in error
    messages. Turns with `remembered` become episodes, the others are stored in the transcript only. `speaker` is empty
    for the owner, and for the assistant, which `from_assistant` marks.
    """

    key: str
    place: str
    text: str
    happened_at: datetime
    speaker: str = ""
    context: str = ""
    from_assistant: bool = False
    remembered: bool = True
    metadata: Mapping[str, Any] = field(default_factory=dict)
    app: str = ""


@dataclass(frozen=True, slots=True)
class ConversationSession:
    """Turns in order. An empty `title` is derived from the first words; a long one is truncated."""

    key: str
    turns: tuple[ConversationTurn, ...]
    title: str = ""


# A line holds one message or memory of a few pages; escaped as JSON it stays below a megabyte.
MAX_LINE_BYTES = 1_000_000
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BLANK = object()


@contextmanager
def at_place(place: str) -> Iterator[None]:
    """Re-raise InvalidInput with its place in the source in front of the field."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(place, f"{error.field} {error.reason}") from None


def line_place(number: int) -> str:
    """Return the name of a line in error messages."""
    return f"line {number}"


def read_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file without line ends. Raises InvalidInput for a line over MAX_LINE_BYTES."""
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(line) > MAX_LINE_BYTES:
                raise InvalidInput(line_place(number), f"is longer than {MAX_LINE_BYTES:,} bytes.")
            yield line.rstrip(b"\r\n")


def read_json(path: Path) -> Any:
    """Return the JSON value of a whole file. Raises InvalidInput or OSError."""
    value = json_value(path.read_bytes().removeprefix(_BYTE_ORDER_MARK), place="file")
    if value is _BLANK:
        raise InvalidInput("file", _("is empty."))
    return value


def json_lines(lines: Iterable[bytes | str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the place and JSON object of each line that is not blank. Raises InvalidInput."""
    for number, line in enumerate(lines, start=1):
        place = line_place(number)
        value = json_value(line.removeprefix(_BYTE_ORDER_MARK) if isinstance(line, bytes) else line, place=place)
        if value is _BLANK:
            continue
        if not isinstance(value, dict):
            raise InvalidInput(place, "must be a JSON object, such as {…}.")
        yield place, value


def json_value(source: bytes | str, *, place: str) -> Any:
    """Parse `source` as JSON, or return `_BLANK` if it is blank. Raises InvalidInput naming `place`."""
    try:
        text = source.decode("utf-8") if isinstance(source, bytes) else source
    except UnicodeDecodeError as error:
        raise InvalidInput(place, _("is not valid UTF-8 (at byte %(byte)s).") % {"byte": error.start + 1}) from None
    if not text.strip():
        return _BLANK
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        where = {"line": error.lineno, "character": error.colno}
        raise InvalidInput(place, _("is not valid JSON (at line %(line)s, character %(character)s).") % where) from None
    except RecursionError:
        raise InvalidInput(place, _("is not readable JSON: it is nested too deeply.")) from None
    except ValueError as error:
        raise InvalidInput(place, _("is not readable JSON: %(fault)s.") % {"fault": error}) from None


def text_of(value: object, name: str, *, place: str) -> str:
    """Return `value` if it is text, or "" for None. Raises InvalidInput."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidInput(place, _('"%(name)s" must be text.') % {"name": name})
    return value


def time_of(value: object, name: str, *, place: str) -> datetime:
    """Return `value` as a time in UTC. Raises InvalidInput."""
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value.strip())
            moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            moment = datetime.fromtimestamp(value, UTC)
        else:
            problem = _('"%(name)s" must be a time, such as "2024-03-06T17:42:00Z".')
            raise InvalidInput(place, problem % {"name": name})
    except (ValueError, OverflowError, OSError):
        problem = _('"%(name)s" is not a time; write "2024-03-06T17:42:00Z" or seconds since 1970.')
        raise InvalidInput(place, problem % {"name": name}) from None
    if not FIRST_YEAR <= moment.year <= LAST_YEAR:
        problem = _('"%(name)s" lies outside the years %(first)s to %(last)s.')
        raise InvalidInput(place, problem % {"name": name, "first": FIRST_YEAR, "last": LAST_YEAR})
    return moment


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(_("%(name)s is no number of JSON") % {"name": name})


_OWNER = frozenset(["user", "human"])
_ASSISTANT = frozenset(["assistant", "ai", "bot", "model"])
_UNSPOKEN = frozenset(["system", "developer", "tool", "function"])
MAX_SPEAKER_CHARACTERS = 100


def parse_jsonl(lines: Iterable[bytes | str]) -> tuple[ConversationSession, ...]:
    """Return the sessions of a file in the order of their first lines. Raises InvalidInput naming the line."""
    sessions: dict[str, list[ConversationTurn]] = defaultdict(list)
    seen: dict[tuple[str, str], int] = defaultdict(int)
    for place, line in json_lines(lines):
        session = _session_name(line, place)
        turn = _turn(line, place)
        if turn is None:
            continue
        # The same text at the same time may occur twice, as two turns.
        seen[session, turn.key] += 1
        if (count := seen[session, turn.key]) > 1:
            turn = replace(turn, key=f"{turn.key}:{count}")
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
    with at_place(place):
        clean_text(text, field='"content"', limit=MAX_MESSAGE_CHARACTERS)
        clean_text(role, field='"role"', limit=MAX_SPEAKER_CHARACTERS)
    from_assistant = role.lower() in _ASSISTANT
    return ConversationTurn(
        key=hashlib.sha256(f"{role.lower()}\x1f{happened_at.isoformat()}\x1f{text}".encode()).hexdigest(),
        place=place,
        text=text,
        happened_at=happened_at,
        speaker=role if person else "",
        from_assistant=from_assistant,
        remembered=not from_assistant,
    )


_TEXTS = frozenset(["text", "multimodal_text"])


def chosen(conversations: Sequence[Entry], number: int | None) -> Sequence[tuple[int, Entry]]:
    """Return the conversations of a file with their numbers, or only `number` (from 0). Raises InvalidInput."""
    if number is None:
        return list(enumerate(conversations))
    if not 0 <= number < len(conversations):
        raise InvalidInput("conversation", f"there is no number {number}; this file has {len(conversations)}, from 0.")
    return [(number, conversations[number])]


def parse_chatgpt(data: object, number: int | None = None) -> tuple[ConversationSession, ...]:
    """Return a session for each conversation with a message, or only for `number`.

    Raises InvalidInput for another format or a missing conversation.
    """
    if not isinstance(data, list) or not all(isinstance(entry, dict) and "mapping" in entry for entry in data):
        problem = _('is no conversations.json of an account export: a list of objects with "mapping".')
        raise InvalidInput("file", problem)
    sessions = (_session(entry, _("conversation %(id)s") % {"id": place}) for place, entry in chosen(data, number))
    return tuple(session for session in sessions if session.turns)


def _session(entry: Mapping[str, Any], place: str) -> ConversationSession:
    began = entry.get("create_time")
    started = None if began is None else time_of(began, "create_time", place=place)
    key = text_of(entry.get("conversation_id") or entry.get("id"), "id", place=place)
    if not key:
        raise InvalidInput(place, _('needs "%(name)s".') % {"name": "id"})
    turns: list[ConversationTurn] = []
    for node_id, message in _path(entry, place):
        previous = turns[-1].happened_at if turns else started
        at = _("%(place)s, message %(id)s") % {"place": place, "id": node_id}
        if turn := _chatgpt_turn(node_id, message, at, previous):
            turns.append(turn)
    return ConversationSession(key=key, turns=tuple(turns), title=text_of(entry.get("title"), "title", place=place))


def _path(entry: Mapping[str, Any], place: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the messages from the root to `current_node`: the last visible path, without abandoned branches."""
    mapping, here = entry["mapping"], entry.get("current_node")
    if not isinstance(mapping, dict):
        raise InvalidInput(place, _('"mapping" must be an object.'))
    if not mapping:
        return
    if not isinstance(here, str) or here not in mapping:
        raise InvalidInput(place, _('"current_node" names no message of "mapping".'))
    path: dict[str, Mapping[str, Any]] = {}
    while isinstance(here, str) and here in mapping:
        node = mapping[here]
        if here in path or not isinstance(node, dict):
            raise InvalidInput(place, _('"mapping" is no tree of messages.'))
        path[here] = node
        here = node.get("parent")
    for node_id, node in reversed(path.items()):
        if isinstance(message := node.get("message"), dict):
            yield node_id, message


def _chatgpt_turn(
    node_id: str, message: Mapping[str, Any], place: str, previous: datetime | None
) -> ConversationTurn | None:
    role = _member(message, "author").get("role")
    content = _member(message, "content")
    hidden = _member(message, "metadata").get("is_visually_hidden_from_conversation")
    if role not in ("user", "assistant") or content.get("content_type") not in _TEXTS or hidden:
        return None
    if role == "assistant" and message.get("recipient", "all") != "all":
        return None
    text = _text(content.get("parts"))
    if not text.strip():
        return None
    moment = message.get("create_time")
    if moment is None and previous is None:
        raise InvalidInput(place, _('has no "create_time", and neither has its conversation.'))
    return ConversationTurn(
        key=node_id,
        place=place,
        text=text,
        happened_at=previous if moment is None and previous else time_of(moment, "create_time", place=place),
        from_assistant=role == "assistant",
        remembered=role == "user" and len(text) <= MAX_MESSAGE_CHARACTERS,
    )


def _member(message: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = message.get(name)
    return value if isinstance(value, dict) else {}


def _text(parts: object) -> str:
    if not isinstance(parts, Sequence) or isinstance(parts, str):
        return ""
    return "\n".join(part for part in parts if isinstance(part, str))


_SESSION = re.compile(r"session_(\d+)")
BETWEEN_TURNS = timedelta(minutes=1)


def parse_locomo(data: object, number: int | None = None) -> tuple[ConversationSession, ...]:
    """Return the sessions of all conversations, or only of `number`, in order; a turn's key is its `dia_id`.

    Raises InvalidInput for another format or a missing conversation.
    """
    entries = data if isinstance(data, list) else [data]
    if not entries or not all(isinstance(entry, dict) and "conversation" in entry for entry in entries):
        raise InvalidInput("file", 'is not in LoCoMo\'s form: a list of objects with "conversation".')
    return tuple(session for place, entry in chosen(entries, number) for session in _locomo(entry, place))


def _locomo(entry: Mapping[str, Any], place: int) -> Iterator[ConversationSession]:
    conversation = entry["conversation"]
    if not isinstance(conversation, dict):
        raise InvalidInput(f"conversation {place}", 'needs "conversation", as LoCoMo has it.')
    name = str(entry.get("sample_id") or f"{conversation.get('speaker_a')}-{conversation.get('speaker_b')}")
    numbers = sorted(int(match[1]) for key in conversation if (match := _SESSION.fullmatch(key)))
    if not numbers:
        raise InvalidInput(f"conversation {place}", "has no session_1, session_2 and so on.")
    for number in numbers:
        yield _locomo_session(conversation, f"session_{number}", name)


def _locomo_session(conversation: Mapping[str, Any], key: str, name: str) -> ConversationSession:
    turns = conversation[key]
    if not isinstance(turns, list):
        raise InvalidInput(key, "must be a list of turns.")
    started = _time(conversation.get(f"{key}_date_time"), key)
    spoken = [
        _locomo_turn(turn, f"{key}, turn {n}", started + (n - 1) * BETWEEN_TURNS) for n, turn in enumerate(turns, 1)
    ]
    people = " and ".join(filter(None, (str(conversation.get(f"speaker_{letter}") or "") for letter in "ab")))
    return ConversationSession(
        key=f"{name}/{key}",
        turns=tuple(spoken),
        title=f"{people}, {started.day} {started:%B %Y}"[:200],
    )


def _locomo_turn(turn: object, place: str, happened_at: datetime) -> ConversationTurn:
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
    try:
        return datetime.strptime(str(value).strip().replace(",", ""), "%I:%M %p on %d %B %Y").replace(tzinfo=UTC)
    except ValueError:
        raise InvalidInput(f"{session}_date_time", 'must be a time such as "1:56 pm on 8 May, 2023".') from None

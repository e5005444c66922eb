"""Conversations in the form that the import takes, and checked reading of files, JSON, texts and times.

Every error names the place in the source. Times are ISO 8601 (without an offset: UTC) or seconds since 1970.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

from memories.constants import FIRST_YEAR, LAST_YEAR
from memories.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class ConversationTurn:
    """One message.

    `key` names it within its session and is the same in every export of the source; `place` is its place in the source,
    for error messages. `remembered` turns become episodes, the others go to the transcript only. `speaker` is empty for
    the owner, and for the assistant, which `from_assistant` marks.
    """

    key: str
    place: str
    text: str
    happened_at: datetime
    speaker: str = ""
    context: str = ""
    from_assistant: bool = False
    remembered: bool = True


@dataclass(frozen=True, slots=True)
class ConversationSession:
    """Turns in their order. An empty `title` is made from the first words; a long one is cut."""

    key: str
    turns: tuple[ConversationTurn, ...]
    title: str = ""


# A line holds one message or one memory, of a few pages at most; escaped as JSON that stays below a megabyte.
MAX_LINE_BYTES = 1_000_000
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BLANK = object()


def line_place(number: int) -> str:
    """The name of a line in error messages."""
    return f"line {number}"


def read_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file without their ends. Raises InvalidInput for a line over MAX_LINE_BYTES."""
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(line) > MAX_LINE_BYTES:
                raise InvalidInput(line_place(number), f"is longer than {MAX_LINE_BYTES:,} bytes.")
            yield line.rstrip(b"\r\n")


def read_json(path: Path) -> Any:
    """The JSON value of a whole file. Raises InvalidInput, OSError."""
    value = json_value(path.read_bytes().removeprefix(_BYTE_ORDER_MARK), place="file")
    if value is _BLANK:
        raise InvalidInput("file", "is empty.")
    return value


def json_lines(lines: Iterable[bytes | str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The place and the JSON object of each line that is not blank. Raises InvalidInput."""
    for number, line in enumerate(lines, start=1):
        place = line_place(number)
        value = json_value(line.removeprefix(_BYTE_ORDER_MARK) if isinstance(line, bytes) else line, place=place)
        if value is _BLANK:
            continue
        if not isinstance(value, dict):
            raise InvalidInput(place, "must be a JSON object, such as {…}.")
        yield place, value


def json_value(source: bytes | str, *, place: str) -> Any:
    """The JSON value of `source`, or `_BLANK`. Raises InvalidInput naming `place`."""
    try:
        text = source.decode("utf-8") if isinstance(source, bytes) else source
    except UnicodeDecodeError as error:
        raise InvalidInput(place, f"is not valid UTF-8 (at byte {error.start + 1}).") from None
    if not text.strip():
        return _BLANK
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise InvalidInput(place, f"is not valid JSON ({error.msg} at {_position(error)}).") from None
    except RecursionError:
        raise InvalidInput(place, "is not readable JSON: it is nested too deeply.") from None
    except ValueError as error:
        raise InvalidInput(place, f"is not readable JSON: {error}.") from None


def text_of(value: object, name: str, *, place: str) -> str:
    """`value` if it is text (None: empty). Raises InvalidInput."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidInput(place, f'"{name}" must be text.')
    return value


def time_of(value: object, name: str, *, place: str) -> datetime:
    """`value` as a time in UTC. Raises InvalidInput."""
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value.strip())
            moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            moment = datetime.fromtimestamp(value, UTC)
        else:
            raise InvalidInput(place, f'"{name}" must be a time, such as "2024-03-06T17:42:00Z".')
    except (ValueError, OverflowError, OSError):
        problem = f'"{name}" is not a time; write "2024-03-06T17:42:00Z" or seconds since 1970.'
        raise InvalidInput(place, problem) from None
    if not FIRST_YEAR <= moment.year <= LAST_YEAR:
        raise InvalidInput(place, f'"{name}" lies outside the years {FIRST_YEAR} to {LAST_YEAR}.')
    return moment


def _position(error: json.JSONDecodeError) -> str:
    return f"character {error.colno}" if error.lineno == 1 else f"line {error.lineno}, character {error.colno}"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")

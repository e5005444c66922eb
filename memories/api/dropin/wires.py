"""The APIs that agents speak, as far as memory needs them: who said what, where records go, what was answered.

Pure. What cannot be read here is passed on as it is: the model's own API judges its requests, and nobody else.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import orjson

from memories.errors import InvalidInput
from memories.llm.streaming import storable
from memories.llm.tokens import estimated

Json = dict[str, Any]

# Of a whole answer, and of one event of a stream: what is longer is passed on, and not read.
MAX_READ_BYTES = 1024**2
# The items of a conversation, and the objects and lists in a whole request: millions of empty ones fit into a body.
MAX_ITEMS, MAX_PARTS = 10_000, 100_000
_TEXTS = ("text", "input_text", "output_text")
_INSTRUCTING = ("system", "developer")
# What refers to things that the model's API keeps for all who share its key, and not for one member: of the request,
# and of anything in it.
_STATE = ("previous_response_id", "conversation", "background")
_REFERENCES = frozenset({"file_id", "file_ids", "vector_store_ids", "container", "container_id"})
_IMAGE_CALL = "image_generation_call"
# What the caller's own tools and formats take.
_CALLERS = frozenset({"input", "parameters", "input_schema", "input_examples", "schema"})
_UNWRITTEN = frozenset({"type", "role", "id", "signature", "encrypted_content"})
# Anthropic: an image has at most about 1,600 tokens.
_IMAGE = "1" * 1_600
# Of what is longer, in characters, the bytes are counted: reading every word takes seconds.
_MAX_ESTIMATED = 1_000_000
# A guess on the high side, where only the bytes are known.
BYTES_A_TOKEN = 3
_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
}


@dataclass(frozen=True, slots=True)
class Spoken:
    """The user's latest words in a request. They begin at `place` of its items; `is_new`: nothing answered them yet.

    `opening` and `conversation` are digests: of the user's first words, and of all items until and with these.
    """

    text: str
    name: str
    place: int
    is_new: bool
    opening: str
    conversation: str


class Wire(ABC):
    """One API. `read` takes an event of a stream, or a whole answer."""

    vendor: ClassVar[str]
    items_field: ClassVar[str] = "messages"
    default_role: ClassVar[str] = "system"
    user_fields: ClassVar[tuple[tuple[str, ...], ...]] = (("user",), ("safety_identifier",))

    def items(self, body: Json) -> list[Json]:
        """The items of the conversation; empty if they cannot be read."""
        items = body.get(self.items_field)
        if isinstance(items, str):
            return [{"role": "user", "content": items}]
        return items if isinstance(items, list) and all(isinstance(each, dict) for each in items) else []

    def spoken(self, body: Json) -> Spoken | None:
        """The user's latest words; None if there are none. What is beside results of tools is not the user's."""
        items = self.items(body)
        speaking = dict.fromkeys(
            number for number, item in enumerate(items) if _is_users(item) and text_of(item).strip()
        )
        if not speaking:
            return None
        first, last = next(iter(speaking)), next(reversed(speaking))
        place = last
        for number in range(last - 1, -1, -1):
            if number in speaking:
                place = number
            elif not _is_users(items[number]) and items[number].get("role") not in _INSTRUCTING:
                break
        name = items[last].get("name")
        return Spoken(
            "\n\n".join(text_of(items[number]) for number in speaking if number >= place),
            name if isinstance(name, str) else "",
            place,
            all(_is_users(item) or item.get("role") in _INSTRUCTING for item in items[last + 1 :]),
            _digest(text_of(items[first])),
            _digest(items[: last + 1]),
        )

    def with_record(self, body: Json, spoken: Spoken, record: str) -> Json:
        """The request with a record right before the user's latest words, in a role of its own."""
        items = self.items(body)
        roles = [item.get("role") for item in items]
        role = next((each for each in _INSTRUCTING if each in roles), self.default_role)
        added = {"role": role, "content": record}
        return {**body, self.items_field: [*items[: spoken.place], added, *items[spoken.place :]]}

    def shared_state(self, body: Json) -> str:
        """The name of a member that refers to what the API keeps under the tenant's key; empty if there is none.

        Raises InvalidInput for more than MAX_ITEMS items or MAX_PARTS parts.
        """
        items = body.get(self.items_field)
        if isinstance(items, list) and len(items) > MAX_ITEMS:
            raise InvalidInput(self.items_field, f"has more than {MAX_ITEMS:,} items.")
        named = next((name for name in _STATE if body.get(name)), "")
        items = body.get("input")
        for item in items if isinstance(items, list) else [items]:
            if isinstance(item, dict) and item.get("id") and not (item.get("type") or item.get("role")):
                named = "item_reference"  # the type may be left out
        return _reference(body) or named

    def users(self, body: Json) -> list[object]:
        """The users that a request names in the API's own fields."""
        found: list[object] = []
        for path in self.user_fields:
            value: object = body
            for name in path:
                value = value.get(name) if isinstance(value, dict) else None
            if value is not None:
                found.append(value)
        return found

    @abstractmethod
    def read(self, event: Json, answer: AnswerReader) -> None:
        """Add what an event says to the answer."""

    def error(self, status: int, message: str, *, code: str, param: str | None, request_id: str) -> Json:  # noqa: ARG002
        """The body of an error."""
        return {"error": {"message": message, "type": _kind(status), "param": param, "code": code}}


class ChatWire(Wire):
    """OpenAI's chat completions."""

    vendor = "openai"

    def read(self, event: Json, answer: AnswerReader) -> None:
        """Add the text of the first choice."""
        for choice in event.get("choices") or ():
            said = choice.get("delta") or choice.get("message") or {}
            answer.count(said)
            if not choice.get("index"):
                answer.say(text_of(said))
        answer.usage.update(event.get("usage") or {})


class ResponsesWire(Wire):
    """OpenAI's responses."""

    vendor = "openai"
    items_field = "input"
    default_role = "developer"

    def read(self, event: Json, answer: AnswerReader) -> None:
        """Add a delta of the text, or that of a whole answer, which the last event of a stream repeats."""
        kind, whole = event.get("type"), event
        if kind is None:
            answer.count(event.get("output"))
        elif str(kind).endswith(".delta"):
            answer.count(event.get("delta"))
        if kind == "response.output_text.delta":
            answer.say(str(event.get("delta") or ""))
            return
        if kind is not None:
            if kind not in ("response.completed", "response.incomplete", "response.failed"):
                return
            whole, answer.is_over = event.get("response") or {}, True
        answer.usage.update(whole.get("usage") or {})
        answer.texts[:] = [text_of(item) for item in whole.get("output") or ()] or answer.texts


class MessagesWire(Wire):
    """Anthropic's messages."""

    vendor = "anthropic"
    user_fields = (("metadata", "user_id"),)

    def with_record(self, body: Json, spoken: Spoken, record: str) -> Json:  # noqa: ARG002 - there is one place
        """The request with a record at the end of its instructions: messages have two roles alone."""
        given = body.get("system") or []
        blocks = [{"type": "text", "text": given}] if isinstance(given, str) else given
        return {**body, "system": [*blocks, {"type": "text", "text": record}]} if isinstance(blocks, list) else body

    def read(self, event: Json, answer: AnswerReader) -> None:
        """Add a delta of the text, or that of a whole answer."""
        kind, source = event.get("type"), event
        answer.count([event.get("delta"), event.get("content_block"), event.get("content")])
        if kind == "content_block_delta":
            answer.say(str((event.get("delta") or {}).get("text") or ""))
        elif kind == "message_start":
            source = event.get("message") or {}
        elif kind == "message":
            answer.say(text_of(event))
        answer.usage.update(source.get("usage") or {})
        answer.is_over = answer.is_over or kind == "message_stop"

    def error(self, status: int, message: str, *, code: str, param: str | None, request_id: str) -> Json:  # noqa: ARG002
        """The body of an error."""
        return {"type": "error", "error": {"type": _kind(status), "message": message}, "request_id": request_id}


class AnswerReader:
    """Reads an answer beside its way to the client, event by event if it `streams`.

    `usage` is the API's own count, `written` an estimate of the tokens of all that was written, tools' calls included.
    """

    def __init__(self, wire: Wire, *, streams: bool) -> None:
        self.texts: list[str] = []
        self._room = MAX_READ_BYTES
        self.usage: Json = {}
        self.written = 0
        self.is_over = False
        self._wire = wire
        self.streams = streams
        self._line = bytearray()  # the beginning of the next line
        self._is_long = False

    @property
    def text(self) -> str:
        """The text so far, as it can be stored: models break a character in two, and write NUL."""
        return storable("".join(self.texts))

    @property
    def tokens(self) -> int:
        """The tokens of the prompt and the answer; 0 if the API did not say."""
        counts = {name: count for name, count in self.usage.items() if isinstance(count, int)}
        names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
        return counts.get("total_tokens") or sum(counts.get(name, 0) for name in names)

    def say(self, text: str) -> None:
        """Add to the text, up to MAX_READ_BYTES characters: the transcript keeps fewer."""
        if text and self._room > 0:
            self.texts.append(text)
            self._room -= len(text)

    def count(self, value: object) -> None:
        """Count what was written."""
        self.written += _estimated(_texts(value, names=False))

    def feed(self, data: bytes) -> None:
        """Read the next bytes of a stream, or all of a whole answer; no line that is longer than MAX_READ_BYTES."""
        if not self.streams:
            self._read(data)
            return
        *ended, rest = data.split(b"\n")
        if ended:
            ended[0] = b"" if self._is_long else bytes(self._line) + ended[0]
            self._line.clear()
            self._is_long = False
        for line in ended:
            if line.startswith(b"data:") and len(line) <= MAX_READ_BYTES:
                self._read(line[5:].strip())
        self._is_long = self._is_long or len(self._line) + len(rest) > MAX_READ_BYTES
        if self._is_long:
            self._line.clear()
        else:
            self._line += rest

    def _read(self, data: bytes) -> None:
        if data == b"[DONE]":
            self.is_over = True
            return
        try:
            self._wire.read(_parsed(data), self)
        except (ValueError, TypeError, AttributeError, RecursionError):
            return  # of another form: it is passed on, and not in the transcript


def _parsed(data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:  # it takes no half of a character, as a stream has that cuts where it likes
        return json.loads(data)


def text_of(item: Mapping[str, Any]) -> str:
    """The text of an item, without images, files and results of tools."""
    content = item.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    texts = (each.get("text") for each in parts if isinstance(each, dict) and each.get("type") in _TEXTS)
    return "\n".join(each for each in texts if isinstance(each, str))


def prompt_tokens(body: Json) -> int:
    """An estimate of the tokens of a whole request, tools and instructions included."""
    return _estimated(_texts(body, names=True))


def _texts(value: object, *, names: bool) -> list[str]:
    """All texts in a value, with the names of its members or without, and without what names and signs its parts."""
    texts, remaining = [], [value]
    while remaining:
        each = remaining.pop()
        if isinstance(each, str):
            texts.append(each)
        elif isinstance(each, list):
            remaining += each
        elif isinstance(each, dict):
            texts += each if names else ()
            remaining += [_image(each, name) or part for name, part in each.items() if name not in _UNWRITTEN]
    return texts


def _image(value: Json, name: str) -> str:
    """In place of an image within a request, whose tokens its bytes do not tell."""
    given = value[name]
    if name in ("url", "image_url"):
        return _IMAGE if isinstance(given, str) and given.startswith("data:image/") else ""
    is_image = value.get("type") == "base64" and str(value.get("media_type")).startswith("image/")
    return _IMAGE if is_image and name == "data" else ""


def _estimated(texts: list[str]) -> int:
    text = "\n".join(texts)
    rest = text[_MAX_ESTIMATED:]
    return estimated(text[:_MAX_ESTIMATED]) + len(rest.encode(errors="surrogatepass")) // BYTES_A_TOKEN


def _reference(body: Json) -> str:
    """The name of a member that refers to such a thing, wherever it is but in what is the caller's own.

    Nothing in a stored prompt's variables is: their names are the caller's choice.
    """
    found = _referring(body)
    given = ((name, each) for name, each in body.items() if name != "metadata")
    parts = 0
    remaining: list[tuple[object, bool]] = [(each, name != "prompt") for name, each in given]
    while remaining:
        parts += 1
        if parts + len(remaining) > MAX_PARTS:
            raise InvalidInput("body", f"holds more than {MAX_PARTS:,} objects and lists.")
        value, has_own = remaining.pop()
        if isinstance(value, list):
            remaining += [(each, has_own) for each in value if isinstance(each, dict | list)]
        elif isinstance(value, dict):
            found = found or _referring(value)
            skipped = _CALLERS if has_own and ("name" in value or value.get("type") == "json_schema") else ()
            remaining += [
                (each, has_own) for name, each in value.items() if isinstance(each, dict | list) and name not in skipped
            ]
    return found


def _referring(value: Json) -> str:
    if value.get("type") == "item_reference":
        return "item_reference"
    if value.get("type") == _IMAGE_CALL and value.get("id") and not value.get("result"):
        return _IMAGE_CALL  # the image of an earlier answer
    if isinstance(audio := value.get("audio"), dict) and audio.get("id"):
        return "audio.id"
    for name in sorted(_REFERENCES & value.keys()):
        given = value[name]
        is_new = name == "container" and isinstance(given, dict) and given.get("type") == "auto" and not given.get("id")
        if given and not is_new:
            return name
    return ""


def _is_users(item: Mapping[str, Any]) -> bool:
    content = item.get("content")
    parts: Sequence[Any] = content if isinstance(content, list) else ()
    results = any(isinstance(part, dict) and str(part.get("type", "")).endswith("tool_result") for part in parts)
    return item.get("role") == "user" and item.get("type", "message") == "message" and not results


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


def _kind(status: int) -> str:
    return _ERRORS.get(status, "api_error" if status >= 500 else _ERRORS[400])  # noqa: PLR2004 - the class of a status

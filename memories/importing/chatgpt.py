"""The `conversations.json` of a ChatGPT account export: a tree of messages, of which the last visible path counts.

Text of the user and of the assistant is taken; images, code runs, hidden prompts and tool traffic are left out. A user
message that is longer than a memory may be stays in the transcript and becomes no episode.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from memories.constants import MAX_MESSAGE_CHARACTERS
from memories.errors import InvalidInput
from memories.importing.conversations import ConversationSession, ConversationTurn, text_of, time_of

_TEXTS = frozenset(["text", "multimodal_text"])


def parse_chatgpt(data: object, index: int | None = None) -> tuple[ConversationSession, ...]:
    """A session for each conversation with something said (only for number `index`, from 0, if given).

    Raises InvalidInput: not that form, or no such conversation.
    """
    if not isinstance(data, list) or not all(isinstance(entry, dict) and "mapping" in entry for entry in data):
        raise InvalidInput("file", 'is no conversations.json of an account export: a list of objects with "mapping".')
    if index is not None and not 0 <= index < len(data):
        raise InvalidInput("conversation", f"there is no number {index}; this file has 0 to {len(data) - 1}.")
    chosen = enumerate(data) if index is None else [(index, data[index])]
    sessions = (_session(entry, f"conversation {number}") for number, entry in chosen)
    return tuple(session for session in sessions if session.turns)


def _session(entry: Mapping[str, Any], place: str) -> ConversationSession:
    began = entry.get("create_time")
    started = None if began is None else time_of(began, "create_time", place=place)
    key = text_of(entry.get("conversation_id") or entry.get("id"), "id", place=place)
    if not key:
        raise InvalidInput(place, 'needs "id".')
    turns: list[ConversationTurn] = []
    for node_id, message in _path(entry, place):
        previous = turns[-1].happened_at if turns else started
        if turn := _turn(node_id, message, f"{place}, message {node_id}", previous):
            turns.append(turn)
    return ConversationSession(key=key, turns=tuple(turns), title=text_of(entry.get("title"), "title", place=place))


def _path(entry: Mapping[str, Any], place: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The messages from the root to `current_node`: what the user last saw, without abandoned branches."""
    mapping, here = entry["mapping"], entry.get("current_node")
    if not isinstance(mapping, dict):
        raise InvalidInput(place, '"mapping" must be an object.')
    if not mapping:
        return
    if not isinstance(here, str) or here not in mapping:
        raise InvalidInput(place, '"current_node" names no message of "mapping".')
    path: dict[str, Mapping[str, Any]] = {}
    while isinstance(here, str) and here in mapping:
        node = mapping[here]
        if here in path or not isinstance(node, dict):
            raise InvalidInput(place, '"mapping" is no tree of messages.')
        path[here] = node
        here = node.get("parent")
    for node_id, node in reversed(path.items()):
        if isinstance(message := node.get("message"), dict):
            yield node_id, message


def _turn(node_id: str, message: Mapping[str, Any], place: str, previous: datetime | None) -> ConversationTurn | None:
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
        raise InvalidInput(place, 'has no "create_time", and neither has its conversation.')
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

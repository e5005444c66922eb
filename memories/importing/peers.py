"""Parsers for what other products export: mem0, Zep, Letta and LangGraph. docs/importing.md names their sources.

Each returns conversations, facts, and what it refuses with the reason. Nothing becomes the user's that somebody else
said: agents' memories, assistants' and other people's words are refused or stay in the transcript, and a file that
holds several users is read only for one who is named (`whose`).

Ids that are unique beyond the file identify entries in a later import; otherwise a digest of the content does.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memories.attributes.metadata import checked_metadata
from memories.constants import MAX_MEMORY_CHARACTERS, MAX_MESSAGE_CHARACTERS
from memories.errors import InvalidInput
from memories.hygiene.text import clean_text, has_visible_text
from memories.importing.conversations import ConversationSession, ConversationTurn, text_of, time_of
from memories.importing.records import ItemRecord, MemoryRecord, parse_memory
from memories.types import Kind, Status

Entry = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RefusedEntry:
    """An entry that is not imported, by its place in the file, and why."""

    place: str
    reason: str


@dataclass(slots=True)
class PeerExport:
    """What a file holds for one user."""

    sessions: list[ConversationSession] = field(default_factory=list)
    records: list[MemoryRecord] = field(default_factory=list)
    items: list[ItemRecord] = field(default_factory=list)
    refused: list[RefusedEntry] = field(default_factory=list)
    _places: dict[str, str] = field(default_factory=dict)

    def refuse(self, place: str, reason: str) -> None:
        """Leave an entry out."""
        self.refused.append(RefusedEntry(place, reason))

    def add_fact(self, place: str, text: object, **values: Any) -> None:
        """Add a fact, or refuse what cannot be stored as one."""
        name = "its text"
        try:
            clean_text(text, field=name, limit=MAX_MEMORY_CHARACTERS)
            name = "its"
            record = parse_memory({"kind": Kind.SEMANTIC, "text": text, **values}, place=place)
        except InvalidInput as error:
            self.refuse(place, f"{name} {error.reason}")
            return
        first = self._places.setdefault(record.id, place)
        if record.id and first != place:
            self.refuse(place, f"has the same id as {first}.")
        else:
            self.records.append(record)

    def add_session(self, key: str, turns: Sequence[ConversationTurn], title: str = "") -> None:
        """Add a conversation; turns are in the order of the file. Nothing to say is no conversation."""
        found: dict[str, ConversationTurn] = {}
        for turn in turns:
            if turn.key in found:
                self.refuse(turn.place, f"has the same id as {found[turn.key].place}.")
                continue
            try:
                clean_text(turn.text, field="its text", limit=len(turn.text))
            except InvalidInput as error:
                self.refuse(turn.place, f"{error.field} {error.reason}")
                continue
            found[turn.key] = turn
        if found:
            self.sessions.append(ConversationSession(key, tuple(found.values()), title))


def parse_mem0(data: object, whose: str = "") -> PeerExport:
    """Memories as `get_all` and the REST API of mem0 list them: `{"results": [{"id", "memory", …}]}`, or the list."""
    export = PeerExport()
    entries = _entries(data, "results", "memory")
    only = _one_user({str(each["user_id"]) for _, each in entries if each.get("user_id")}, whose, "user_id")
    for place, each in entries:
        user, actor = each.get("user_id"), each.get("actor_id")
        metadata = _mapping(each.get("metadata"))
        if user is None and each.get("agent_id"):
            export.refuse(place, "is a memory of an agent, not of a user.")
        elif only and str(user) != only:
            export.refuse(place, "belongs to another user.")
        elif "assistant" in (each.get("role"), metadata.get("role")):
            export.refuse(place, "was said by an assistant.")
        elif actor and actor != user:
            export.refuse(place, "was said by somebody else (actor_id).")
        else:
            categories = [name for name in _list(each.get("categories")) if isinstance(name, str)]
            known = {name: each[name] for name in ("run_id",) if each.get(name)}
            export.add_fact(
                place,
                each.get("memory"),
                id=f"mem0:{each['id']}" if each.get("id") else "",
                category=categories[0] if categories else "",
                learned_at=each.get("created_at"),
                last_verified_at=each.get("updated_at"),
                expires_at=each.get("expiration_date"),
                metadata=known | metadata | ({"categories": categories} if len(categories) > 1 else {}),
                app=text_of(each.get("app_id") or each.get("agent_id"), "app_id", place=place),
            )
    return export


def parse_zep(data: object, whose: str = "") -> PeerExport:
    """Edges of a user's graph, `{"edges": […]}` or their list, and threads: `{"threads": [{"messages": […]}]}`.

    One thread may stand alone, as the API answers it. v2 calls threads sessions, and the role `role_type`.
    """
    export = PeerExport()
    root = _mapping(data)
    edges = data if isinstance(data, list) else root.get("edges", [])
    for place, edge in _entries({"edges": edges}, "edges", "fact"):
        ended = edge.get("expired_at") or edge.get("invalid_at")
        export.add_fact(
            place,
            edge.get("fact"),
            id=f"zep:{edge['uuid']}" if edge.get("uuid") else "",
            learned_at=edge.get("created_at") or edge.get("valid_at"),
            valid_from=edge.get("valid_at"),
            valid_to=edge.get("invalid_at"),
            metadata={"relation": edge["name"]} if edge.get("name") else {},
            **({"status": Status.SUPERSEDED, "superseded_at": ended} if ended else {}),
        )
    threads = root.get("threads") or root.get("sessions") or ([root] if root.get("messages") else [])
    found = [
        (place, thread, list(_entries(thread, "messages", "content", inside=f"{place}.")))
        for place, thread in _entries({"threads": threads}, "threads", "messages")
    ]
    said = [each for _, _, messages in found for _, each in messages]
    names = {str(each["name"]) for each in said if _zep_role(each) == "user" and each.get("name")}
    only = _one_user(names, whose, "name")
    for place, thread, messages in found:
        key = next((str(thread[name]) for name in ("thread_id", "session_id", "uuid") if thread.get(name)), "")
        turns = [turn for at, each in messages if (turn := _zep_turn(export, at, each, only))]
        export.add_session(f"zep:{key or _digest([turn.key for turn in turns])}", turns)
        if not turns:
            export.refuse(place, "holds nothing that a user or an assistant said.")
    return export


def _zep_role(message: Entry) -> str:
    return str(message.get("role_type") or message.get("role") or "").lower()


def _zep_turn(export: PeerExport, place: str, message: Entry, only: str) -> ConversationTurn | None:
    role = _zep_role(message)
    if role not in ("user", "assistant"):
        export.refuse(place, "was said neither by a user nor by an assistant.")
        return None
    name = text_of(message.get("name"), "name", place=place)
    other = role == "user" and only and name and name != only
    return _turn(
        export,
        place,
        text_of(message.get("content"), "content", place=place),
        message.get("created_at"),
        key=f"zep:{message['uuid']}" if message.get("uuid") else "",
        role=role,
        speaker=name if other else "",
    )


# What the server of Letta says to an agent in the role of the user.
_EVENT_TYPES = frozenset(["heartbeat", "login", "system_alert", "reply"])


def parse_letta(data: object, whose: str = "") -> PeerExport:  # noqa: ARG001 - an agent file has one user
    """An agent file (`.af`), or a list of archival passages as the API answers it: `[{"id", "text", …}]`.

    The lines of the block `human` become facts; other blocks are the agent's own. Ids in agent files are numbers.
    """
    export = PeerExport()
    root = _mapping(data)
    passages = data if isinstance(data, list) else root.get("passages", [])
    for place, passage in _entries({"passages": passages}, "passages", "text"):
        export.add_fact(
            place,
            passage.get("text"),
            id=f"letta:{passage['id']}" if passage.get("id") else "",
            learned_at=passage.get("created_at"),
            metadata=_mapping(passage.get("metadata")) | ({"tags": passage["tags"]} if passage.get("tags") else {}),
        )
    blocks = root.get("blocks") or root.get("core_memory") or []
    for place, block in _entries({"blocks": blocks}, "blocks", "value"):
        if block.get("label") != "human":
            export.refuse(place, "is a block of the agent's own, not about the user (its label is not human).")
            continue
        for line in text_of(block.get("value"), "value", place=place).splitlines():
            text = line.strip().lstrip("-*• ").strip()
            if text and not text.endswith((": ?", ":")):
                export.add_fact(place, text, id=f"letta:{_digest(['human', text])}")
    agents = root.get("agents") or ([root] if root.get("messages") else [])
    for place, agent in _entries({"agents": agents}, "agents", "messages"):
        messages = _entries(agent, "messages", "role", inside=f"{place}.")
        turns = [turn for at, each in messages if (turn := _letta_turn(export, at, each))]
        name = text_of(agent.get("name"), "name", place=place)
        began = turns[0].happened_at.isoformat() if turns else ""
        export.add_session(f"letta:{_digest([name, began])}", turns, title=name)
    return export


def _letta_turn(export: PeerExport, place: str, message: Entry) -> ConversationTurn | None:
    role, text = message.get("role"), _letta_text(message)
    if role == "user":
        if str(message.get("sender_id") or "").startswith("agent-"):
            export.refuse(place, "was said by another agent.")
            return None
        wrapped = _object_in(text)
        if wrapped.get("type") in _EVENT_TYPES:
            return None
        text = text_of(wrapped.get("message"), "message", place=place) if "message" in wrapped else text
    elif role == "assistant":
        for call in _list(message.get("tool_calls")):
            function = _mapping(_mapping(call).get("function"))
            if function.get("name") == "send_message":
                text = str(_object_in(str(function.get("arguments") or "")).get("message") or text)
    else:  # the system's prompt, and what tools answered
        return None
    if not has_visible_text(text):
        return None
    return _turn(export, place, text, message.get("created_at"), key="", role=str(role))


def _letta_text(message: Entry) -> str:
    content = message.get("content", message.get("text"))
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in map(_mapping, _list(content)) if isinstance(part.get("text"), str))


def _object_in(text: str) -> Entry:
    """The JSON object that a text is, or an empty one."""
    try:
        return _mapping(json.loads(text))
    except (ValueError, RecursionError):
        return {}


# The members of a value that hold its text, first choice first; LangMem nests them in `content`.
_TEXTS = ("text", "content", "memory", "fact", "data", "description", "value")


def parse_langgraph(data: object, whose: str = "") -> PeerExport:
    """Items of a store, as `search` answers them: `{"items": [{"namespace", "key", "value", …}]}`, or the list."""
    export = PeerExport()
    entries = _entries(data, "items", "value")
    spaces = {place: _namespace(item, place) for place, item in entries}
    if len(set(spaces.values())) > 1 and not whose:
        raise InvalidInput(
            "source_user",
            f"is missing: the file holds {len(set(spaces.values())):,} namespaces; name the part of a namespace that is"
            " this user's.",
        )
    for place, item in entries:
        if whose and whose not in spaces[place]:
            export.refuse(place, "belongs to another namespace.")
            continue
        value, key = item.get("value"), text_of(item.get("key"), "key", place=place)
        text = _text_in(value)
        if not text:
            export.refuse(place, f"has no text to remember: its value needs one of {', '.join(_TEXTS)}.")
            continue
        named: dict[str, Any] = {"namespace": list(spaces[place]), "key": key}
        export.add_fact(
            place,
            text,
            id=f"langgraph:{_digest([*spaces[place], key])}",
            learned_at=item.get("updated_at") or item.get("created_at"),
            metadata=_if_storable(named | {"value": value}) or named,
        )
    return export


def _namespace(item: Entry, place: str) -> tuple[str, ...]:
    found = item.get("namespace")
    parts = found.split(".") if isinstance(found, str) else found
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise InvalidInput(place, '"namespace" must be a list of texts.')
    return tuple(parts)


def _text_in(value: object) -> str:
    if isinstance(value, str):
        return value
    inner = _mapping(value)
    found = next((inner[name] for name in _TEXTS if inner.get(name)), None)
    if isinstance(found, str):
        return found
    nested = _mapping(found)
    return next((nested[name] for name in _TEXTS if isinstance(nested.get(name), str)), "")


def _if_storable(metadata: Entry) -> Entry:
    try:
        checked_metadata(metadata)
    except InvalidInput:
        return {}
    return metadata


def _turn(
    export: PeerExport, place: str, text: str, at: object, *, key: str, role: str, speaker: str = ""
) -> ConversationTurn | None:
    """A turn of a user or an assistant; None if it has no time or no words."""
    try:
        happened_at: datetime = time_of(at, "created_at", place=place)
    except InvalidInput as error:
        export.refuse(place, error.reason)
        return None
    if not has_visible_text(text):
        export.refuse(place, "has no words.")
        return None
    return ConversationTurn(
        key=key or _digest([role, happened_at.isoformat(), text]),
        place=place,
        text=text,
        happened_at=happened_at,
        speaker=speaker,
        from_assistant=role == "assistant",
        remembered=role == "user" and len(text) <= MAX_MESSAGE_CHARACTERS,
    )


def _entries(data: object, name: str, member: str, inside: str = "") -> list[tuple[str, Entry]]:
    """The objects of the list `data`, or of its member `name`, with their places. Raises InvalidInput."""
    found = data if isinstance(data, list) else _mapping(data).get(name)
    if found is None:
        found = []
    if not isinstance(found, list):
        raise InvalidInput(f"{inside}{name}", "must be a list.")
    return list(_objects(found, f"{inside}{name}", member))


def _objects(found: Sequence[object], name: str, member: str) -> Iterator[tuple[str, Entry]]:
    for number, each in enumerate(found):
        place = f"{name}.{number}"
        if not isinstance(each, dict):
            raise InvalidInput(place, f'must be an object with "{member}".')
        yield place, each


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _one_user(found: set[str], whose: str, name: str) -> str:
    """The user whose entries are read; empty if the file names none. Raises InvalidInput if it is not clear who."""
    if whose:
        if found and whose not in found:
            raise InvalidInput("source_user", f"names nobody in this file: no {name} is equal to it.")
        return whose
    if len(found) > 1:
        raise InvalidInput(
            "source_user", f"is missing: the file holds entries of {len(found):,} users; say whose to take, by {name}."
        )
    return next(iter(found), "")


def _digest(parts: Sequence[str]) -> str:
    return hashlib.sha256("\x1f".join(parts).encode(errors="surrogatepass")).hexdigest()

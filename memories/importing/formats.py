"""The formats of exports, and which of them a file has."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from memories.errors import InvalidInput
from memories.importing.conversations import json_lines, json_value, parse_chatgpt, read_lines
from memories.importing.peers import PeerExport, parse_langgraph, parse_letta, parse_mem0, parse_zep
from memories.importing.records import memories_of, parse_item
from memories.types import Kind


class ExportFormat(StrEnum):
    """Whose export a file is."""

    MEMORYHUB = "memoryhub"
    MEM0 = "mem0"
    ZEP = "zep"
    LETTA = "letta"
    LANGGRAPH = "langgraph"
    CHATGPT = "chatgpt"


def _chatgpt(data: object, _whose: str = "") -> PeerExport:
    return PeerExport(sessions=list(parse_chatgpt(data)))


def _memories(data: object, _whose: str = "") -> PeerExport:
    if not isinstance(data, list):
        raise InvalidInput("file", _("holds no memories: a line, or an entry of a list, for each."))
    return _of_lines(map(json.dumps, data))


def _of_lines(lines: Iterable[bytes | str]) -> PeerExport:
    """The memories and items of lines. Raises InvalidInput naming the line."""
    memories: list[tuple[str, Mapping[str, Any]]] = []
    items: list[tuple[str, Mapping[str, Any]]] = []
    for place, line in json_lines(lines):
        (items if line.get("kind") == Kind.ITEM else memories).append((place, line))
    found = [parse_item(line, place=place) for place, line in items]
    return PeerExport(records=list(memories_of(memories)), items=found)


_PARSERS: Mapping[ExportFormat, Callable[[object, str], PeerExport]] = {
    ExportFormat.MEMORYHUB: _memories,
    ExportFormat.MEM0: parse_mem0,
    ExportFormat.ZEP: parse_zep,
    ExportFormat.LETTA: parse_letta,
    ExportFormat.LANGGRAPH: parse_langgraph,
    ExportFormat.CHATGPT: _chatgpt,
}
# The members by which an export is known: of a whole file, and of the first entry of a list.
_ROOTS = {
    "results": ExportFormat.MEM0,
    "agents": ExportFormat.LETTA,
    "core_memory": ExportFormat.LETTA,
    "passages": ExportFormat.LETTA,
    "edges": ExportFormat.ZEP,
    "threads": ExportFormat.ZEP,
    "sessions": ExportFormat.ZEP,
    "messages": ExportFormat.ZEP,
    "items": ExportFormat.LANGGRAPH,
}
_ENTRIES = {
    "kind": ExportFormat.MEMORYHUB,
    "mapping": ExportFormat.CHATGPT,
    "namespace": ExportFormat.LANGGRAPH,
    "memory": ExportFormat.MEM0,
    "fact": ExportFormat.ZEP,
    "text": ExportFormat.LETTA,
}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def parse_export(source: bytes, form: ExportFormat | None = None, whose: str = "") -> tuple[ExportFormat, PeerExport]:
    """Read an export of `form`, or of the format that it has; `whose` names its user, if it holds several.

    Raises InvalidInput naming the place, or that no format is known.
    """
    source = source.removeprefix(_BYTE_ORDER_MARK)
    if not source.strip():
        raise InvalidInput("file", _("is empty."))
    is_list = source.lstrip().startswith(b"[")
    if _has_lines(source) if form is None else (form is ExportFormat.MEMORYHUB and not is_list):
        return ExportFormat.MEMORYHUB, _of_lines(source.splitlines())
    data = json_value(source, place="file")
    form = form or _format_of(data)
    return form, _PARSERS[form](data, whose)


def read_export(path: Path, form: ExportFormat | None = None, whose: str = "") -> tuple[ExportFormat, PeerExport]:
    """Read a file as `parse_export` does; lines of memoryhub one by one. Raises InvalidInput, OSError."""
    if form is ExportFormat.MEMORYHUB:
        return form, _of_lines(read_lines(path))
    return parse_export(path.read_bytes(), form, whose)


def _has_lines(source: bytes) -> bool:
    """Whether the first line is a memory or item of memoryhub."""
    first = source.lstrip().partition(b"\n")[0].strip()
    if not (first.startswith(b"{") and first.endswith(b"}")):
        return False
    try:
        value = json_value(first, place="file")
    except InvalidInput:
        return False
    return isinstance(value, dict) and "kind" in value


def _format_of(data: object) -> ExportFormat:
    members, known = (data, _ROOTS) if isinstance(data, dict) else ({}, _ENTRIES)
    if isinstance(data, list) and data and isinstance(data[0], dict):
        members = data[0]
    for name, form in known.items():
        if name in members:
            return form
    raise InvalidInput(
        "format", _("is not known from this file; name it: %(names)s.") % {"names": ", ".join(ExportFormat)}
    )

"""The formats of exports, and which of them a file has."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path

from memories.errors import InvalidInput
from memories.importing.conversations import json_value, parse_chatgpt, read_lines
from memories.importing.peers import PeerExport, parse_langgraph, parse_letta, parse_mem0, parse_zep
from memories.importing.records import parse_memories


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
        raise InvalidInput("file", "holds no memories: a line, or an entry of a list, for each.")
    return PeerExport(records=list(parse_memories(map(json.dumps, data))))


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
        raise InvalidInput("file", "is empty.")
    is_list = source.lstrip().startswith(b"[")
    if _has_lines(source) if form is None else (form is ExportFormat.MEMORYHUB and not is_list):
        return ExportFormat.MEMORYHUB, PeerExport(records=list(parse_memories(source.splitlines())))
    data = json_value(source, place="file")
    form = form or _format_of(data)
    return form, _PARSERS[form](data, whose)


def read_export(path: Path, form: ExportFormat | None = None, whose: str = "") -> tuple[ExportFormat, PeerExport]:
    """Read a file as `parse_export` does; lines of memoryhub one by one. Raises InvalidInput, OSError."""
    if form is ExportFormat.MEMORYHUB:
        return form, PeerExport(records=list(parse_memories(read_lines(path))))
    return parse_export(path.read_bytes(), form, whose)


def _has_lines(source: bytes) -> bool:
    """Whether the first line is a memory of memoryhub."""
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
    raise InvalidInput("format", f"is not known from this file; name it: {', '.join(ExportFormat)}.")

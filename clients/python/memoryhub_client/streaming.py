"""Server-sent events of a turn, line by line."""

from __future__ import annotations

import json
from typing import Any, get_args, get_type_hints

from memoryhub_client.decoding import decode

_DATA = "data:"


def event_of(line: str, shape: Any) -> Any | None:
    """The event of a line, one of the union `shape`; None for other lines and for types that are not known here."""
    if not line.startswith(_DATA):
        return None
    data = json.loads(line.removeprefix(_DATA))
    known = {get_args(get_type_hints(each)["type"])[0]: each for each in get_args(shape)}
    return decode(known[data["type"]], data) if data.get("type") in known else None

"""JSON to the dataclasses of `memoryhub_client.types`, by their annotations."""

from __future__ import annotations

import functools
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from memoryhub_client.errors import UnexpectedAnswer


def decode(shape: Any, data: Any) -> Any:
    """`data` as `shape`: a dataclass, list, dict, union or scalar. Raises UnexpectedAnswer."""
    if data is None:
        return None
    origin, arguments = get_origin(shape), get_args(shape)
    if origin is list:
        return [decode(arguments[0], each) for each in data]
    if origin is dict:
        return {name: decode(arguments[1], value) for name, value in data.items()}
    if origin in (Union, types.UnionType):
        return decode(_member(arguments, data), data)
    if is_dataclass(shape):
        return _built(shape, data)
    if shape is datetime:
        return datetime.fromisoformat(data.replace("Z", "+00:00"))  # Python 3.10 does not read Z
    return data


def _built(shape: Any, data: Mapping[str, Any]) -> Any:
    hints = _hints(shape)
    missing = [
        each.name
        for each in fields(shape)
        if each.name not in data and each.default is MISSING and each.default_factory is MISSING
    ]
    if missing:
        raise UnexpectedAnswer(f"{shape.__name__} lacks {', '.join(missing)}: the server and this client do not fit.")
    return shape(**{name: decode(hint, data[name]) for name, hint in hints.items() if name in data})


@functools.cache
def _hints(shape: Any) -> dict[str, Any]:
    return get_type_hints(shape)


def _member(members: tuple[Any, ...], data: Any) -> Any:
    """The member of a union: of several dataclasses the one whose Literal, such as `kind`, has the value in `data`."""
    shapes = [each for each in members if each is not types.NoneType]
    if not isinstance(data, Mapping) or len(shapes) == 1:
        return shapes[0]
    for shape in shapes:
        tags = {name: get_args(hint) for name, hint in _hints(shape).items() if get_origin(hint) is Literal}
        if any(data.get(name) in values for name, values in tags.items() if len(values) == 1):
            return shape
    raise UnexpectedAnswer(f"This is none of {', '.join(each.__name__ for each in shapes)}.")

"""What LangGraph's serializer makes of a checkpoint, as JSON text that the server can read, screen and show.

MessagePack becomes JSON: `{"$ext": [code, content]}` is an extension, `{"$bytes": …}` is base64, and `{"$map": pairs}`
is a map whose names are no texts, or begin with `$`. What would not come back byte by byte stays bytes.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import ormsgpack

_BYTES, _EXT, _MAP = "$bytes", "$ext", "$map"
_MSGPACK = "msgpack"
_OPTION = ormsgpack.OPT_NON_STR_KEYS


def text_of(kind: str, data: bytes) -> str:
    """JSON text of what the serializer made, of this kind."""
    tree: Any = {_BYTES: base64.b64encode(data).decode()}
    if kind == _MSGPACK:
        read = _unpacked(data)
        tree = read if _packed(read) == data else tree
    return json.dumps(tree, ensure_ascii=False)


def data_of(kind: str, text: str) -> bytes:
    """The bytes that became this text."""
    tree = json.loads(text)
    if kind != _MSGPACK or _is_bytes(tree):
        return base64.b64decode(tree[_BYTES])
    return _packed(tree)


def _is_bytes(tree: Any) -> bool:
    return isinstance(tree, dict) and set(tree) == {_BYTES}


def _unpacked(data: bytes) -> Any:
    return _tree(ormsgpack.unpackb(data, ext_hook=_Extension, option=_OPTION))


class _Extension:
    def __init__(self, code: int, data: bytes) -> None:
        self.code, self.data = code, data


def _tree(value: Any) -> Any:
    if isinstance(value, _Extension):
        return {_EXT: [value.code, _unpacked(value.data)]}
    if isinstance(value, bytes):
        return {_BYTES: base64.b64encode(value).decode()}
    if isinstance(value, list | tuple):
        return [_tree(each) for each in value]
    if isinstance(value, Mapping):
        if all(isinstance(name, str) and not name.startswith("$") for name in value):
            return {name: _tree(each) for name, each in value.items()}
        return {_MAP: [[_tree(name), _tree(each)] for name, each in value.items()]}
    return value


def _packed(tree: Any) -> bytes:
    return ormsgpack.packb(_value(tree), option=_OPTION)


def _value(tree: Any) -> Any:
    if isinstance(tree, list):
        return [_value(each) for each in tree]
    if not isinstance(tree, dict):
        return tree
    if _EXT in tree:
        code, content = tree[_EXT]
        return ormsgpack.Ext(code, _packed(content))
    if _BYTES in tree:
        return base64.b64decode(tree[_BYTES])
    if _MAP in tree:
        return {_value(name): _value(each) for name, each in tree[_MAP]}
    return {name: _value(each) for name, each in tree.items()}

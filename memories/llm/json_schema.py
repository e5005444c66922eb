"""A pydantic model as a JSON schema that endpoints take as strict.

Invariant: every member is required and no other is allowed, as strict schemas want it. Bounds that not all endpoints
know are left out here; whoever reads the answer checks it against the model itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel

_KEPT = frozenset({"anyOf", "description", "enum", "items", "type"})


@cache
def strict_schema(model: type[BaseModel]) -> Mapping[str, Any]:
    """The schema of `model`, with its parts under `$defs`; nobody changes it, for all requests share it."""
    schema = model.model_json_schema()
    parts = {name: _strict(part) for name, part in schema.get("$defs", {}).items()}
    return _strict(schema) | ({"$defs": parts} if parts else {})


def _strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        return {"$ref": schema["$ref"]}  # nothing may stand beside it
    strict = {name: _inner(value) for name, value in schema.items() if name in _KEPT}
    if "const" in schema:
        strict["enum"] = [schema["const"]]
    if schema.get("type") == "object":
        strict.pop("description", None)  # the docstring of the model is for people
        properties = {name: _strict(value) for name, value in schema.get("properties", {}).items()}
        strict |= {"properties": properties, "required": [*properties], "additionalProperties": False}
    return strict


def _inner(value: Any) -> Any:
    if isinstance(value, Mapping):
        return _strict(value)
    return [_inner(item) for item in value] if isinstance(value, list) else value

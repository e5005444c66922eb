"""Both clients reach each operation of the description, with all of its parameters; answers have their fields."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import pytest
import yaml

import memoryhub_client.resources
from memoryhub_client import Client
from memoryhub_client.calls import Call, Resource, _Method, paged
from memoryhub_client.types import Event, NewConversation, NewMemory, PolicyChange
from tests.clients.typescript import PACKAGE, ROOT

SPEC = yaml.safe_load((ROOT / "docs" / "openapi.yaml").read_text())
SCHEMAS: Mapping[str, Any] = SPEC["components"]["schemas"]
METHODS = ("get", "post", "put", "patch", "delete")
OPERATIONS: Mapping[tuple[str, str], Any] = {
    (method.upper(), path): operation
    for path, item in SPEC["paths"].items()
    for method, operation in item.items()
    if method in METHODS
}
# The client sends them with each request, or page by page; a `role` can only be the user's.
OF_THE_CLIENT = {"app", "cursor", "role"}
SOME_TIME = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)

Shaped = tuple[Call[Any], Any, bool]


def resources() -> list[type[Resource[Any]]]:
    return [getattr(memoryhub_client.resources, name) for name in memoryhub_client.resources.__all__]


def python_calls() -> Iterator[Shaped]:
    """The calls of every method, with every argument and without each that may be left out; whether of a list."""
    for resource in resources():
        for method in vars(resource).values():
            if not isinstance(method, _Method):
                continue
            hints = get_type_hints(method._build)
            arguments = [each for each in inspect.signature(method._build).parameters.values() if each.name in hints]
            given = {each.name: some(hints[each.name]) for each in arguments}
            for left_out in (None, *(each.name for each in arguments if each.default is not each.empty)):
                said = {name: value for name, value in given.items() if name != left_out}
                yield method._build(None, **said), method._shape, isinstance(method, paged)


def some(hint: Any) -> Any:
    """A value of this type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return some(next(each for each in arguments if each is not types.NoneType))
    if origin is Literal:
        return arguments[0]
    if is_typeddict(hint):
        return {name: some(each) for name, each in get_type_hints(hint).items()}
    if inspect.isclass(origin) and issubclass(origin, Mapping):
        return {}
    if inspect.isclass(origin) and issubclass(origin, Sequence):
        return [some(arguments[0])]
    return {str: "x", bool: True, int: 1, float: 0.5, bytes: b"x", datetime: SOME_TIME, Any: "x"}[hint]


def operation_of(call: Call[Any]) -> tuple[str, str]:
    """The operation that a call reaches. Fixed addresses come before those with an id."""
    path = f"/api/v1{call.path}".rstrip("/")
    for method, template in sorted(OPERATIONS, key=lambda each: each[1].count("{")):
        if method == call.method and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path):
            return method, template
    raise AssertionError(f"{call.method} {path} is no operation of the API")


def referred(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema itself, of a reference or of a union with null."""
    if "$ref" in schema:
        return referred(SCHEMAS[schema["$ref"].rpartition("/")[2]])
    for union in ("allOf", "oneOf", "anyOf"):
        members = [each for each in schema.get(union, ()) if referred(each).get("type") != "null"]
        if len(members) == 1:
            return referred(members[0])
    return schema


def members(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The members of a union, or the schema alone."""
    schema = referred(schema)
    union = schema.get("oneOf") or schema.get("anyOf")
    return [referred(each) for each in union] if union else [schema]


def parameters(operation: Mapping[str, Any]) -> set[str]:
    """What a caller can say, in the query and in the body."""
    query = {each["name"] for each in operation.get("parameters", ()) if each.get("in") == "query"}
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    return query | {name for each in members(body) for name in each.get("properties", {})}


def test_python_calls_each_operation_with_all_of_its_parameters() -> None:
    said: dict[tuple[str, str], set[str]] = {}
    for call, _, _ in python_calls():
        said.setdefault(operation_of(call), set()).update(call.query, call.body or ())
    assert sorted(OPERATIONS.keys() - said.keys()) == []
    wanted = {each: parameters(operation) - OF_THE_CLIENT for each, operation in OPERATIONS.items()}
    # A tenant's operations take `user_id` beside what is described.
    given = {each: names - OF_THE_CLIENT - {"user_id"} for each, names in said.items()}
    assert given == {each: names - {"user_id"} for each, names in wanted.items()}


@pytest.mark.parametrize(
    ("typed", "schema", "beside"),
    [
        (NewMemory, "MemoryRequest", {"user_id"}),
        (NewConversation, "ConversationRequest", set()),
        (PolicyChange, "PolicyRequest", set()),
    ],
)
def test_the_types_of_python_s_requests_have_the_fields_of_the_description(
    typed: type, schema: str, beside: set[str]
) -> None:
    described = {name for each in members(SCHEMAS[schema]) for name in each["properties"]}
    assert set(get_type_hints(typed)) == described | beside


def test_the_types_of_python_s_answers_have_the_fields_of_the_description() -> None:
    for call, shape, is_list in python_calls():
        for status, answer in OPERATIONS[operation_of(call)]["responses"].items():
            schema = answer.get("content", {}).get("application/json", {}).get("schema")
            if status.startswith("2") and schema and shape is not Event:
                compare(referred(schema)["properties"]["results"]["items"] if is_list else schema, shape)
    compare(SCHEMAS["TurnEvent"], Event, "type")


def compare(schema: Mapping[str, Any], shape: Any, tag: str = "kind") -> None:
    """The fields of a dataclass, but for some with a default, are those of the description; also those within it."""
    if get_origin(shape) is list:
        return compare(referred(schema)["items"], get_args(shape)[0])
    for each in get_args(shape) if get_origin(shape) in (Union, types.UnionType) else [shape]:
        if not is_dataclass(each):
            compare(schema, each) if get_origin(each) is list and "items" in referred(schema) else None
            continue
        hints = get_type_hints(each)
        described = members(schema)
        if len(described) > 1:
            described = [one for one in described if one["properties"][tag]["const"] in get_args(hints[tag])]
        properties = described[0]["properties"]
        optional = {one.name for one in fields(each) if (one.default, one.default_factory) != (MISSING, MISSING)}
        assert set(hints) - optional <= set(properties) <= set(hints), each
        for name, within in properties.items():
            compare(within, hints[name])
    return None


def test_typescript_calls_each_operation() -> None:
    """What it says and gets has the types of the description (test_typescript_client.py)."""
    source = "".join(file.read_text() for file in (PACKAGE / "src").rglob("*.ts") if file.name != "schema.ts")
    calls = re.findall(r"#?api\.(\w+)\(\s*\"(/api/v1/[^\"]+)\"", source)
    verbs = {"list": "GET", "bytes": "GET", "ask": "POST", "events": "POST", "upload": "POST"}
    reached = {(verbs.get(verb, verb.upper()), path) for verb, path in calls}
    assert sorted(OPERATIONS.keys() - reached) == []


def listed(guide: Path) -> dict[str, set[str]]:
    """The methods in the table of a guide, by their resource; those of the client itself by no name."""
    rows = re.findall(r"^\| `(?:client|memory)\.?(\w*)` \| (.*?) \|", guide.read_text(), re.MULTILINE)
    return {name: set(re.findall(r"`(\w+)`", methods)) for name, methods in rows}


def public(thing: object) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


def test_the_guide_to_python_lists_every_method() -> None:
    with Client("http://127.0.0.1:8000", token="mh_test") as client:
        ones = {name: getattr(client, name) for name in public(client)}
    surface = {name: public(each) for name, each in ones.items() if isinstance(each, Resource)}
    own = ones.keys() - surface.keys() | {"aclose"}
    assert listed(ROOT / "clients" / "python" / "README.md") == {"": own, **surface}


def test_the_guide_to_typescript_lists_every_method() -> None:
    source = "".join(file.read_text() for file in (PACKAGE / "src").rglob("*.ts") if file.name != "schema.ts")
    classes = dict(re.findall(r"^export class (\w+)(.*?)^}", source, re.MULTILINE | re.DOTALL))
    methods = {
        name: set(re.findall(r"^  (?:async )?(\w+)\(", body, re.MULTILINE)) - {"constructor"}
        for name, body in classes.items()
    }
    resources = re.findall(r"^  readonly (\w+): (\w+);", classes["MemoryHub"], re.MULTILINE)
    surface = {name: methods[each] for name, each in resources}
    assert listed(PACKAGE / "README.md") == {"": methods["MemoryHub"], **surface}

"""The OpenAPI description says what the API does, keeps its own rules, and is the one that is committed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from django.core.management import call_command
from django.test import Client
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from memories.agent.events import _TYPES
from memories.api.openapi import TAGS
from memories.api.urls import urlpatterns
from tenants.models import Membership
from tests.memories.api.caller import Caller

COMMITTED = Path(__file__).resolve().parents[3] / "docs" / "openapi.yaml"
# Names of members that hold what may be shown once.
SECRETS = {"token", "key", "secret", "plaintext"}


@pytest.fixture(scope="module")
def text() -> str:
    out = StringIO()
    call_command("spectacular", "--fail-on-warn", "--validate", stdout=out)
    return out.getvalue()


@pytest.fixture
def description(text: str) -> dict[str, Any]:
    return cast("dict[str, Any]", yaml.safe_load(text))


def operations(description: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in description["paths"].items():
        for method, operation in item.items():
            yield path, method, operation


def bodies(operation: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The JSON bodies of an operation: what it takes, and what it gives."""
    if "application/json" in operation.get("requestBody", {}).get("content", {}):
        yield "Request", operation["requestBody"]["content"]["application/json"]
    for answer in operation["responses"].values():
        if "application/json" in answer.get("content", {}):
            yield "Response", answer["content"]["application/json"]


def validator(description: dict[str, Any], name: str) -> Draft202012Validator:
    registry: Any = Registry().with_resource("urn:api", DRAFT202012.create_resource(description))
    return Draft202012Validator({"$ref": f"urn:api#/components/schemas/{name}"}, registry=registry)


def test_the_committed_description_is_that_of_the_code(text: str) -> None:
    assert COMMITTED.read_text() == text, "run `make openapi` and commit docs/openapi.yaml"


def test_every_address_is_described_with_its_problems(description: dict[str, Any]) -> None:
    apart = (None, "schema", "index")
    assert len(description["paths"]) == len([pattern for pattern in urlpatterns if pattern.name not in apart])
    for _, _, operation in operations(description):
        assert {"400", "401", "403", "404", "406", "414", "429", "500", "503"} <= set(operation["responses"])


def test_every_operation_has_a_summary_a_tag_and_an_example(description: dict[str, Any]) -> None:
    lacking = []
    for path, method, operation in operations(description):
        described = operation.get("summary") and set(operation["tags"]) <= set(TAGS)
        given = [kind for kind, body in bodies(operation) if "examples" not in body and kind == "Request"]
        answers = [body for kind, body in bodies(operation) if kind == "Response"]
        if not described or given or (answers and not any("examples" in body for body in answers)):
            lacking.append(f"{method} {path}: add it to memories/api/examples.py, and its tag to openapi.py")
    assert not lacking


def test_every_example_is_what_its_schema_allows(description: dict[str, Any]) -> None:
    found = 0
    for _, _, operation in operations(description):
        for _, body in bodies(operation):
            name = body["schema"]["$ref"].rpartition("/")[2]
            for example in body.get("examples", {}).values():
                validator(description, name).validate(example["value"])
                found += 1
    assert found > 60


def test_bodies_are_named_for_what_they_are(description: dict[str, Any]) -> None:
    for path, method, operation in operations(description):
        for kind, body in bodies(operation):
            name = body["schema"].get("$ref", "").rpartition("/")[2]
            assert name.endswith(kind), f"{method} {path}: {name}"


def test_requests_take_no_other_members(description: dict[str, Any]) -> None:
    for name, schema in description["components"]["schemas"].items():
        if name.endswith("Request") and schema.get("type") == "object":
            assert schema["additionalProperties"] is False, name


READING_POSTS = ("recall", "context", "items_search", "items_namespaces", "audit_verify")


def test_every_change_can_be_repeated_and_every_item_has_conditions(description: dict[str, Any]) -> None:
    for path, method, operation in operations(description):
        names = {each["$ref"].rpartition("/")[2] for each in operation.get("parameters", []) if "$ref" in each}
        reads = method == "get" or operation["operationId"] in READING_POSTS
        assert ("IdempotencyKey" in names) != reads, path
        if "_id}" in path and not any(name in path for name in ("token_id", "user_id", "webhook_id")):
            assert ("IfNoneMatch" if method == "get" else "IfMatch") in names, path


def test_no_answer_that_holds_a_secret_is_kept(description: dict[str, Any]) -> None:
    views = [getattr(pattern.callback, "cls", None) for pattern in urlpatterns]
    handlers: list[Any] = [getattr(view, verb, None) for view in views for verb in ("post", "patch")]
    keeping = {handler.operation_id for handler in handlers if getattr(handler, "keeps_answer", False)}
    assert keeping
    for _, _, operation in operations(description):
        for kind, body in bodies(operation):
            name = body["schema"].get("$ref", "").rpartition("/")[2]
            members = set(description["components"]["schemas"].get(name, {}).get("properties", {}))
            if kind == "Response" and operation["operationId"] in keeping:
                assert not members & SECRETS, f"{operation['operationId']} needs keeps_answer=False"


def test_what_is_made_links_to_what_can_be_done_with_it(description: dict[str, Any]) -> None:
    created = description["paths"]["/api/v1/memories"]["post"]["responses"]["201"]["links"]
    assert {"memories_read", "memories_correct", "memories_forget"} <= set(created)
    by_id = {operation["operationId"]: path for path, _, operation in operations(description)}
    for _, _, operation in operations(description):
        for answer in operation["responses"].values():
            for link in answer.get("links", {}).values():
                (parameter,) = link["parameters"]
                assert f"{{{parameter}}}" in by_id[link["operationId"]]


def test_every_event_of_a_stream_is_one_of_the_union(ada: Caller, description: dict[str, Any]) -> None:
    union = description["components"]["schemas"]["TurnEvent"]
    assert set(union["discriminator"]["mapping"]) == set(_TYPES.values())
    said = "I live in Leeds. My card is 4539 1488 0343 6467. Please forget that I live in Leeds."
    seen = set()
    for message in ("I live in Leeds.", said, "Where do I live?"):
        frames = ada.post("turns/", {"message": message}, Accept="text/event-stream").text
        for line in frames.splitlines():
            if line.startswith("data: "):
                event = json.loads(line.removeprefix("data: "))
                validator(description, "TurnEvent").validate(event)
                seen.add(event["type"])
    assert {"turn_started", "text_delta", "notice", "memories_recalled", "memory_written", "turn_finished"} <= seen


def test_a_member_gets_the_description_and_a_stranger_does_not(client: Client, membership: Membership) -> None:
    answer = client.get("/api/v1/schema/")
    assert answer.status_code == 401 and b"operationId" not in answer.content
    client.force_login(membership.user)
    answer = client.get("/api/v1/schema", headers={"Accept": "application/vnd.oai.openapi+json"})
    assert (answer.status_code, json.loads(answer.content)["openapi"]) == (200, "3.1.1")

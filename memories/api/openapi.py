"""The rules of the OpenAPI description, which hold for every operation by themselves.

A body that an operation takes is a component `…Request`, one that it gives a `…Response`; parts of them have a noun.
Summaries are the first words of the docstrings, examples those of `memories/api/examples.py`. Every operation lists the
problems that its kind may meet, and the headers for conditional and repeated requests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Any

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import force_instance
from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers

from memories.api.etags import FINDERS
from memories.api.examples import EXAMPLES
from memories.api.fields import Filters, FiltersQuery, Metadata, StrictSerializer, StrictText, Words
from memories.api.idempotency import HEADER as IDEMPOTENCY_KEY
from memories.api.idempotency import REPLAYED
from memories.api.tenant_examples import TENANT_EXAMPLES
from memoryhub.problem_details import CONTENT_TYPE
from tenants.principal import Right

_EVERYWHERE = (400, 401, 403, 404, 406, 414, 429, 431, 500, 503)
_WITH_BODY = (408, 411, 413, 415)
_CHANGES = (409, 410, 422)
_SAID = {
    400: "Bad input: which field, and why. Nothing was stored. Or the server has another name.",
    401: "No token and no session, or one that is not valid.",
    403: "The token lacks a scope, or the CSRF token is missing.",
    404: "No such thing or user, or not yours: they look the same.",
    406: "The address answers in none of the types that Accept names.",
    408: "The body did not arrive in time.",
    409: "It is no longer in the state that the request assumes. Or the first request with this Idempotency-Key is"
    " still being carried out: see `Retry-After`.",
    410: "The request with this Idempotency-Key was carried out, and its answer is no longer kept.",
    411: "The body comes without a Content-Length.",
    412: "It changed since the ETag in If-Match was given. Nothing was done.",
    413: "The body is too large.",
    414: "The request line is longer than 8,190 bytes.",
    415: "The body is not application/json.",
    422: "It holds what is not stored, such as a key or a card number: see `spots`. Or the Idempotency-Key came with"
    " another request before. Nothing was stored.",
    429: "Beyond a limit of use; `Retry-After` says how long to wait. Nothing was done or stored.",
    431: "The headers are longer than 32 kB.",
    500: "A fault of the service: name the `request_id`.",
    502: "The language model gave no whole answer. The turn is stored: see `session_id`, `turn`, `retryable`.",
    503: "The database did not answer, or the member's search is closed: see `detail`, and `Retry-After`.",
}
_TEXT = {"type": "string"}
_PARAMETERS = {
    "IdempotencyKey": {
        "name": IDEMPOTENCY_KEY,
        "in": "header",
        "description": "Yours, new for each request: a repeated request is carried out once and gets the first answer.",
        "schema": {"type": "string", "pattern": r"^[\x21-\x7e]{1,255}$"},
    },
    "IfMatch": {
        "name": "If-Match",
        "in": "header",
        "description": "An ETag: make the change only if nothing else has changed since.",
        "schema": _TEXT,
    },
    "IfNoneMatch": {
        "name": "If-None-Match",
        "in": "header",
        "description": "An ETag: answer 304 if nothing has changed since.",
        "schema": _TEXT,
    },
}
_HEADERS = {
    "ETag": {"description": "For If-None-Match and If-Match.", "schema": _TEXT},
    "IdempotencyReplayed": {"description": "`true`: the answer to an earlier request.", "schema": _TEXT},
    "RateLimit": {"description": "What is left of each limit.", "schema": _TEXT},
    "RateLimitPolicy": {"description": "The limits.", "schema": _TEXT},
    "RequestId": {"description": "The id of the request in logs and in the audit log.", "schema": _TEXT},
    "RetryAfter": {"description": "Seconds to wait.", "schema": {"type": "integer"}},
}
_RETRIED = (409, 429, 503)
# The tags in the order of the description.
TAGS = {
    "messages": "What was said to an agent of yours, to remember and to learn from.",
    "context": "Text about the user for your agent's prompt.",
    "operations": "Learning in the background: its state and what it decided.",
    "turns": "Converse with memoryhub's own agent.",
    "sessions": "Conversations: transcripts, working memory, and what was done in them.",
    "recall": "Search in the memory.",
    "memories": "Facts, episodes, playbooks and catalog entries, with their histories.",
    "items": "Whatever your program puts under a namespace and a key. No memories: nothing is learned from them.",
    "forget-proposals": "Forgetting in two steps: proposed, then confirmed by the member.",
    "reviews": "Questions that a person decides: contradictions and evictions.",
    "consolidation": "The runs that turn episodes into facts and playbooks.",
    "looks": "When staff looked at the memory.",
    "export": "One's memories, to take along.",
    "import": "Memories and conversations from an export, also of other products.",
    "me": "Who calls, and for whom.",
    "members": "The users for whom a tenant keeps memories.",
    "tokens": "Tokens of members and keys of the tenant.",
    "events": "What happened, as a feed that misses nothing.",
    "webhooks": "Addresses that get the events, signed.",
    "audit": "The audit log of a member.",
    "tenant": "What auditors and administrators do: audit log, memory policy, erasures, legal holds.",
    "version": "The version of the server.",
}
# Where the ids of an address come from: the operation, its status, and the place in its answer.
_LINKED = {
    "memory_id": ("memories_create", "201", "/memory_id"),
    "session_id": ("sessions_create", "201", "/id"),
    "proposal_id": ("forget_proposals_create", "201", "/id"),
    "review_id": ("reviews_list", "200", "/results/0/id"),
    "run_id": ("runs_create", "200", "/runs/0"),
    "item_id": ("items_put", "201", "/id"),
    "operation_id": ("messages_create", "202", "/operation/id"),
    "token_id": ("tokens_create", "201", "/id"),
    "webhook_id": ("webhooks_create", "201", "/id"),
    "event_id": ("audit_list", "200", "/results/0/id"),
    "erasure_id": ("members_erase", "202", "/id"),
    "hold_id": ("holds_create", "201", "/id"),
}
Schema = dict[str, Any]


class ContractSchema(AutoSchema):
    """Describes one operation."""

    def get_summary(self) -> str:
        """Return the first words of the description."""
        return re.split(r"[.:;](?:\s|$)", self.get_description() or "", maxsplit=1)[0]

    def get_examples(self) -> list[OpenApiExample]:
        """Return the operation's request and answer in the table of examples."""
        example = (EXAMPLES | TENANT_EXAMPLES).get(self.get_operation_id())
        if example is None:
            return []
        found = [OpenApiExample("answer", example.answer, response_only=True, status_codes=[str(example.status)])]
        if example.body is not None:
            found.append(OpenApiExample("request", example.body, request_only=True))
        return found

    def get_operation(self, *args: Any, **kwargs: Any) -> Schema | None:
        """Add the common problems and headers."""
        found: Schema | None = super().get_operation(*args, **kwargs)
        if found is not None:
            self._complete(found)
        return found

    def _complete(self, found: Schema) -> None:
        reads = self.method in ("GET", "HEAD")
        needs = getattr(getattr(self.view, self.method.lower(), None), "needs", ())
        changes = not reads and needs != (Right.READ,)
        is_item = getattr(self.view, "is_item", False) or any(f"{{{name}}}" in self.path for name in FINDERS)
        responses = found["responses"]
        statuses = {int(status) for status, answer in responses.items() if CONTENT_TYPE in answer.get("content", {})}
        statuses |= {*_EVERYWHERE, *(_WITH_BODY if "requestBody" in found else ()), *(_CHANGES if changes else ())}
        parameters = [IDEMPOTENCY_KEY] if changes else []
        if is_item and (changes or reads):
            parameters.append("If-None-Match" if reads else "If-Match")
            statuses |= set() if reads else {412}
        for status in ("200", "201", "202"):
            if status in responses:
                tagged = is_item and (reads or self.method == "PATCH")
                responses[status]["headers"] = _headers(
                    "RequestId",
                    "RateLimit",
                    "RateLimitPolicy",
                    *(["ETag"] if tagged else ()),
                    *(["IdempotencyReplayed"] if changes else ()),
                )
                responses[status]["description"] = responses[status]["description"] or HTTPStatus(int(status)).phrase
        if is_item and reads:
            responses["304"] = {"description": "Nothing has changed since.", "headers": _headers("ETag")}
        responses |= {str(code): {"$ref": f"#/components/responses/Problem{code}"} for code in statuses}
        found["responses"] = dict(sorted(responses.items()))
        if parameters:
            names = {each["name"]: name for name, each in _PARAMETERS.items()}
            refs = [{"$ref": f"#/components/parameters/{names[name]}"} for name in parameters]
            found["parameters"] = [*found.get("parameters", []), *refs]

    def _map_serializer_field(self, field: Any, direction: str, bypass_extensions: bool = False) -> Any:  # noqa: FBT001, FBT002 - the library's signature
        """A list of words in a query is an array of an enumeration."""
        if isinstance(field, Words):
            words = {"type": "array", "items": {"type": "string", "enum": [*field.kind]}, "minItems": 1}
            return self._described(field, words)
        return super()._map_serializer_field(field, direction, bypass_extensions)  # type: ignore[no-untyped-call]

    def _described(self, field: serializers.Field[Any, Any, Any, Any], schema: Schema) -> Schema:
        return schema | {"description": str(field.help_text)} if field.help_text else schema

    def _map_basic_serializer(self, serializer: Any, direction: str) -> Schema:
        """Requests take no other members than those named, and no text that is blank unless a field allows it."""
        schema: Schema = super()._map_basic_serializer(serializer, direction)  # type: ignore[no-untyped-call]
        serializer = force_instance(serializer)  # type: ignore[no-untyped-call]
        if isinstance(serializer, StrictSerializer):
            schema["additionalProperties"] = False
            for name, field in serializer.fields.items():
                _narrow(field, schema["properties"].get(name, {}))
        return schema


def _narrow(field: Any, schema: Schema) -> None:
    """Say what the library does not know of our fields."""
    if isinstance(field, serializers.ListField):
        schema |= {} if field.allow_empty else {"minItems": 1}
        _narrow(field.child, schema.get("items", {}))
    elif isinstance(field, Filters | Metadata) and not isinstance(field, FiltersQuery):
        schema |= {"type": "object", "additionalProperties": {}}
    elif pattern := getattr(field, "pattern", ""):
        schema |= {"pattern": pattern}
        schema |= {"minLength": 1} if isinstance(field, StrictText) and not field.allow_blank else {}
    elif isinstance(field, StrictText) and not field.allow_blank:
        schema |= {"minLength": 1, "pattern": r"[^\s\x00-\x1f\x7f-\x9f]"}


def _headers(*names: str) -> Schema:
    shown = {"RequestId": "X-Request-ID", "RateLimitPolicy": "RateLimit-Policy", "RetryAfter": "Retry-After"}
    shown |= {"IdempotencyReplayed": REPLAYED}
    return {shown.get(name, name): {"$ref": f"#/components/headers/{name}"} for name in names}


def complete(result: Schema, **_: object) -> Schema:
    """Finish the description: shared components, links, tags, and paths without their last slash."""
    components = result["components"]
    components["parameters"] = _PARAMETERS
    components["headers"] = _HEADERS
    components["responses"] = {f"Problem{status}": _problem(status) for status in _statuses(result)}
    _tell_apart(components["schemas"])
    operations = list(_operations(result))
    for _path, operation in operations:
        for parameter in operation.get("parameters", []):
            if parameter.get("schema", {}).get("type") == "array":
                parameter |= {"style": "form", "explode": False}
        for answer in operation["responses"].values():
            stream = answer.get("content", {}).get("text/event-stream")
            if stream is not None:
                events = {"contentMediaType": "application/json", "contentSchema": stream["schema"]}
                stream["schema"] = {"type": "string", "description": "Frames, each with one event."} | events
    _link(operations)
    used = {tag for _, operation in operations for tag in operation["tags"]}
    result["tags"] = [{"name": name, "description": text} for name, text in TAGS.items() if name in used]
    result["paths"] = {path.rstrip("/"): item for path, item in result["paths"].items()}
    return result


def _operations(result: Schema) -> Iterator[tuple[str, Schema]]:
    for path, item in result["paths"].items():
        for operation in item.values():
            yield path, operation


def _statuses(result: Schema) -> list[int]:
    refs = {
        answer.get("$ref", "") for _, operation in _operations(result) for answer in operation["responses"].values()
    }
    return sorted(int(ref.rpartition("Problem")[2]) for ref in refs if "Problem" in ref)


def _problem(status: int) -> Schema:
    names = ["RequestId", *(["RetryAfter"] if status in _RETRIED else ())]
    return {
        "description": _SAID[status],
        "headers": _headers(*names),
        "content": {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }


def _tell_apart(schemas: Mapping[str, Schema]) -> None:
    """Give each shape of a union its own value of the member that tells them apart."""
    for union in [each for each in schemas.values() if "discriminator" in each]:
        name = union["discriminator"]["propertyName"]
        optional = False
        for value, ref in union["discriminator"]["mapping"].items():
            shape = schemas[ref.rpartition("/")[2]]
            member = shape["properties"].get(name, {})
            default = member.get("default")
            shape["properties"][name] = {"type": "string", "const": value}
            if default == value:
                shape["properties"][name]["default"] = value
                optional = True
            else:
                shape["required"] = sorted({*shape.get("required", []), name})
        if optional:  # a discriminator cannot read what may be left out
            del union["discriminator"]
            union["anyOf"] = union.pop("oneOf")


def _link(operations: Iterable[tuple[str, Schema]]) -> None:
    """Link what makes or lists a thing to the operations on it."""
    by_id = {operation["operationId"]: (path, operation) for path, operation in operations}
    for parameter, (source, status, place) in _LINKED.items():
        if source not in by_id:
            continue
        answer = by_id[source][1]["responses"][status]
        answer["links"] = {
            name: {"operationId": name, "parameters": {parameter: f"$response.body#{place}"}}
            for name, (path, _) in by_id.items()
            if f"{{{parameter}}}" in path
        }

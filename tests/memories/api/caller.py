"""A program that calls the API with a token."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID

from django.http.response import HttpResponseBase, StreamingHttpResponse
from django.test import Client

from tenants.models import Membership, Tenant
from tenants.principal import ALL_RIGHTS, KEY_RIGHTS, Principal, Right
from tenants.services import issue_key, issue_token
from tests.factories import own_principal

ROOT = "/api/v1/"


@dataclass(frozen=True)
class Answer:
    """The answer to a call."""

    response: HttpResponseBase

    @property
    def status(self) -> int:
        return self.response.status_code

    @property
    def text(self) -> str:
        if isinstance(self.response, StreamingHttpResponse):
            return b"".join(self.response).decode()
        return bytes(self.response.content).decode()  # type: ignore[attr-defined]  # it is no stream, so it has content

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def problem(self) -> dict[str, Any]:
        """The problem details, without what differs between any two requests."""
        assert self.response.headers["Content-Type"] == "application/problem+json"
        problem: dict[str, Any] = self.json
        assert problem["status"] == self.status
        assert problem.pop("request_id") == self.response.headers["X-Request-ID"]
        return problem

    @property
    def faults(self) -> dict[str, str]:
        """The reasons of a refusal by field."""
        return {error["field"]: error["reason"] for error in self.problem["errors"]}


@dataclass(frozen=True)
class Caller:
    """Calls with one member's token, or a backend key; `principal` is that member in person, of a key nobody.

    With `user_id` each call names that user in the header.
    """

    token: str
    principal: Principal
    client: Client = field(default_factory=lambda: Client(raise_request_exception=False))
    user_id: str = ""

    def send(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        """Call; `path` follows /api/v1/, and a body that is not bytes goes as JSON."""
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        return Answer(
            self.client.generic(
                method,
                ROOT + path,
                content,
                content_type="application/json",
                headers={"Authorization": f"Bearer {self.token}", **self._named(), **headers},
            )
        )

    def _named(self) -> dict[str, str]:
        return {"X-Memoryhub-User": self.user_id} if self.user_id else {}

    def get(self, path: str) -> Answer:
        return self.send("GET", path)

    def post(self, path: str, body: object = None, **headers: str) -> Answer:
        return self.send("POST", path, {} if body is None else body, **headers)

    def patch(self, path: str, body: object) -> Answer:
        return self.send("PATCH", path, body)

    def delete(self, path: str) -> Answer:
        return self.send("DELETE", path)


@dataclass(frozen=True)
class Life:
    """The ids of what somebody's memory holds."""

    session: UUID
    episode: UUID
    old_fact: UUID
    fact: UUID
    task_fact: UUID
    playbook: UUID
    run: UUID
    review: UUID
    proposal: UUID
    confirmed: UUID
    operation: UUID
    item: UUID


def caller_of(membership: Membership, scopes: Iterable[Right] = ALL_RIGHTS) -> Caller:
    """A program of this member, with a token of these scopes."""
    _, plaintext = issue_token(membership, name="test", scopes=scopes)
    return Caller(plaintext, own_principal(membership))


def key_of(tenant: Tenant, scopes: Iterable[Right] = KEY_RIGHTS, networks: Sequence[str] = ()) -> Caller:
    """A backend of this tenant, with a key of these scopes."""
    return Caller(issue_key(tenant, name="test", scopes=scopes, networks=networks)[1], cast("Principal", None))

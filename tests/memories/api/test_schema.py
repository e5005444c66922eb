"""The OpenAPI description says what the API does."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from memories.api.urls import urlpatterns
from tenants.models import Membership


@pytest.fixture
def description(client: Client, membership: Membership) -> dict[str, Any]:
    client.force_login(membership.user)
    answer = client.get("/api/v1/schema/", headers={"Accept": "application/vnd.oai.openapi+json"})
    assert answer.status_code == 200
    content: dict[str, Any] = json.loads(answer.content)
    return content


def test_the_description_is_complete_and_valid() -> None:
    out = StringIO()
    call_command("spectacular", "--fail-on-warn", "--validate", stdout=out)
    assert "openapi: 3" in out.getvalue()


def test_every_address_is_described_with_its_problems(description: dict[str, Any]) -> None:
    described = {(path, method) for path, item in description["paths"].items() for method in item}
    assert len(description["paths"]) == len(
        [pattern for pattern in urlpatterns if pattern.name not in (None, "schema")]
    )
    for path, method in described:
        responses = description["paths"][path][method]["responses"]
        assert {"401", "403"} <= set(responses)
        assert "application/problem+json" in responses["401"]["content"]
        assert ("404" in responses) == ("{" in path) or path.endswith(
            ("/memories/", "/recall/", "/forget-proposals/", "/context/")
        )


def test_strangers_get_no_description(client: Client) -> None:
    answer = client.get("/api/v1/schema/")
    assert answer.status_code == 401 and b"operationId" not in answer.content

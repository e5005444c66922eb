"""Addresses that there are not: a program gets an error of the API that it speaks, a browser a page."""

from __future__ import annotations

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db

JSON = {"Accept": "application/json"}


@pytest.mark.parametrize("path", ["/v1/embeddings", "/v1/ping/", "/chat/completions", "/embeddings", "/models"])
def test_a_client_of_openai_is_told_how_its_base_url_ends(client: Client, path: str) -> None:
    answer = client.post(path, {"model": "first"}, content_type="application/json", headers=JSON)
    assert (answer.status_code, answer.headers["Content-Type"]) == (404, "application/json")
    assert "ends with /v1" in answer.json()["error"]["message"] and answer.json()["error"]["code"] == "not-found"


def test_a_client_of_anthropic_is_told_in_its_form(client: Client) -> None:
    headers = {**JSON, "Anthropic-Version": "2023-06-01"}
    answer = client.post("/v1/v1/messages", {}, content_type="application/json", headers=headers)
    assert (answer.status_code, answer.json()["type"]) == (404, "error")
    assert "does not" in answer.json()["error"]["message"]


def test_another_program_gets_a_problem(client: Client) -> None:
    answer = client.post("/memories/", {}, content_type="application/json")
    assert (answer.status_code, answer.headers["Content-Type"]) == (404, "application/problem+json")
    assert "no such route" in answer.json()["detail"]


@pytest.mark.parametrize("headers", [{}, {"Accept": "text/html"}, {**JSON, "Sec-Fetch-Mode": "cors"}])
def test_a_browser_gets_a_page(client: Client, headers: dict[str, str]) -> None:
    answer = client.get("/nothing/", headers=headers)
    assert (answer.status_code, answer.headers["Content-Type"]) == (404, "text/html; charset=utf-8")

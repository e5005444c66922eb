"""The API says of itself where everything is, and shows its console from its own files alone."""

from __future__ import annotations

import re

import pytest
from django.contrib.staticfiles import finders
from django.test import Client

from tenants.models import Membership
from tests.memories.api.caller import Caller


@pytest.mark.parametrize("path", ["/api/v1", "/api/v1/"])
def test_the_index_needs_no_token_and_leads_to_addresses_that_answer(client: Client, db: None, path: str) -> None:
    index = client.get(path).json()
    places = [index["schema"], index["docs"], index["version"], index["llms"], *index["collections"].values()]
    for place in places:
        assert client.get(place).status_code in (200, 302, 401, 405), place


def test_the_version_is_for_callers_alone(client: Client, ada: Caller) -> None:
    assert client.get("/api/v1/version").status_code == 401
    assert set(ada.get("version").json) == {"api", "server"}


def test_llms_txt_names_addresses_that_exist(client: Client, ada: Caller) -> None:
    text = client.get("/llms.txt").text
    assert "http://testserver/api/v1/schema" in text and "{{" not in text
    for method, path in re.findall(r"`(GET|POST) /([\w/-]+)", text):
        assert ada.send(method, path, {} if method == "POST" else None).status in (200, 400), path


def test_the_console_is_for_members_and_loads_nothing_from_elsewhere(client: Client, membership: Membership) -> None:
    assert client.get("/api/v1/docs").status_code == 302
    client.force_login(membership.user)
    page = client.get("/api/v1/docs")
    assert page.status_code == 200 and "unsafe-inline" not in page.headers["Content-Security-Policy"]
    sources = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(sources) == 4 and all(source.startswith("/static/") for source in sources)
    assert all(finders.find(source.removeprefix("/static/")) for source in sources)
    assert "<script>" not in page.text and "style=" not in page.text

"""The API says of itself where everything is, and shows its console from its own files alone."""

from __future__ import annotations

import re
from datetime import date

import pytest
from django.contrib.staticfiles import finders
from django.test import Client

from memories.api.schema import Deprecation
from memories.api.urls import urlpatterns
from memories.api.views.about import VersionView
from tenants.models import Membership
from tests.memories.api.caller import Caller


@pytest.mark.parametrize("path", ["/api/v1", "/api/v1/"])
def test_the_index_needs_no_token_and_leads_to_addresses_that_answer(client: Client, db: None, path: str) -> None:
    index = client.get(path).json()
    places = [index["schema"], index["docs"], index["version"], index["llms"], *index["collections"].values()]
    for place in places:
        assert client.get(place).status_code in (200, 302, 401, 405), place
    named = {place.removeprefix("http://testserver/api/v1/").split("/")[0] for place in places}
    assert {str(route.pattern).split("/")[0] for route in urlpatterns} <= named | {""}


def test_the_version_is_for_callers_alone(client: Client, ada: Caller) -> None:
    assert client.get("/api/v1/version").status_code == 401
    assert set(ada.get("version").json) == {"api", "server"}


def test_an_operation_that_will_end_says_so(ada: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    ends = Deprecation(date(2026, 1, 1), date(2026, 8, 1), "/api/v2/version/")
    monkeypatch.setattr(VersionView.get, "deprecated", ends)
    said = ada.get("version").response.headers
    assert (said["Deprecation"], said["Sunset"]) == ("@1767225600", "Sat, 01 Aug 2026 00:00:00 GMT")
    assert said["Link"] == '</api/v2/version/>; rel="successor-version"'
    with pytest.raises(ValueError, match="183 days"):
        Deprecation(date(2026, 1, 1), date(2026, 6, 1), "/api/v2/version/")


def test_llms_txt_names_addresses_that_exist(client: Client, ada: Caller) -> None:
    text = client.get("/llms.txt").text
    assert "http://testserver/api/v1/schema" in text and "{{" not in text
    assert all(each in text for each in ('"learn"', "/memories/batch", "PUT /items", "/events", "`filters`"))
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

"""The lifecycle policy of the archive: only one that is there, and that never removes or closes it."""

from __future__ import annotations

from typing import Any

import pytest
from elastic_transport import ApiResponseMeta, HttpHeaders, NodeConfig, ObjectApiResponse
from elasticsearch import ApiError, Elasticsearch, NotFoundError
from pytest_django import Settings

from memories.search.elasticsearch import indices
from memories.search.elasticsearch.indices import settings_of
from memories.search.elasticsearch.queries import ARCHIVE, INDEX_NAMES
from memories.search.elasticsearch.transport import trouble

NODE = NodeConfig("http", "127.0.0.1", 9200)
ASKING = "elasticsearch._sync.client.ilm.IlmClient.get_lifecycle"


def meta(status: int) -> ApiResponseMeta:
    return ApiResponseMeta(status, "1.1", HttpHeaders(), 0.0, NODE)


@pytest.fixture
def manager() -> Elasticsearch:
    return Elasticsearch("http://127.0.0.1:9")


def has(monkeypatch: pytest.MonkeyPatch, policies: dict[str, tuple[str, ...]]) -> None:
    """Have the cluster hold policies of these names, with these actions."""
    said = {
        name: {"policy": {"phases": {"warm": {"min_age": "30d", "actions": {action: {} for action in actions}}}}}
        for name, actions in policies.items()
    }
    monkeypatch.setattr(ASKING, lambda _self, name: ObjectApiResponse(said, meta(200)))


def fails(monkeypatch: pytest.MonkeyPatch, error: ApiError) -> None:
    def failing(_self: object, name: str) -> Any:
        raise error

    monkeypatch.setattr(ASKING, failing)


def test_without_a_policy_nothing_is_asked_and_nothing_is_set(manager: Elasticsearch, settings: Settings) -> None:
    settings.ELASTICSEARCH_ARCHIVE_POLICY = ""
    assert trouble(manager) == ""
    assert not [index_name for index_name in INDEX_NAMES if "index.lifecycle.name" in settings_of(index_name)]


def test_a_policy_moves_the_archive_and_no_other_index(
    manager: Elasticsearch, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ELASTICSEARCH_ARCHIVE_POLICY = "cold-later"
    has(monkeypatch, {"cold-later": ("allocate", "set_priority")})
    assert trouble(manager) == ""
    assert [index_name for index_name in INDEX_NAMES if settings_of(index_name).get("index.lifecycle.name")] == [
        ARCHIVE
    ]
    assert settings_of(ARCHIVE)["index.lifecycle.name"] == "cold-later"


@pytest.mark.parametrize("action", ["delete", "rollover", "readonly", "shrink", "searchable_snapshot", "forcemerge"])
def test_a_policy_that_would_remove_or_close_the_archive_is_refused(
    manager: Elasticsearch, settings: Settings, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    settings.ELASTICSEARCH_ARCHIVE_POLICY = "mean"
    has(monkeypatch, {"mean": ("set_priority", action)})
    assert f"({action})" in trouble(manager)


def test_a_policy_of_another_name_is_none(
    manager: Elasticsearch, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ELASTICSEARCH_ARCHIVE_POLICY = "cold-*"
    has(monkeypatch, {"cold-later": ()})
    assert "has no lifecycle policy cold-*" in trouble(manager)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        pytest.param(NotFoundError("not found", meta(404), {}), "has no lifecycle policy cold-later", id="unknown"),
        pytest.param(ApiError("forbidden", meta(403), {}), "elasticsearch setup", id="the manager may not look"),
        pytest.param(
            ApiError("bad", meta(400), {"error": "no handler found for uri [/_ilm/policy/x]"}),
            "leave ELASTICSEARCH_ARCHIVE_POLICY empty",
            id="a cluster without policies",
        ),
        pytest.param(ApiError("broken", meta(500), {}), "error 500", id="something else"),
    ],
)
def test_it_is_said_why_a_policy_cannot_be_used(
    manager: Elasticsearch, settings: Settings, monkeypatch: pytest.MonkeyPatch, error: ApiError, message: str
) -> None:
    settings.ELASTICSEARCH_ARCHIVE_POLICY = "cold-later"
    fails(monkeypatch, error)
    assert message in trouble(manager)


@pytest.mark.parametrize(
    ("has_now", "wanted", "told"),
    [
        pytest.param("", "cold-later", ["cold-later"], id="comes under it"),
        pytest.param("cold-later", "", [None], id="leaves it"),
        pytest.param("cold-later", "cold-later", [], id="is under it"),
        pytest.param("", "", [], id="was never under one"),
    ],
)
def test_an_archive_that_is_there_follows_the_setting(
    manager: Elasticsearch,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    has_now: str,
    wanted: str,
    told: list[str | None],
) -> None:
    settings.ELASTICSEARCH_ARCHIVE_POLICY = wanted
    held = {"archive-1": {"settings": {"index.lifecycle.name": has_now}}} if has_now else {}
    sent: list[Any] = []
    client = "elasticsearch._sync.client.indices.IndicesClient"
    monkeypatch.setattr(indices, "indices_of", lambda *_: ["archive-1"])
    monkeypatch.setattr(f"{client}.put_index_template", lambda *_, **__: None)
    monkeypatch.setattr(f"{client}.get_settings", lambda *_, **__: held)
    monkeypatch.setattr(f"{client}.put_settings", lambda _self, index, settings: sent.append((index, settings)))
    indices.install(manager)
    assert sent == [("archive-1", {"index.lifecycle.name": name}) for name in told]

"""The lifecycle policy of the archive: only one that is there, and that never removes or closes it."""

from __future__ import annotations

from collections.abc import Callable
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
Answers = Callable[..., None]


def meta(status: int) -> ApiResponseMeta:
    return ApiResponseMeta(status, "1.1", HttpHeaders(), 0.0, NODE)


@pytest.fixture
def manager(settings: Settings) -> Elasticsearch:
    settings.ELASTICSEARCH_ARCHIVE_POLICY = "cold-later"
    return Elasticsearch("http://127.0.0.1:9")


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Answers:
    """`answers(error)`, or `answers(*actions)` of the policy cold-later, the only one that the cluster holds."""

    def answer(*given: Any) -> None:
        def get_lifecycle(_self: object, name: str) -> Any:
            if isinstance(given[0], ApiError):
                raise given[0]
            phases = {"warm": {"min_age": "30d", "actions": {action: {} for action in given}}}
            return ObjectApiResponse({"cold-later": {"policy": {"phases": phases}}}, meta(200))

        monkeypatch.setattr("elasticsearch._sync.client.ilm.IlmClient.get_lifecycle", get_lifecycle)

    return answer


def test_without_a_policy_nothing_is_asked_and_nothing_is_set(manager: Elasticsearch, settings: Settings) -> None:
    settings.ELASTICSEARCH_ARCHIVE_POLICY = ""
    assert trouble(manager) == ""
    assert not [index_name for index_name in INDEX_NAMES if "index.lifecycle.name" in settings_of(index_name)]


def test_a_policy_moves_the_archive_and_no_other_index(manager: Elasticsearch, answers: Answers) -> None:
    answers("allocate", "set_priority")
    assert trouble(manager) == ""
    set_for = {name: settings_of(name).get("index.lifecycle.name") for name in INDEX_NAMES}
    assert {name: policy for name, policy in set_for.items() if policy} == {ARCHIVE: "cold-later"}


@pytest.mark.parametrize("action", ["delete", "rollover", "readonly", "shrink", "searchable_snapshot", "forcemerge"])
def test_a_policy_that_might_end_the_archive_is_refused(manager: Elasticsearch, answers: Answers, action: str) -> None:
    answers("set_priority", action)
    assert f"({action})" in trouble(manager)


def test_a_policy_of_another_name_is_none(manager: Elasticsearch, answers: Answers, settings: Settings) -> None:
    settings.ELASTICSEARCH_ARCHIVE_POLICY = "cold-*"
    answers("allocate")
    assert "has no lifecycle policy cold-*" in trouble(manager)


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        pytest.param(404, {}, "has no lifecycle policy cold-later", id="unknown"),
        pytest.param(403, {}, "elasticsearch setup", id="the manager may not look"),
        pytest.param(400, {"error": "no handler found for uri [/_ilm/policy/x]"},
                     "leave ELASTICSEARCH_ARCHIVE_POLICY empty", id="a cluster without policies"),
        pytest.param(500, {}, "error 500", id="something else"),
    ],
)  # fmt: skip
def test_it_is_said_why_a_policy_cannot_be_used(
    manager: Elasticsearch, answers: Answers, status: int, body: dict[str, str], message: str
) -> None:
    answers((NotFoundError if status == 404 else ApiError)("no", meta(status), body))
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
    manager: Elasticsearch, settings: Settings, monkeypatch: pytest.MonkeyPatch,
    has_now: str, wanted: str, told: list[str | None],
) -> None:  # fmt: skip
    settings.ELASTICSEARCH_ARCHIVE_POLICY = wanted
    held = {"archive-1": {"settings": {"index.lifecycle.name": has_now}}} if has_now else {}
    sent: list[Any] = []
    client = "elasticsearch._sync.client.indices.IndicesClient"
    monkeypatch.setattr(indices, "indices_of", lambda *_: ["archive-1"])
    monkeypatch.setattr(f"{client}.put_index_template", lambda *_, **__: None)
    monkeypatch.setattr(f"{client}.put_mapping", lambda *_, **__: None)
    monkeypatch.setattr(f"{client}.get_settings", lambda *_, **__: held)
    monkeypatch.setattr(f"{client}.put_settings", lambda _self, index, settings: sent.append((index, settings)))
    indices.install(manager)
    assert sent == [("archive-1", {"index.lifecycle.name": name}) for name in told]

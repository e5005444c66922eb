"""Every way in which a key can differ has a name."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from tenants.search_keys.cluster import FoundKey, member_descriptors
from tenants.search_keys.verification import Drift, drift_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WANTED = member_descriptors(("m-episodic", "m-semantic"), tenant_id=uuid4(), user_id=uuid4())


def good() -> FoundKey:
    """A key as the cluster describes it, with what it adds of its own accord."""
    descriptors: dict[str, Any] = copy.deepcopy(WANTED)
    added = {"applications": [], "run_as": [], "metadata": {}, "transient_metadata": {"enabled": True}}
    descriptors["member"] |= added
    for entry in descriptors["member"]["indices"]:
        entry["query"] = json.dumps(json.loads(entry["query"]), indent=1)
        entry["allow_restricted_indices"] = False
    return FoundKey("id", "m:x:1", NOW - timedelta(days=1), NOW + timedelta(days=1), False, {}, descriptors)


def entry(key: FoundKey) -> dict[str, Any]:
    first: dict[str, Any] = key.descriptors["member"]["indices"][0]
    return first


def entries(key: FoundKey) -> list[dict[str, Any]]:
    every: list[dict[str, Any]] = key.descriptors["member"]["indices"]
    return every


def test_a_key_that_is_as_it_should_be_has_none() -> None:
    assert drift_of(good(), WANTED, now=NOW) == []


RIGHTS, QUERY = [Drift.OTHER_RIGHTS], [Drift.OTHER_QUERY]


@pytest.mark.parametrize(
    ("change", "drift"),
    [
        pytest.param(lambda key: entry(key).pop("query"), QUERY, id="missing query"),
        pytest.param(lambda key: entry(key).update(query="{}"), QUERY, id="empty query"),
        pytest.param(lambda key: entry(key).update(query='{"term": {"a": 1}}'), QUERY, id="other query"),
        pytest.param(lambda key: entry(key).update(query="not json"), QUERY, id="unreadable query"),
        pytest.param(lambda key: entries(key).append(entry(key)), RIGHTS, id="extra entry"),
        pytest.param(lambda key: entries(key).pop(), RIGHTS, id="missing entry"),
        pytest.param(lambda key: entry(key).update(names=["m-*"]), RIGHTS, id="wildcard"),
        pytest.param(lambda key: entry(key).update(names=["m-episodic-2026"]), RIGHTS, id="concrete index"),
        pytest.param(lambda key: entry(key)["privileges"].append("read"), RIGHTS, id="extra privilege"),
        pytest.param(lambda key: entry(key)["privileges"].pop(), RIGHTS, id="missing privilege"),
        pytest.param(lambda key: entry(key).update(field_security={"grant": ["*"]}), RIGHTS, id="field security"),
        pytest.param(lambda key: entry(key).update(allow_restricted_indices=True), RIGHTS, id="restricted indices"),
        pytest.param(lambda key: key.descriptors["member"].update(cluster=["monitor"]), RIGHTS, id="cluster"),
        pytest.param(lambda key: key.descriptors["member"].update(run_as=["admin"]), RIGHTS, id="run as"),
        pytest.param(lambda key: key.descriptors["member"].update(remote_indices=[{}]), RIGHTS, id="remote"),
        pytest.param(lambda key: key.descriptors.update(more={"cluster": ["all"]}), RIGHTS, id="second role"),
        pytest.param(lambda key: key.descriptors.clear(), [Drift.EMPTY], id="empty descriptors"),
    ],
)
def test_a_change_of_the_descriptors_is_named(change: Callable[[Any], object], drift: list[Drift]) -> None:
    key = good()
    change(key)
    assert drift_of(key, WANTED, now=NOW) == drift


@pytest.mark.parametrize(
    ("key", "drift"),
    [
        pytest.param(replace(good(), expires_at=None), Drift.NO_EXPIRY, id="no expiry"),
        pytest.param(replace(good(), expires_at=NOW), Drift.EXPIRED, id="expired"),
        pytest.param(replace(good(), invalidated=True), Drift.INVALIDATED, id="invalidated"),
    ],
)
def test_the_end_of_a_key_is_named(key: FoundKey, drift: Drift) -> None:
    assert drift_of(key, WANTED, now=NOW) == [drift]

"""Staleness: the weights of the design, what is exempt from which part, and a status that never goes to and fro."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memories.hygiene.ageing import About, Lifetime, StalenessInputs, due_of_fact, staleness, status_after
from memories.types import Scope, Source

NOW = datetime(2026, 5, 1, tzinfo=UTC)


def ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


def standing(**changes: Any) -> StalenessInputs:
    """Confirmed a hundred days ago, due, never used."""
    given: dict[str, Any] = {"status": "active", "since": ago(100), "confirmed_at": ago(100), "due_at": ago(1)}
    return StalenessInputs(**given | changes)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, 0.7, id="old and unused: not over 0.7"),
        pytest.param({"contradicted": True}, 1.0, id="contradicted as well"),
        pytest.param({"uses": 1}, 0.55, id="used half as often as expected"),
        pytest.param({"asked": False}, 0.4, id="whoever asked nothing used nothing"),
        pytest.param({"due_at": None, "contradicted": True, "uses": 9}, 0.3, id="contradicted alone"),
        pytest.param({"since": NOW, "confirmed_at": NOW, "due_at": NOW + timedelta(days=90)}, 0.0, id="new"),
        pytest.param({"confirmed_at": NOW + timedelta(days=1)}, 0.3, id="confirmed since the scan began"),
    ],
)
def test_the_weights(changes: dict[str, Any], expected: float) -> None:
    assert staleness(standing(**changes), now=NOW) == expected


@pytest.mark.parametrize(
    ("changes", "days"),
    [
        pytest.param({}, 365, id="true until somebody says otherwise"),
        pytest.param({"category": "preference"}, 90, id="a preference"),
        pytest.param({"category": "food", "review_after": NOW + timedelta(days=7)}, 7, id="a date of its own"),
        pytest.param({"category": "city"}, 10, id="a rule of the tenant"),
        pytest.param({"category": "for good"}, None, id="a rule that it never ends"),
        pytest.param({"key": "Birthday"}, None, id="what cannot change"),
        pytest.param({"category": "preference", "pinned": True}, None, id="pinned"),
        pytest.param({"valid_to": NOW + timedelta(days=3)}, None, id="its end was told"),
    ],
)
def test_when_a_fact_is_to_be_confirmed(changes: dict[str, Any], days: int | None) -> None:
    rules = {"city": Lifetime(review_days=10), "for good": Lifetime()}
    dates: dict[str, Any] = {"review_after": None, "expires_at": None, "valid_to": None, "pinned": False}
    about = About(changes.get("category", ""), changes.get("key", ""), Source.USER_STATED, Scope.USER, "Has a cat")
    given = dates | {name: value for name, value in changes.items() if name in dates}
    due = due_of_fact(about, rules, confirmed_at=NOW, **given)
    assert due == (None if days is None else NOW + timedelta(days=days))


@pytest.mark.parametrize(
    ("was", "found", "becomes"),
    [
        pytest.param({"status": "active"}, 0.71, "stale", id="over 0.7"),
        pytest.param({"status": "active"}, 0.7, "active", id="not over 0.7"),
        pytest.param({"status": "stale", "scanned": 0.9}, 0.7, "active", id="what a scan did it takes back"),
        pytest.param({"status": "stale", "scanned": 0.9, "doubtful": True}, 0.1, "stale", id="doubted as well"),
        pytest.param({"status": "stale", "scanned": 0.3}, 0.1, "stale", id="doubted by the collection"),
    ],
)
def test_the_status_that_follows(was: dict[str, Any], found: float, becomes: str) -> None:
    assert status_after(standing(**was), found) == becomes

"""Filters in lists and recalls by REST."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest

from tests.memories.api.caller import Caller

TO = {"field": "metadata.trip.to", "op": "eq", "value": "Lisbon"}


@pytest.fixture(autouse=True)
def _trips(ada: Caller, bob: Caller) -> None:
    for caller in (ada, bob):
        for city, nights in (("Lisbon", 3), ("Porto", 5)):
            body = {"text": f"Goes to {city}.", "key": city, "metadata": {"trip": {"to": city, "nights": nights}}}
            assert caller.post("memories/", body).status == 201
    assert ada.post("memories/", {"text": "Likes trains.", "app": "planner"}).status == 201


def listed(caller: Caller, tree: object) -> set[str]:
    answer = caller.get(f"memories/?filters={quote(json.dumps(tree))}")
    assert answer.status == 200, answer.text
    return {each["text"] for each in answer.json["results"]}


def recalled(caller: Caller, tree: object) -> set[str]:
    answer = caller.post("recall/", {"query": "Goes to trains", "filters": tree})
    assert answer.status == 200, answer.text
    assert not answer.json["degraded"]
    return {each["text"] for each in answer.json["items"]}


@pytest.mark.parametrize("asked", [listed, recalled])
@pytest.mark.parametrize(
    ("tree", "found"),
    [
        pytest.param(TO, {"Goes to Lisbon."}, id="eq"),
        pytest.param({"not": TO}, {"Goes to Porto.", "Likes trains."}, id="not"),
        pytest.param({**TO, "op": "ne"}, {"Goes to Porto.", "Likes trains."}, id="ne"),
        pytest.param({"field": "metadata.trip.nights", "op": "gt", "value": 3}, {"Goes to Porto."}, id="gt"),
        pytest.param({"field": "app", "op": "exists", "value": True}, {"Likes trains."}, id="app"),
        pytest.param(
            {"or": [TO, {"field": "key", "op": "in", "value": ["Porto"]}]},
            {"Goes to Lisbon.", "Goes to Porto."},
            id="or",
        ),
        pytest.param({"and": [TO, {"field": "kind", "op": "eq", "value": "episodic"}]}, set(), id="and"),
        pytest.param({"field": "created_at", "op": "lt", "value": "2001-01-01T00:00:00Z"}, set(), id="time"),
    ],
)
def test_only_what_matches_is_found(ada: Caller, asked: Any, tree: object, found: set[str]) -> None:
    assert asked(ada, tree) == found


@pytest.mark.parametrize("asked", [listed, recalled])
def test_no_filter_reaches_another_member(ada: Caller, eve: Caller, asked: Any) -> None:
    everything = {"or": [{"field": "status", "op": "exists", "value": True}, {"not": TO}]}
    assert asked(eve, everything) == set()
    assert len(asked(ada, everything)) == 3


@pytest.mark.parametrize(
    ("tree", "field"),
    [
        ([], "filters"),
        ({"and": []}, "filters.and"),
        ({"and": [TO, {"nor": []}]}, "filters.and.1"),
        ({"not": {"or": [{**TO, "op": "like"}]}}, "filters.not.or.0.op"),
        ({**TO, "field": "owner"}, "filters.field"),
        ({**TO, "field": "metadata"}, "filters.field"),
        ({**TO, "field": 'metadata.a"b'}, "filters.field"),
        ({**TO, "value": None}, "filters.value"),
        ({**TO, "op": "in", "value": ["a", []]}, "filters.value.1"),
        ({**TO, "op": "gt", "value": True}, "filters.value"),
        ({**TO, "more": 1}, "filters"),
        ({"field": "kind", "op": "eq", "value": "rumour"}, "filters.value"),
        ({"field": "kind", "op": "gt", "value": "semantic"}, "filters.op"),
        ({"field": "created_at", "op": "gt", "value": "yesterday"}, "filters.value"),
        ({"field": "session", "op": "eq", "value": "mine"}, "filters.value"),
        ({"or": [TO] * 65}, "filters.or.64"),
        (json.loads('{"not": ' * 9 + json.dumps(TO) + "}" * 9), "filters" + ".not" * 8),
    ],
)
def test_a_bad_filter_is_refused_at_its_place(ada: Caller, tree: object, field: str) -> None:
    assert set(ada.post("recall/", {"query": "trains", "filters": tree}).faults) == {field}
    if len(json.dumps(tree)) < 4_000:
        assert set(ada.get(f"memories/?filters={quote(json.dumps(tree))}").faults) == {field}


@pytest.mark.parametrize("text", ["{", "null", "[" * 3_999, " " * 4_001])
def test_a_filter_of_a_list_is_json(ada: Caller, text: str) -> None:
    assert set(ada.get(f"memories/?filters={quote(text)}").faults) == {"filters"}

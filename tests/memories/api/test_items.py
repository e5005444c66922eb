"""Items by REST."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from memories.models import Item
from memories.search.outbox import drain
from tenants.models import Membership
from tenants.principal import Right
from tests.memories.api.caller import Answer, Caller, caller_of

SECRET = "AKIAIOSFODNN7EXAMPLE"


def put(caller: Caller, *namespace: str, key: str = "k", value: Any = None, **more: Any) -> Answer:
    return caller.send("PUT", "items/", {"namespace": namespace, "key": key, "value": value, **more})


def at(*namespace: str, key: str = "k") -> str:
    path = "/".join(quote(label, safe="") for label in namespace)
    return f"?namespace={quote(path, safe='')}&key={quote(key, safe='')}"


def found(answer: Answer) -> list[str]:
    assert answer.status == 200, answer.text
    assert not answer.json["degraded"]
    return [each["key"] for each in answer.json["results"]]


@pytest.mark.parametrize("value", [None, False, 0, 1.5, "", "a.b", [], {"a.b": [None, {"c": "d\x00"}]}, 2**70, 1e300])
def test_an_item_comes_back_as_it_was_put(ada: Caller, value: Any) -> None:
    first = put(ada, "a.b", "c/d %", key="x/y ?&=", value="before")
    again = put(ada, "a.b", "c/d %", key="x/y ?&=", value=value)
    assert (first.status, again.status) == (201, 200)
    read = ada.get(f"items/{at('a.b', 'c/d %', key='x/y ?&=')}")
    assert read.status == 200 and read.json == again.json
    assert (read.json["namespace"], read.json["value"]) == (["a.b", "c/d %"], value)
    assert read.json == ada.get(f"items/{first.json['id']}/").json


def test_a_deleted_item_is_gone_but_for_its_history(ada: Caller) -> None:
    put(ada, "users", value=1)
    put(ada, "users", value=2, if_version=1)
    assert put(ada, "users", value=3, if_version=1).status == 409
    assert ada.delete(f"items/{at('users')}&if_version=2").json == {"deleted": True}
    assert ada.delete(f"items/{at('users')}").json == {"deleted": False}
    assert ada.get(f"items/{at('users')}").status == 404
    page = ada.get(f"items/history/{at('users')}&limit=2").json
    rest = ada.get(f"items/history/{at('users')}&limit=2&cursor={page['next_cursor']}").json
    told = [(each["action"], each["version"], each["value"]) for each in page["results"] + rest["results"]]
    assert told == [("deleted", None, None), ("replaced", 2, 2), ("created", 1, 1)]
    assert rest["next_cursor"] is None
    assert ada.delete(f"items/{page['results'][0]['item_id']}/?reason=asked").json == {"erased": True}
    assert ada.get(f"items/history/{at('users')}").status == 404


def test_an_erasure_needs_the_right_to_decide_and_takes_conditions(ada: Caller, membership: Membership) -> None:
    item = put(ada, "users", value=1).json["id"]
    tag = ada.get(f"items/{item}/").response.headers["ETag"]
    put(ada, "users", value=2)
    writer = caller_of(membership, [Right.READ, Right.WRITE])
    assert writer.delete(f"items/{item}/").status == 403
    assert ada.send("DELETE", f"items/{item}/", **{"If-Match": tag}).status == 412
    assert ada.get(f"items/{item}/").json["value"] == 2


def test_a_repeated_put_is_carried_out_once(ada: Caller) -> None:
    body = {"namespace": ["users"], "key": "k", "value": 1}
    first, again = (ada.send("PUT", "items/", body, **{"Idempotency-Key": "one"}) for _ in range(2))
    assert first.status == again.status == 201 and first.json == again.json
    assert ada.get(f"items/{at('users')}").json["version"] == 1


@pytest.mark.parametrize("delivered", [False, True])
def test_a_search_finds_by_words_and_meaning_inside_a_namespace(ada: Caller, delivered: bool) -> None:
    put(ada, "users", "ada", key="food", value={"likes": "spicy Thai curry"})
    put(ada, "users", "ada", key="same", value={"likes": "spicy Thai curry"})
    put(ada, "users", "ada", key="pet", value={"has": "a tortoise called Bertie"})
    put(ada, "users", "adam", key="food", value={"likes": "Thai curry"})
    put(ada, "users", "ada", key="hidden", value="Thai curry", index=False)
    put(ada, "users", "ada", key="part", value={"title": "A bridge", "body": "Thai curry"}, index=["title"])
    if delivered:
        drain()
    asked = {"namespace_prefix": ["users", "ada"], "query": "Thai curry", "limit": 3}
    answer = ada.post("items/search/", asked)
    assert {*found(answer)[:2]} == {"food", "same"} and "hidden" not in found(answer)
    assert answer.json["results"][0]["score"] > answer.json["results"][2]["score"]
    assert found(ada.post("items/search/", {**asked, "offset": 2, "limit": 1})) == found(answer)[2:]
    assert found(ada.post("items/search/", {**asked, "query": "any reptile?", "limit": 1})) == ["pet"]
    river = ada.post("items/search/", {**asked, "query": "crossing a river", "limit": 1})
    assert found(river) == ["part"] and river.json["results"][0]["index"] == ["title"]
    listed = {each["key"]: each["index"] for each in ada.post("items/search/", asked | {"query": ""}).json["results"]}
    assert listed == {"hidden": False, "part": ["title"], "pet": True}
    put(ada, "users", "ada", key="pet", value={"has": "sold the piano"})
    assert found(ada.post("items/search/", {**asked, "query": "the piano", "limit": 1})) == ["pet"]


@pytest.mark.parametrize("query", ["", "the value"])
@pytest.mark.parametrize(
    ("tree", "keys"),
    [
        ({"field": "value.n", "op": "gte", "value": 2}, {"b", "c"}),
        ({"field": "value.n", "op": "ne", "value": 2}, {"a", "c", "d"}),
        ({"field": "value.at.city", "op": "eq", "value": "Hull"}, {"a"}),
        ({"field": "value.tags", "op": "contains", "value": "x"}, {"b"}),
        (
            {
                "and": [
                    {"field": "value.n", "op": "lt", "value": 2.5},
                    {"not": {"field": "key", "op": "eq", "value": "a"}},
                ]
            },
            {"b"},
        ),
    ],
)
def test_a_filter_compares_values(ada: Caller, query: str, tree: object, keys: set[str]) -> None:
    put(ada, "f", key="a", value={"text": "value", "n": 1, "at": {"city": "Hull"}})
    put(ada, "f", key="b", value={"text": "value", "n": 2, "tags": ["x"]})
    put(ada, "f", key="c", value={"text": "value", "n": 2.5})
    put(ada, "f", key="d", value="value")
    drain()
    assert {*found(ada.post("items/search/", {"query": query, "filters": tree}))} == keys


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"filters": {"field": "metadata.n", "op": "eq", "value": 1}}, "filters.field"),
        ({"filters": {"field": "namespace", "op": "contains", "value": "x"}}, "filters.field"),
        ({"namespace_prefix": [""]}, "namespace_prefix.0"),
        ({"limit": 0}, "limit"),
    ],
)
def test_a_bad_search_is_refused(ada: Caller, body: dict[str, Any], field: str) -> None:
    assert set(ada.post("items/search/", body).faults) == {field}


@pytest.mark.parametrize(
    ("body", "namespaces"),
    [
        ({}, [["a"], ["a", "b", "c"], ["a", "x", "c"], ["b", "b"]]),
        ({"prefix": ["a"]}, [["a"], ["a", "b", "c"], ["a", "x", "c"]]),
        ({"prefix": ["a", "*"]}, [["a", "b", "c"], ["a", "x", "c"]]),
        ({"prefix": ["*", "b"]}, [["a", "b", "c"], ["b", "b"]]),
        ({"suffix": ["c"]}, [["a", "b", "c"], ["a", "x", "c"]]),
        ({"suffix": ["b", "*"]}, [["a", "b", "c"], ["b", "b"]]),
        ({"prefix": ["a"], "suffix": ["c"], "max_depth": 2}, [["a", "b"], ["a", "x"]]),
        ({"max_depth": 1}, [["a"], ["b"]]),
        ({"limit": 2, "offset": 1}, [["a", "b", "c"], ["a", "x", "c"]]),
    ],
)
def test_namespaces_are_listed(ada: Caller, body: dict[str, Any], namespaces: list[list[str]]) -> None:
    for labels in (("a",), ("a", "b", "c"), ("a", "x", "c"), ("b", "b")):
        for key in ("1", "2"):
            put(ada, *labels, key=key)
    assert ada.post("items/namespaces/", body).json["results"] == namespaces


def test_a_read_may_start_the_time_to_live_anew(ada: Caller, membership: Membership) -> None:
    expires = put(ada, "users", value=1, ttl_minutes=5).json["expires_at"]
    assert ada.get(f"items/{at('users')}").json["expires_at"] == expires
    renewed = ada.get(f"items/{at('users')}&refresh_ttl=true").json["expires_at"]
    answer = ada.post("items/search/", {"refresh_ttl": True})
    assert expires < renewed < answer.json["results"][0]["expires_at"]
    reader = caller_of(membership, [Right.READ])
    assert reader.get(f"items/{at('users')}").status == 200
    assert reader.get(f"items/{at('users')}&refresh_ttl=true").status == 403
    assert put(reader, "users", value=2).status == 403


def test_a_secret_is_refused_with_its_place(ada: Caller) -> None:
    answer = put(ada, "users", value={"aws": [SECRET]})
    assert answer.status == 422 and SECRET not in answer.text
    assert answer.json["spots"][0]["field"] == "value.aws.0"
    assert not Item.objects.unscoped("a test").exists()


@pytest.mark.parametrize("namespace", ["", "a//b", "/a", "a%2", "%FF", "a%00", "/".join("abcdefghijklmnopq")])
def test_a_bad_namespace_in_a_query_is_refused(ada: Caller, namespace: str) -> None:
    answer = ada.get(f"items/?key=k&namespace={quote(namespace)}")
    assert answer.status == (404 if namespace == "a%2" else 400)


def test_items_are_no_memories(ada: Caller) -> None:
    item = put(ada, "users", value="Plays the xylophone in the evening").json["id"]
    drain()
    for path, body in (
        ("recall/", {"query": "Who plays the xylophone?"}),
        ("context/", {"query": "Who plays the xylophone?"}),
        ("turns/", {"message": "Who plays the xylophone?"}),
    ):
        assert "evening" not in ada.post(path, body).text
    assert ada.get(f"memories/{item}/").status == 404
    assert ada.get("memories/?kind=item").status == 400
    assert ada.post("recall/", {"query": "xylophone", "types": ["item"]}).status == 400
    assert ada.post("memories/", {"kind": "item", "text": "x"}).status == 400

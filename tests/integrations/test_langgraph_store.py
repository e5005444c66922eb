"""The store of LangGraph on items: what every store does, synchronous and asynchronous, and what ours adds."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

pytest.importorskip("langgraph.store.base", reason="LangGraph is not installed (make integrations)")

from langgraph.store.base import (
    GetOp,
    IndexConfig,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)

from memoryhub_client import AsyncClient, Blocked, Client
from memoryhub_client.langgraph import MemoryhubStore

pytestmark = pytest.mark.long
TRIPS = ("trips", "2026")


@pytest.fixture
def store(client: Client) -> MemoryhubStore:
    return MemoryhubStore(client)


@pytest.fixture
async def async_client(url: str, key: str, user: str) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(url, token=key, user_id=user) as async_client:
        yield async_client


@pytest.fixture
def both(client: Client, async_client: AsyncClient) -> MemoryhubStore:
    return MemoryhubStore(client, async_client)


def keys(store: MemoryhubStore, wanted: dict[str, Any] | None = None, **more: Any) -> list[str]:
    return sorted(item.key for item in store.search(TRIPS[:1], filter=wanted, **more))


def test_an_item_is_put_replaced_and_deleted(store: MemoryhubStore) -> None:
    store.put(TRIPS, "lisbon", {"nights": 3, "stops": ["Porto"]})
    first = store.get(TRIPS, "lisbon")
    store.put(TRIPS, "lisbon", {"nights": 4})
    second = store.get(TRIPS, "lisbon")
    assert first is not None and second is not None
    assert (first.namespace, first.key, first.value) == (TRIPS, "lisbon", {"nights": 3, "stops": ["Porto"]})
    assert second.value == {"nights": 4} and second.created_at == first.created_at < second.updated_at
    store.delete(TRIPS, "lisbon")
    store.delete(TRIPS, "lisbon")
    assert store.get(TRIPS, "lisbon") is None


def test_a_batch_reads_before_it_writes_and_the_last_write_stays(store: MemoryhubStore) -> None:
    store.put(TRIPS, "lisbon", {"nights": 3})
    answers: list[Any] = store.batch(
        [
            PutOp(TRIPS, "lisbon", {"nights": 4}),
            GetOp(TRIPS, "lisbon"),
            PutOp(TRIPS, "lisbon", {"nights": 5}),
            SearchOp(("trips",)),
            ListNamespacesOp(),
            GetOp(TRIPS, "oslo"),
        ]
    )
    assert [answers[0], answers[2], answers[5]] == [None, None, None]
    assert answers[1].value == {"nights": 3} and [item.key for item in answers[3]] == ["lisbon"]
    assert answers[4] == [TRIPS]
    after = store.get(TRIPS, "lisbon")
    assert after is not None and after.value == {"nights": 5}


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"nights": 3}, ["lisbon"]),
        ({"nights": {"$gt": 3}}, ["oslo"]),
        ({"nights": {"$gte": 3, "$lt": 9}}, ["lisbon"]),
        ({"to": {"$ne": "Oslo"}}, ["lisbon", "other"]),
        ({"to": None}, ["other"]),
        ({"where.land": "Norway"}, ["oslo"]),
        ({"where": {"land": "Norway"}}, ["oslo"]),
        ({"tags": ["sea", "city"]}, ["lisbon"]),
        ({"tags": ["sea"]}, []),
        ({"nights": {"$lt": math.inf}}, ["lisbon", "oslo"]),
        ({"nights": {"$eq": math.nan}}, []),
        ({"nights": {"$lt": 10**100}}, ["lisbon", "oslo"]),
        ({"to": "Lisbon\x00"}, []),
        ({'a"b': 1}, ["other"]),
    ],
)
def test_filters_compare_values(store: MemoryhubStore, wanted: dict[str, Any], found: list[str]) -> None:
    store.put(TRIPS, "lisbon", {"nights": 3, "to": "Lisbon", "tags": ["sea", "city"]})
    store.put(TRIPS, "oslo", {"nights": 9, "to": "Oslo", "where": {"land": "Norway", "n": 1}})
    store.put(TRIPS, "other", {'a"b': 1})
    assert keys(store, wanted) == found


def test_an_unknown_operator_is_refused(store: MemoryhubStore) -> None:
    with pytest.raises(ValueError, match=r"\$in is no operator"):
        store.search(TRIPS, filter={"nights": {"$in": [3]}})


def test_a_search_with_a_query_ranks_by_meaning(store: MemoryhubStore) -> None:
    store.put(TRIPS, "lisbon", {"note": "A room with a view of the river", "secret": "fjord"}, index=["note"])
    store.put(TRIPS, "oslo", {"note": "A cabin at the fjord"})
    store.put(TRIPS, "rome", {"note": "A boat on the river"}, index=False)
    found = store.search(("trips",), query="by the water of a fjord", limit=5)
    assert [item.key for item in found] == ["oslo", "lisbon"]
    assert found[0].score is not None and found[1].score is not None and found[0].score > found[1].score
    assert keys(store) == ["lisbon", "oslo", "rome"]


class Letters:
    """Embeds a text as how often it has a, b and c, and counts the texts that it was given."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        self.texts += texts
        return [[float(text.count(letter)) for letter in "abc"] for text in texts]

    async def later(self, texts: Sequence[str]) -> list[list[float]]:
        return self(texts)


def put_letters(store: MemoryhubStore) -> None:
    store.put(TRIPS, "all", {"note": "a", "more": "b", "n": 1})
    store.put(TRIPS, "more", {"note": "c", "more": "ab", "n": 1}, index=["more"])
    store.put(TRIPS, "none", {"note": "b"}, index=False)
    store.put(TRIPS, "other", {"note": "bbc"})


def test_with_an_index_the_callers_embeddings_rank(client: Client) -> None:
    letters = Letters()
    store = MemoryhubStore(client, index=IndexConfig(dims=3, embed=letters, fields=["note", "stops[*]"]))
    put_letters(store)
    found = store.search(TRIPS, query="b")
    assert [item.key for item in found] == ["other", "more", "all", "none"]
    scores = [item.score for item in found]
    assert scores[:3] == pytest.approx([2 / 5**0.5, 0.5**0.5, 0]) and scores[3] is None
    assert [item.key for item in store.search(TRIPS, query="b", limit=2, offset=1)] == ["more", "all"]
    assert [item.key for item in store.search(TRIPS, query="b", filter={"n": 1})] == ["more", "all"]
    assert sorted(letters.texts) == ["a", "ab", "b", "b", "b", "bbc"]
    store.put(TRIPS, "all", {"note": "c", "stops": ["cc", "b"]})
    assert store.search(TRIPS, query="b")[0].key == "all"


async def test_asynchronous_searches_rank_so_too(client: Client, async_client: AsyncClient) -> None:
    put_letters(MemoryhubStore(client))
    for other in (async_client, None):
        store = MemoryhubStore(client, other, index=IndexConfig(dims=3, embed=Letters().later))
        found = await store.asearch(TRIPS, query="b", limit=3)
        assert [item.key for item in found] == ["other", "more", "all"]
        with pytest.raises(ValueError, match="async"):
            store.search(TRIPS, query="b")


def test_an_embedding_of_another_length_is_refused(client: Client) -> None:
    store = MemoryhubStore(client, index=IndexConfig(dims=4, embed=Letters()))
    with pytest.raises(ValueError, match="3 numbers"):
        store.search(TRIPS, query="b")


@pytest.mark.parametrize("wanted", [{"query": "b"}, {"filter": {"tags": ["sea"]}}])
def test_a_search_renews_what_it_returns(client: Client, wanted: dict[str, Any]) -> None:
    store = MemoryhubStore(client, index=IndexConfig(dims=3, embed=Letters(), fields=["note"]))
    for key, tags in [("other", ["b"]), ("found", ["sea"])]:
        store.put(TRIPS, key, {"tags": tags, "note": "b" if key == "found" else "c"}, ttl=5)
    before = {key: client.items.get(TRIPS, key).expires_at for key in ("found", "other")}
    assert [item.key for item in store.search(TRIPS, limit=1, **wanted)] == ["found"]
    after = {key: client.items.get(TRIPS, key).expires_at for key in ("found", "other")}
    assert [key for key in before if before[key] != after[key]] == ["found"]


def test_more_than_one_page_is_read(store: MemoryhubStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoryhub_client.langgraph.PAGE", 3)
    for number in range(7):
        store.put((*TRIPS, str(number)), f"trip-{number}", {"number": number, "odd": [number % 2]})
    assert len(keys(store, limit=20)) == len(store.list_namespaces(limit=20)) == 7
    assert keys(store, limit=20, offset=5) == ["trip-0", "trip-1"]
    assert keys(store, {"odd": [1]}, limit=1, offset=2) == ["trip-1"]


def test_namespaces_are_listed_by_prefix_suffix_and_depth(store: MemoryhubStore) -> None:
    for namespace in [("a", "b", "c"), ("a", "x", "c"), ("a", "b"), ("ab",), ("a\n", "c")]:
        store.put(namespace, "k", {})
    assert store.list_namespaces(prefix=("a",)) == [("a", "b"), ("a", "b", "c"), ("a", "x", "c")]
    assert store.list_namespaces(prefix=("a", "*"), suffix=("c",)) == [("a", "b", "c"), ("a", "x", "c")]
    assert set(store.list_namespaces(max_depth=1)) == {("a",), ("a\n",), ("ab",)}
    assert len(store.list_namespaces(limit=2, offset=1)) == 2
    twice = (MatchCondition("prefix", ("a",)), MatchCondition("prefix", ("b",)))
    with pytest.raises(ValueError, match="one prefix"):
        store.batch([ListNamespacesOp(twice)])


@pytest.mark.parametrize("label", ["50%", "%0A", "a/b", "tab\t", "ü", "*"])
def test_labels_come_back_as_they_were(store: MemoryhubStore, label: str) -> None:
    store.put(("root", label), "k", {"v": label})
    assert [item.namespace for item in store.search(("root", label))] == [("root", label)]
    found = store.get(("root", label), "k")
    assert found is not None and found.namespace == ("root", label)


def test_an_operation_with_a_label_that_no_namespace_has_is_refused(store: MemoryhubStore) -> None:
    with pytest.raises(InvalidNamespaceError):
        store.batch([GetOp(("a.b",), "k")])


def test_an_item_expires_unless_it_is_read(store: MemoryhubStore) -> None:
    store.ttl_config = {"default_ttl": 2 / 60, "refresh_on_read": True}
    store.put(TRIPS, "read", {})
    store.put(TRIPS, "unread", {})
    store.put(TRIPS, "lasting", {}, ttl=None)
    time.sleep(1.2)
    assert store.get(TRIPS, "read") is not None
    assert store.get(TRIPS, "unread", refresh_ttl=False) is not None
    time.sleep(1.2)
    assert store.get(TRIPS, "unread") is None and keys(store) == ["lasting", "read"]


async def test_the_asynchronous_methods_do_the_same(both: MemoryhubStore) -> None:
    await both.abatch([PutOp(TRIPS, f"trip-{number}", {"number": number}) for number in range(10)])
    answers: list[Any] = await both.abatch(
        [GetOp(TRIPS, "trip-7"), GetOp(TRIPS, "none"), SearchOp(("trips",), limit=30)]
    )
    assert answers[0].value == {"number": 7} and answers[1] is None and len(answers[2]) == 10
    await both.adelete(TRIPS, "trip-7")
    assert await both.aget(TRIPS, "trip-7") is None
    assert await both.alist_namespaces() == [TRIPS]


async def test_without_an_asynchronous_client_a_thread_does_it(store: MemoryhubStore) -> None:
    await store.aput(TRIPS, "lisbon", {"nights": 3})
    assert [item.key for item in await store.asearch(TRIPS)] == ["lisbon"]


def test_each_put_stays_in_the_history_and_a_secret_is_refused(store: MemoryhubStore, client: Client) -> None:
    store.put(TRIPS, "lisbon", {"nights": 3})
    with pytest.raises(Blocked):
        store.put(TRIPS, "lisbon", {"key": "AKIAIOSFODNN7EXAMPLE"})
    store.put(TRIPS, "lisbon", {"nights": 4})
    assert [event.value for event in client.items.history(TRIPS, "lisbon")] == [{"nights": 4}, {"nights": 3}]

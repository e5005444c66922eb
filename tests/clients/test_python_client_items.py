"""Items by the Python client, against a real site."""

from __future__ import annotations

import asyncio

import pytest

from memoryhub_client import AsyncClient, Client, Conflict, NotFound
from tests.proofs.site import Person

pytestmark = pytest.mark.long

TRIPS = ("trips", "a/b %")


def test_an_item_is_put_read_searched_and_deleted(memory: Client) -> None:
    first = memory.items.put(TRIPS, "lisbon ?&", {"nights": 3, "note": "A room with a view of the river"})
    again = memory.items.put(TRIPS, "lisbon ?&", None, if_version=first.version)
    assert (again.id, again.version, again.value) == (first.id, 2, None)
    assert memory.items.get(TRIPS, "lisbon ?&") == memory.items.read(first.id) == again
    with pytest.raises(Conflict):
        memory.items.put(TRIPS, "lisbon ?&", 1, if_version=1)
    assert memory.items.delete(TRIPS, "lisbon ?&").deleted
    assert not memory.items.delete(TRIPS, "lisbon ?&").deleted
    with pytest.raises(NotFound):
        memory.items.get(TRIPS, "lisbon ?&")
    told = [(event.action, event.version) for event in memory.items.history(TRIPS, "lisbon ?&", limit=2)]
    assert told == [("deleted", None), ("replaced", 2), ("created", 1)]
    assert memory.items.erase(first.id).erased
    with pytest.raises(NotFound):
        list(memory.items.history(TRIPS, "lisbon ?&"))


def test_items_are_found_by_words_filters_and_namespace(memory: Client) -> None:
    memory.items.put(["trips", "2026"], "lisbon", {"nights": 3, "note": "A view of the river"}, ttl_minutes=5)
    memory.items.put(["trips", "2026"], "oslo", {"nights": 9, "note": "A view of the fjord"}, index=["note"])
    memory.items.put(["bikes"], "road", {"note": "No view"}, index=False)
    short = {"field": "value.nights", "op": "lte", "value": 4}
    found = memory.items.search(["trips"], query="by the river", filters=short, refresh_ttl=True)
    assert [item.key for item in found.results] == ["lisbon"] and not found.degraded
    assert found.results[0].score and found.results[0].expires_at
    assert [item.key for item in memory.items.search(limit=1, offset=1).results] == ["oslo"]
    assert memory.items.namespaces(suffix=["*"], max_depth=1).results == [["bikes"], ["trips"]]


def test_the_asynchronous_client_makes_the_same_calls(url: str, person: Person) -> None:
    async def use() -> None:
        async with AsyncClient(url, token=person.token) as memory:
            await memory.items.put(["notes"], "a", [1])
            assert (await memory.items.get(["notes"], "a", refresh_ttl=True)).value == [1]
            assert [event.action async for event in memory.items.history(["notes"], "a")] == ["created"]

    asyncio.run(use())


def test_a_text_is_no_namespace(memory: Client) -> None:
    with pytest.raises(TypeError, match=r"give \['trips'\]"):
        memory.items.put("trips", "lisbon", 1)
    with pytest.raises(TypeError, match=r"give \['trips'\]"):
        memory.items.get("trips", "lisbon")

"""The checkpointer of LangGraph on items: LangGraph's own conformance suite, and what ours adds."""

from __future__ import annotations

import operator
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any, TypedDict
from uuid import uuid4

import pytest

pytest.importorskip(
    "langgraph.checkpoint.conformance", reason="its conformance suite is not installed (make integrations)"
)

from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from memoryhub_client import AsyncClient, Blocked, Client, InvalidInput
from memoryhub_client.checkpoint_text import data_of, text_of
from memoryhub_client.langgraph_checkpoint import ROOT, MemoryhubSaver

pytestmark = pytest.mark.long
CAPABILITIES = ("put", "put_writes", "get_tuple", "list", "delete_thread", "delete_for_runs", "copy_thread", "prune")
PASSED = {
    "put": 17,
    "put_writes": 10,
    "get_tuple": 10,
    "list": 16,
    "delete_thread": 5,
    "delete_for_runs": 7,
    "copy_thread": 8,
    "prune": 8,
}


@pytest.fixture
def saver(client: Client) -> MemoryhubSaver:
    return MemoryhubSaver(client)


@pytest.fixture
async def both(client: Client, url: str, key: str, user: str) -> AsyncIterator[MemoryhubSaver]:
    async with AsyncClient(url, token=key, user_id=user) as async_client:
        yield MemoryhubSaver(client, async_client)


def thread(name: str = "", **more: str) -> RunnableConfig:
    return {"configurable": {"thread_id": name or str(uuid4()), "checkpoint_ns": "", **more}}


def checkpoint(**values: Any) -> Checkpoint:
    return {**empty_checkpoint(), "id": str(uuid6()), "channel_values": values}


class State(TypedDict):
    said: Annotated[list[AnyMessage], operator.add]
    city: str


def graph(saver: MemoryhubSaver) -> Any:
    def ask(state: State) -> dict[str, Any]:
        city = interrupt("Where do you live?")
        return {"said": [HumanMessage(f"I live in {city}.")], "city": city}

    builder = StateGraph(State)
    builder.add_node("ask", ask)
    builder.add_edge(START, "ask")
    return builder.compile(checkpointer=saver)


@pytest.mark.parametrize("capability", CAPABILITIES)
async def test_langgraph_s_conformance_suite(both: MemoryhubSaver, capability: str) -> None:
    @checkpointer_test(name="MemoryhubSaver")
    async def ours() -> AsyncIterator[MemoryhubSaver]:
        yield both

    result = (await validate(ours, capabilities={capability})).results[capability]
    assert result.failures == []
    assert result.tests_passed == PASSED[capability]


def test_a_graph_goes_on_where_it_was_interrupted(saver: MemoryhubSaver) -> None:
    config = thread()
    assert graph(saver).invoke({"said": [HumanMessage("Hello.")]}, config)["__interrupt__"]
    ended = graph(saver).invoke(Command(resume="Edinburgh"), config)
    assert [each.content for each in ended["said"]] == ["Hello.", "I live in Edinburgh."]
    states = list(graph(saver).get_state_history(config))
    assert [state.values.get("city") for state in states] == ["Edinburgh", None, None]


async def test_the_asynchronous_client_reads_what_the_other_one_wrote(both: MemoryhubSaver) -> None:
    config = thread()
    graph(both).invoke({"said": [HumanMessage("Hello.")]}, config)
    ended = await graph(both).ainvoke(Command(resume="Edinburgh"), config)
    assert ended["city"] == "Edinburgh"


def test_another_member_s_thread_of_this_name_is_another(saver: MemoryhubSaver, client: Client) -> None:
    config = saver.put(thread(), checkpoint(city="Bristol"), {}, {})
    other = MemoryhubSaver(client.for_user(f"user-{uuid4().hex}"))
    assert saver.get_tuple(config) is not None
    assert other.get_tuple(config) is None and not list(other.list(None))
    other.delete_thread(config["configurable"]["thread_id"])
    assert saver.get_tuple(config) is not None


def test_a_long_checkpoint_lies_in_parts_and_one_too_long_is_refused(saver: MemoryhubSaver, client: Client) -> None:
    config, text = thread(), 'Zürich "\\" 🌊 ' * 20_000
    stored = saver.put(config, checkpoint(text=text), {}, {})
    found = saver.get_tuple(config)
    assert found is not None and found.checkpoint["channel_values"] == {"text": text}
    before = client.items.search([ROOT], limit=100).results
    with pytest.raises(ValueError, match="at most 32 are stored"):
        saver.put(stored, checkpoint(text="x" * 3_000_000), {}, {})
    assert len(client.items.search([ROOT], limit=100).results) == len(before) > 5


def test_deleting_leaves_no_history(saver: MemoryhubSaver, client: Client) -> None:
    config = saver.put(thread(), checkpoint(text="Hello. " * 20_000), {}, {})
    saver.put_writes(config, [("text", "more")], "task")
    saver.delete_thread(config["configurable"]["thread_id"])
    assert not client.items.search([ROOT]).results and not client.items.namespaces(prefix=[ROOT]).results
    erased = [event.action for event in client.audit.list() if event.action.startswith("item.")]
    assert erased.count("item.forgotten") == erased.count("item.created")


def test_a_secret_is_refused_and_nothing_is_stored(saver: MemoryhubSaver) -> None:
    config = thread()
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    with pytest.raises(Blocked):
        saver.put(config, checkpoint(said=[HumanMessage(f"My token is {secret}")]), {}, {})
    assert saver.get_tuple(config) is None


def test_a_thread_without_a_good_name_is_refused_with_the_reason(saver: MemoryhubSaver) -> None:
    with pytest.raises(InvalidInput, match=r"namespace\.1"):
        saver.put(thread("x" * 129), checkpoint(), {}, {})


def test_writes_of_a_task_add_up_and_those_of_an_error_are_replaced(saver: MemoryhubSaver) -> None:
    config = saver.put(thread(), checkpoint(), {}, {})
    for writes in ([("a", 1)], [("a", 2), ("b", 3)], [("__error__", "one")], [("__error__", "two")]):
        saver.put_writes(config, writes, "task")
    found = saver.get_tuple(config)
    assert found is not None and found.pending_writes == [
        ("task", "__error__", "two"),
        ("task", "a", 1),
        ("task", "b", 3),
    ]


def test_the_latest_is_that_of_the_greatest_id(saver: MemoryhubSaver) -> None:
    config = thread()
    early, late = checkpoint(), checkpoint()
    for each in (late, early):
        saver.put(config, each, {}, {})
    found = saver.get_tuple(config)
    assert found is not None and found.checkpoint["id"] == late["id"]


def test_a_time_to_live_is_kept(client: Client) -> None:
    saver = MemoryhubSaver(client, ttl_minutes=5)
    saver.put(thread(), checkpoint(), {}, {})
    (item,) = client.items.search([ROOT]).results
    assert item.ttl_minutes == 5


def test_a_delta_channel_s_thread_is_not_pruned(saver: MemoryhubSaver) -> None:
    config = saver.put(thread(), checkpoint(), {}, {})
    saver.put(config, checkpoint(), {"counters_since_delta_snapshot": {"said": (1, 1)}}, {})
    with pytest.raises(ValueError, match="DeltaChannel"):
        saver.prune([config["configurable"]["thread_id"]])
    assert len(list(saver.list(config))) == 1


VALUES: Sequence[Any] = (
    None,
    {"a": [1, 2.5, True, None, "ü\x00"], "$ext": 1, "$bytes": "x", 3: "three"},
    b"\x00\xff",
    bytearray(b"x"),
    {"set": {1, 2}, "tuple": (1, (2, 3)), "nested": {"$map": [b"x"]}},
    [HumanMessage("Hello.", id="1"), uuid4(), float("inf"), 2**63],
)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_what_was_serialized_comes_back_equal(value: Any) -> None:
    serde = JsonPlusSerializer()
    kind, data = serde.dumps_typed(value)
    assert data_of(kind, text_of(kind, data)) == data


def test_an_encrypted_checkpoint_comes_back(client: Client) -> None:
    pytest.importorskip("Crypto", reason="pycryptodome, with which LangGraph encrypts, is not installed")
    saver = MemoryhubSaver(client, serde=EncryptedSerializer.from_pycryptodome_aes(key=b"0123456789abcdef"))
    config = saver.put(thread(), checkpoint(city="Bristol"), {}, {})
    found = saver.get_tuple(config)
    assert found is not None and found.checkpoint["channel_values"] == {"city": "Bristol"}
    assert "Bristol" not in str(client.items.search([ROOT]).results)

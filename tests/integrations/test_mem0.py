"""The client of mem0 and its LlamaIndex memory, unchanged, against a running site."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.integrations.test_docs import examples
from tests.npm import installed, node
from tests.proofs.site import Site

# The client tells its maker what it is used for, and writes into the home directory, unless told otherwise.
os.environ |= {"MEM0_TELEMETRY": "false", "MEM0_DIR": tempfile.mkdtemp()}
mem0 = pytest.importorskip("mem0", reason="needs mem0ai: make integrations installs it")
exceptions = pytest.importorskip("mem0.exceptions")
telemetry = pytest.importorskip("mem0.memory.telemetry")

pytestmark = pytest.mark.long
SCOPES = ("memory:read", "memory:write", "memory:decide", "members")
LEARNING_SECONDS = 60
PROGRAM = Path(__file__).parent / "mem0.mjs"
PACKAGES = {"@mem0/vercel-ai-provider": "3.0.2", "ai": "6.0.326", "mem0ai": "3.3.1"}


@pytest.fixture(scope="session")
def keys(site: Site) -> list[str]:
    """Backend keys of two tenants."""
    tenants = [site.manage("tenant", "create", f"mem0-{number}").strip() for number in (1, 2)]
    return [site.manage("token", "create", "--tenant", each, "--scopes", *SCOPES).strip() for each in tenants]


@pytest.fixture
def host(url: str) -> str:
    """Where mem0's routes are."""
    return f"{url}/api/mem0"


@pytest.fixture
def memory(host: str, keys: list[str]) -> Any:
    """mem0's client with a backend key."""
    return mem0.MemoryClient(api_key=keys[0], host=host)


@pytest.fixture
def user() -> str:
    """A user of whom nothing is known yet."""
    return f"user-{uuid4().hex}"


def texts(found: Any) -> list[str]:
    return [each["memory"] for each in found["results"]]


def said(memory: Any, user: str, text: str, **more: Any) -> str:
    """The id of a memory that is stored as it is said."""
    return str(memory.add(text, user_id=user, infer=False, **more)["results"][0]["id"])


def test_the_telemetry_is_off() -> None:
    assert telemetry.client_telemetry.posthog is None


def test_the_example_of_the_guide_runs_as_it_is_written(
    host: str, keys: list[str], user: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = examples("mem0.md")
    ours = example.replace("http://localhost:8000/api/mem0", host).replace("alice", user)
    exec(compile(ours, "example", "exec"), {"KEY": keys[0]})  # noqa: S102 - ours
    assert "Edinburgh" in capsys.readouterr().out


def test_a_conversation_is_learned_from_in_the_background(memory: Any, user: str) -> None:
    messages = [{"role": "user", "content": "I live in Porto."}, {"role": "assistant", "content": "Noted."}]
    added = memory.add(messages, user_id=user, agent_id="desk", run_id="r1", metadata={"plan": "pro"})
    assert added["status"] == "PENDING"
    until = time.monotonic() + LEARNING_SECONDS
    while not (found := memory.search("Where does she live?", filters={"user_id": user})["results"]):
        assert time.monotonic() < until, "nothing was learned"
        time.sleep(0.2)
    assert "Porto" in found[0]["memory"] and found[0]["score"] > 0 and found[0]["user_id"] == user
    assert (found[0]["agent_id"], found[0]["run_id"], found[0]["metadata"]) == ("desk", "r1", {"plan": "pro"})
    event = memory.client.get(f"/v1/event/{added['event_id']}/").json()
    assert event["status"] == "SUCCEEDED" and event["results"][0]["event"] == "ADD"


def test_a_memory_lives_through_every_call(memory: Any, user: str) -> None:
    pk = said(memory, user, "Lives in Bristol.", metadata={"from": "form"})
    assert memory.get(pk)["memory"] == "Lives in Bristol."
    assert memory.update(pk, text="Lives in Edinburgh.")["memory"] == "Lives in Edinburgh."
    assert memory.get(pk)["memory"] == "Lives in Edinburgh." and memory.get(pk)["metadata"] == {"from": "form"}
    assert [(each["event"], each["new_memory"]) for each in memory.history(pk)] == [
        ("ADD", "Lives in Bristol."),
        ("UPDATE", "Lives in Edinburgh."),
    ]
    assert texts(memory.get_all(filters={"user_id": user})) == ["Lives in Edinburgh."]
    assert memory.delete(pk, delete_linked=True)["message"]
    with pytest.raises(exceptions.MemoryNotFoundError):
        memory.get(pk)


def test_lists_are_filtered_and_paged(memory: Any, user: str) -> None:
    for number, text in enumerate(["Keeps bees.", "Rows on Mondays.", "Likes trains."]):
        said(memory, user, text, run_id=f"r{number}", agent_id="a" if number else "b", metadata={"number": number})
    page = memory.get_all(filters={"AND": [{"user_id": user}]}, page=1, page_size=2)
    assert page["count"] == 3 and len(page["results"]) == 2 and "page=2" in page["next"]
    assert len(memory.client.post(page["next"], json={"filters": {"user_id": user}}).json()["results"]) == 1
    either = {"OR": [{"run_id": "r0"}, {"metadata": {"number": 2}}]}
    assert set(texts(memory.get_all(filters={"AND": [{"user_id": user}, either]}))) == {"Keeps bees.", "Likes trains."}
    assert texts(memory.search("bees", filters={"user_id": user, "agent_id": "a"}, top_k=1)) != ["Keeps bees."]


def test_batches_and_all_of_a_user(memory: Any, user: str) -> None:
    one, two = said(memory, user, "Keeps bees."), said(memory, user, "Rows on Mondays.")
    memory.batch_update([{"memory_id": one, "text": "Keeps hens."}, {"memory_id": two, "text": "Rows on Fridays."}])
    assert set(texts(memory.get_all(filters={"user_id": user}))) == {"Keeps hens.", "Rows on Fridays."}
    memory.batch_delete([{"memory_id": one}])
    assert texts(memory.get_all(filters={"user_id": user})) == ["Rows on Fridays."]
    said(memory, user, "Likes trains.", agent_id="a")
    memory.delete_all(user_id=user, agent_id="a")
    assert texts(memory.get_all(filters={"user_id": user})) == ["Rows on Fridays."]
    memory.delete_all(user_id=user)
    assert texts(memory.get_all(filters={"user_id": user})) == []


def test_users_are_listed_and_reset_erases_them(host: str, keys: list[str], memory: Any) -> None:
    other = mem0.MemoryClient(api_key=keys[1], host=host)
    said(memory, "kept", "Keeps bees.")
    for name in ("ann", "kept"):
        said(other, name, "Rows on Mondays.")
    assert [each["name"] for each in other.users()["results"]] == ["ann", "kept"]
    other.delete_users(user_id="ann")
    assert [each["name"] for each in other.users()["results"]] == ["kept"]
    other.reset()
    assert other.users()["results"] == []
    assert texts(memory.get_all(filters={"user_id": "kept"})) == ["Keeps bees."]


def test_nobody_reaches_what_is_not_theirs(host: str, keys: list[str], memory: Any, user: str) -> None:
    pk = said(memory, user, "Keeps bees.")
    other = mem0.MemoryClient(api_key=keys[1], host=host)
    for reach in (other.get, other.history, other.delete, lambda it: other.update(it, text="Mine.")):
        with pytest.raises(exceptions.MemoryNotFoundError):
            reach(pk)
    assert texts(other.search("bees", filters={"user_id": user})) == []
    assert texts(memory.search("bees", filters={"user_id": f"{user}-2"})) == []
    assert memory.get(pk)["memory"] == "Keeps bees."


def test_refusals_arrive_as_the_clients_own_errors(site: Site, host: str, memory: Any, user: str) -> None:
    with pytest.raises(ValueError, match="not valid"):
        mem0.MemoryClient(api_key="mhb_nothing", host=host)
    with pytest.raises(exceptions.ValidationError, match="say whose memory"):
        memory.add("Keeps bees.", agent_id="a")
    with pytest.raises(exceptions.ValidationError, match="card"):
        memory.add("My card is 4111 1111 1111 1111.", user_id=user, infer=False)
    with pytest.raises(exceptions.MemoryError, match="/api/v1/export/"):
        memory.create_memory_export(schema="{}", user_id=user)
    tenant = site.manage("tenant", "create", f"t-{uuid4().hex[:8]}").strip()
    plain = mem0.MemoryClient(api_key=site.manage("token", "create", "--tenant", tenant).strip(), host=host)
    with pytest.raises(exceptions.AuthenticationError, match="memory:decide"):
        plain.delete_all(user_id=user)


def test_the_asynchronous_client_does_the_same(host: str, keys: list[str], user: str) -> None:
    async def live() -> None:
        memory = mem0.AsyncMemoryClient(api_key=keys[0], host=host)
        added = await asyncio.gather(
            *(memory.add(f"Owns boat number {n}.", user_id=user, infer=False) for n in ("one", "two", "three"))
        )
        pk = added[0]["results"][0]["id"]
        assert len((await memory.get_all(filters={"user_id": user}))["results"]) == 3
        assert (await memory.update(pk, text="Sold a boat."))["memory"] == "Sold a boat."
        assert (await memory.get(pk))["memory"] == "Sold a boat." and len(await memory.history(pk)) == 2
        assert "Sold a boat." in texts(await memory.search("Sold a boat?", filters={"user_id": user}))
        await memory.delete(pk)
        await memory.batch_delete([{"memory_id": each["results"][0]["id"]} for each in added[1:]])
        assert (await memory.get_all(filters={"user_id": user}))["results"] == []
        await memory.add("Likes trains.", user_id=user, infer=False)
        assert user in {each["name"] for each in (await memory.users())["results"]}
        await memory.delete_users(user_id=user)
        assert user not in {each["name"] for each in (await memory.users())["results"]}

    asyncio.run(live())


def test_llama_index_remembers_in_the_next_conversation(memory: Any, user: str) -> None:
    llama = pytest.importorskip("llama_index.memory.mem0", reason="needs llama-index-memory-mem0")
    core = pytest.importorskip("llama_index.core")

    def conversation() -> Any:
        return llama.Mem0Memory(
            client=memory, context={"user_id": user}, primary_memory=core.memory.Memory.from_defaults()
        )

    def user_says(text: str) -> Any:
        return core.llms.ChatMessage(role="user", content=text)

    first = conversation()
    first.put(user_says("I live in Porto."))
    first.put(core.llms.ChatMessage(role="assistant", content="Noted."))
    until, second = time.monotonic() + LEARNING_SECONDS, conversation()
    while "Porto" not in str(second.get("Where do I live?")[0].content):
        assert time.monotonic() < until, "nothing was recalled"
        time.sleep(0.2)
    assert [each.content for each in first.get_all()] == ["I live in Porto.", "Noted."]


def test_the_npm_client_and_the_vercel_provider_do_the_same(host: str, keys: list[str], tmp_path: Path) -> None:
    # The client writes into the home directory.
    environ = os.environ | {"HOST": host, "KEY": keys[0], "HOME": str(tmp_path)}
    command = [node(), str(shutil.copy(PROGRAM, installed("mem0", PACKAGES, "--legacy-peer-deps")))]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)  # noqa: S603 - our own arguments
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("pass ") == 18

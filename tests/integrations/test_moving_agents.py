"""Three agents with scripted models move a user from Bristol to Edinburgh in one session, and are asked in the next.

Each script of the client's examples is another way in: the calls of an integration, MCP, and tools of the agent's own.
"""

from __future__ import annotations

import asyncio
import importlib
import json
from typing import Any

import pytest

from memoryhub_client import Client
from memoryhub_client.types import Fact
from tests.integrations.conftest import KEY_NAME
from tests.integrations.test_docs import messages_server, moved, needs
from tests.proofs.site import ROOT

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def _environ(url: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORYHUB_URL", url)
    monkeypatch.setenv("MEMORYHUB_KEY", key)
    monkeypatch.syspath_prepend(ROOT / "clients" / "python" / "examples")


def facts(*cities: str) -> list[dict[str, str]]:
    """The arguments of `remember` for each move."""
    return [{"text": f"Lives in {city}", "key": "home_city"} for city in cities]


def check(client: Client, user: str) -> None:
    """The chain of the home names the app, and its audit log the key: of the fact, or of the words it comes from."""
    moved(client, user, "travel")
    client = client.for_user(user)
    (fact,) = client.memories.list(key="home_city")
    assert isinstance(fact, Fact)
    events = [event for each in (fact.id, *fact.supporting_episode_ids) for event in client.audit.list(memory=each)]
    assert f"The backend key {KEY_NAME}" in {event.actor for event in events}


@needs("langgraph", "LangGraph")
def test_langgraph(client: Client, user: str, capsys: pytest.CaptureFixture[str]) -> None:
    from tests.integrations.parrot import Parrot  # noqa: PLC0415 - needs LangChain

    importlib.import_module("langgraph_agent").main(Parrot(), user)
    assert "Lives in Edinburgh" in capsys.readouterr().out
    check(client, user)


@needs("agents", "the OpenAI Agents SDK")
def test_openai_agents(client: Client, user: str, capsys: pytest.CaptureFixture[str]) -> None:
    from agents.testing import ScriptedModel, assistant_message, function_call  # noqa: PLC0415 - needs the SDK

    script: list[Any] = []
    for number, (fact, said) in enumerate(
        zip(facts("Bristol", "Edinburgh"), ("I live in Bristol.", "I moved to Edinburgh."), strict=True)
    ):
        script.append([function_call("remember", {**fact, "said": said}, call_id=f"call_{number}")])
        script.append([assistant_message("Noted.")])
    script.append([function_call("recall", {"query": "Where does the user live?"}, call_id="call_2")])
    script.append([assistant_message("In Edinburgh.")])
    model = ScriptedModel(script)
    asyncio.run(importlib.import_module("openai_agents_agent").main(model, user))
    assert "In Edinburgh." in capsys.readouterr().out
    assert "Lives in Edinburgh" in str(model.calls[-1].input)
    check(client, user)


@needs("anthropic", "the SDK of Anthropic")
def test_claude(client: Client, user: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    bristol, edinburgh = ({"tool": "remember", **fact} for fact in facts("Bristol", "Edinburgh"))
    asks = {"tool": "recall", "query": "Where does the user live?"}
    script: list[dict[str, str] | str] = [bristol, "Noted.", edinburgh, "Noted, too.", asks, "In Edinburgh."]
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    with messages_server(script) as (address, received):
        monkeypatch.setenv("ANTHROPIC_BASE_URL", address)
        importlib.import_module("claude_agent").main("scripted", user)
    assert "In Edinburgh." in capsys.readouterr().out
    assert "Lives in Edinburgh" in json.dumps(received[-1]["messages"][-1])
    check(client, user)

"""The examples of the Python client run as they are written: a user moves, and is asked in the next session."""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from memoryhub_client import AsyncClient, Client
from tests.integrations.test_docs import moved, needs
from tests.model_api import KEY, ModelApi
from tests.proofs.site import ROOT

EXAMPLES = ROOT / "clients" / "python" / "examples"
LINES = 60
CALLED_BACK_SECONDS = 30

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def _environment(url: str, key: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MEMORYHUB_URL", url)
    monkeypatch.setenv("MEMORYHUB_KEY", key)
    monkeypatch.syspath_prepend(EXAMPLES)
    # These two would fetch a list of prices, write into the home directory and report to their maker.
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    monkeypatch.setenv("CREWAI_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")


def example(name: str) -> Any:
    """The module of an example, which is short enough to be read at once."""
    assert len((EXAMPLES / f"{name}.py").read_text().splitlines()) <= LINES
    return importlib.import_module(name)


@needs("pydantic_ai", "Pydantic AI")
def test_pydantic_ai(client: Client, user: str, capsys: pytest.CaptureFixture[str]) -> None:
    from pydantic_ai.messages import ModelResponse, TextPart  # noqa: PLC0415 - needs the framework
    from pydantic_ai.models.function import FunctionModel  # noqa: PLC0415 - likewise

    def parrot(_: Any, info: Any) -> Any:
        return ModelResponse(parts=[TextPart(info.instructions or "Nothing.")])

    asyncio.run(example("pydantic_ai_capability").main(FunctionModel(parrot), user))
    assert "Lives in Edinburgh" in capsys.readouterr().out
    moved(client, user, "travel")


@needs("llama_index.core", "LlamaIndex")
def test_llama_index(client: Client, user: str, capsys: pytest.CaptureFixture[str]) -> None:
    from llama_index.core.llms import ChatMessage  # noqa: PLC0415 - needs the framework
    from llama_index.core.llms.mock import MockFunctionCallingLLM  # noqa: PLC0415 - likewise

    def parrot(messages: Any, **_: Any) -> Any:
        told = [each.content for each in messages if each.role == "system"]
        return ChatMessage(role="assistant", content="\n".join(told) or "Nothing.")

    model = MockFunctionCallingLLM(response_generator=parrot, is_chat_model=True)
    asyncio.run(example("llama_index_block").main(model, user))
    assert "Lives in Edinburgh" in capsys.readouterr().out
    moved(client, user, "travel")
    assert {each.text for each in client.memories.list("episodic")} >= {"I live in Bristol.", "I moved to Edinburgh."}


@needs("google.adk", "Google ADK")
def test_google_adk(client: Client, user: str, capsys: pytest.CaptureFixture[str]) -> None:
    from google.adk.models import BaseLlm, LlmResponse  # noqa: PLC0415 - needs the framework
    from google.genai.types import Content, Part  # noqa: PLC0415 - likewise

    class Parrot(BaseLlm):
        async def generate_content_async(self, llm_request: Any, *_: Any, **__: Any) -> AsyncIterator[Any]:
            *told, _asked = [part.text for content in llm_request.contents for part in content.parts]
            yield LlmResponse(content=Content(role="model", parts=[Part(text="\n".join(told) or "Nothing.")]))

    asyncio.run(example("google_adk_service").main(Parrot(model="parrot"), user))
    assert "Lives in Edinburgh" in capsys.readouterr().out
    moved(client, user, "travel")


@needs("agent_framework", "Microsoft Agent Framework")
def test_agent_framework(client: Client, user: str, capsys: pytest.CaptureFixture[str]) -> None:
    from agent_framework import BaseChatClient, ChatResponse, Message  # noqa: PLC0415 - needs the framework

    class Parrot(BaseChatClient):
        async def _inner_get_response(self, *, options: Any, **_: Any) -> Any:
            told = options.get("instructions") or "Nothing."
            return ChatResponse(messages=[Message(role="assistant", contents=[told])])

    asyncio.run(example("agent_framework_provider").main(Parrot(), user))
    assert "Lives in Edinburgh" in capsys.readouterr().out
    moved(client, user, "travel")


@needs("litellm", "LiteLLM, which has an environment of its own,")
def test_litellm(url: str, key: str, client: Client, user: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = example("litellm_callback")
    with ModelApi().running() as api:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", f"{api.url}/v1")
        asyncio.run(module.main("openai/scripted", user))
        first, *_, last = [each.body["messages"] for each in api.received]
        assert [each["role"] for each in first] == ["user"]
        assert [each["role"] for each in last] == ["system", "user"] and "Lives in Edinburgh" in last[0]["content"]
        moved(client, user, "travel")
        for named in (user, None):
            module.litellm.logging_callback_manager._reset_all_callbacks()
            asyncio.run(_streamed(module, url, key, named))
        assert [each["role"] for each in api.last.body["messages"]] == ["user"]
    turns = [client.sessions.get(each.id).turns[0] for each in client.sessions.list()]
    assert ("A stream?", "Hello from the model.") in [(turn.message, turn.answer) for turn in turns]


async def _streamed(module: Any, url: str, key: str, user: str | None) -> None:
    called_back = asyncio.Event()
    async with AsyncClient(url, token=key) as memory:
        callback = module.MemoryhubCallback(memory, learn="off")
        hand_in = callback.async_log_success_event

        async def handed_in(**event: Any) -> None:
            await hand_in(**event)
            called_back.set()

        callback.async_log_success_event = handed_in
        module.litellm.callbacks = [callback]
        said = [{"role": "user", "content": "A stream?"}]
        answer = await module.litellm.acompletion(model="openai/scripted", messages=said, user=user, stream=True)
        async for _ in answer:
            pass
        await asyncio.wait_for(called_back.wait(), CALLED_BACK_SECONDS)


@needs("crewai", "CrewAI, which has an environment of its own,")
def test_crewai(client: Client, user: str, capsys: pytest.CaptureFixture[str]) -> None:
    from crewai import BaseLLM  # noqa: PLC0415 - needs the framework

    class Parrot(BaseLLM):
        def call(self, messages: Any, *_: Any, **__: Any) -> str:
            asked = messages[-1]["content"]
            if "memory statements" in messages[0]["content"]:
                stated = asked.partition("Input: ")[2].partition("\n")[0]
                return json.dumps({"memories": [] if stated.endswith("?") else [f"The user said: {stated}"]})
            told = [line for line in asked.splitlines() if "The user said" in line]
            return "Thought: I know.\nFinal Answer: " + (" ".join(told) or "Nothing.")

        def supports_function_calling(self) -> bool:
            return False

    module = example("crewai_memory")
    module.main(Parrot(model="parrot"), user)
    assert "The user said: I moved to Edinburgh." in capsys.readouterr().out
    stored = sorted((each.text, each.app) for each in client.memories.list())
    said = ("The user said: I live in Bristol.", "The user said: I moved to Edinburgh.")
    assert stored == [(text, "travel") for text in said]
    with pytest.raises(ValueError, match="no scopes"):
        module.MemoryhubMemory(client=client).recall("home", scope="/crew")

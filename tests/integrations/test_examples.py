"""The examples of the Python client run as they are written: a user moves, and is asked in the next session."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from memoryhub_client import Client
from tests.integrations.test_docs import moved, needs
from tests.proofs.site import ROOT

EXAMPLES = ROOT / "clients" / "python" / "examples"
LINES = 60

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def _environment(url: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORYHUB_URL", url)
    monkeypatch.setenv("MEMORYHUB_KEY", key)
    monkeypatch.syspath_prepend(EXAMPLES)


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

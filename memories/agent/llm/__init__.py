"""Language models: one Protocol, an OpenAI-compatible endpoint, and the offline responder when none is configured."""

from __future__ import annotations

from functools import lru_cache

from django.conf import settings

from memories.agent.llm.base import ChatModel
from memories.agent.llm.offline import OfflineResponder

__all__ = ["ChatModel", "chat_model"]


def chat_model() -> ChatModel:
    """The model that the settings name; without `MEMORYHUB_MODEL` the offline responder."""
    if not settings.MEMORYHUB_MODEL:
        return OfflineResponder()
    return _openai_chat(settings.MEMORYHUB_MODEL, settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY)


@lru_cache(maxsize=4)
def _openai_chat(name: str, base_url: str, api_key: str) -> ChatModel:
    """One client for each configuration: it is safe to share between threads and keeps its connections."""
    from memories.agent.llm.openai_chat import OpenAIChat  # noqa: PLC0415 - a second to import, for nothing when offline

    return OpenAIChat(name=name, base_url=base_url, api_key=api_key)

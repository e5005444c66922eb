"""Language models: what the agent and the consolidation ask of them, and an OpenAI-compatible endpoint."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from django.conf import settings

from memories.constants import CLASSIFIER_SECONDS

if TYPE_CHECKING:
    from memories.llm.completions import OpenAIChat
    from memories.llm.json_answers import JsonAnswers


def endpoint(name: str) -> OpenAIChat:
    """The model `name` at the endpoint that the settings name, to talk with."""
    from memories.llm.completions import OpenAIChat  # noqa: PLC0415 - a second to import, for nothing when offline

    model: OpenAIChat = _client(OpenAIChat, name, settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY)
    return model


def json_endpoint(name: str) -> JsonAnswers:
    """The model `name` at the endpoint that the settings name, for answers in JSON."""
    from memories.llm.json_answers import JsonAnswers  # noqa: PLC0415 - likewise

    model: JsonAnswers = _client(JsonAnswers, name, settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY)
    return model


def classifier_endpoint() -> JsonAnswers | None:
    """The model that tells secrets from harmless values, if configured, with short timeouts: a writer waits for it."""
    if not settings.MEMORYHUB_CLASSIFIER_MODEL:
        return None
    from memories.llm.json_answers import JsonAnswers  # noqa: PLC0415 - likewise

    # The key of one endpoint is never sent to another.
    elsewhere = bool(settings.MEMORYHUB_CLASSIFIER_URL)
    model: JsonAnswers = _client(
        JsonAnswers,
        settings.MEMORYHUB_CLASSIFIER_MODEL,
        settings.MEMORYHUB_CLASSIFIER_URL or settings.OPENAI_BASE_URL,
        settings.MEMORYHUB_CLASSIFIER_KEY or ("" if elsewhere else settings.OPENAI_API_KEY),
        stall_seconds=CLASSIFIER_SECONDS,
        answer_seconds=CLASSIFIER_SECONDS,
        retries=0,
    )
    return model


@lru_cache(maxsize=8)
def _client(kind: Any, name: str, base_url: str, api_key: str, **limits: float) -> Any:
    """One client for each configuration: it is safe to share between threads and keeps its connections."""
    return kind(name=name, base_url=base_url, api_key=api_key, **limits)

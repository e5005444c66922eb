"""Language models: the interface used by the agent and consolidation, and clients for OpenAI-compatible endpoints."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from django.conf import settings

from memories.constants import CLASSIFIER_SECONDS

if TYPE_CHECKING:
    from memories.llm.completions import OpenAIChat
    from memories.llm.json_answers import JsonAnswers
    from memories.llm.upstream import Upstream


def endpoint(name: str) -> OpenAIChat:
    """Return a cached chat client for the model `name` at the endpoint in the settings."""
    from memories.llm.completions import OpenAIChat  # noqa: PLC0415 - takes a second, which offline use saves

    model: OpenAIChat = _client(OpenAIChat, name, settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY)
    return model


def endpoint_at(name: str, upstream: Upstream) -> OpenAIChat:
    """Return a cached chat client for a tenant's own endpoint; only public addresses are reached."""
    from memories.llm.completions import OpenAIChat  # noqa: PLC0415 - likewise

    model: OpenAIChat = _client(OpenAIChat, name, upstream.url, upstream.key, checked=upstream.checked)
    return model


def json_endpoint(name: str) -> JsonAnswers:
    """Return a cached client for JSON answers by the model `name` at the endpoint in the settings."""
    from memories.llm.json_answers import JsonAnswers  # noqa: PLC0415 - likewise

    model: JsonAnswers = _client(JsonAnswers, name, settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY)
    return model


def classifier_endpoint() -> JsonAnswers | None:
    """Return the client of the model that classifies possible secrets, or None if none is configured.

    Its timeouts are short and it never retries, because a write waits for it.
    """
    if not settings.MEMORYHUB_CLASSIFIER_MODEL:
        return None
    from memories.llm.json_answers import JsonAnswers  # noqa: PLC0415 - likewise

    # The key of one endpoint must not be sent to another.
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


@lru_cache(maxsize=64)
def _client(kind: Any, name: str, base_url: str, api_key: str, **limits: float) -> Any:
    """Return one client per configuration. Clients are thread-safe and keep their connections open."""
    return kind(name=name, base_url=base_url, api_key=api_key, **limits)

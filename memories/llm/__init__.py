"""Language models: what the agent and the consolidation ask of them, and an OpenAI-compatible endpoint."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from django.conf import settings

if TYPE_CHECKING:
    from memories.llm.completions import OpenAIChat
    from memories.llm.json_answers import JsonAnswers


def endpoint(name: str) -> OpenAIChat:
    """The model `name` at the endpoint that the settings name, to talk with."""
    return _openai_chat(name, settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY)


def json_endpoint(name: str) -> JsonAnswers:
    """The model `name` at the endpoint that the settings name, for answers in JSON."""
    return _json_answers(name, settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY)


def classifier_endpoint() -> JsonAnswers | None:
    """The model that tells secrets from harmless values, if configured, with short timeouts: a writer waits for it."""
    if not settings.MEMORYHUB_CLASSIFIER_MODEL:
        return None
    # The key of one endpoint is never sent to another.
    elsewhere = bool(settings.MEMORYHUB_CLASSIFIER_URL)
    return _classifier(
        settings.MEMORYHUB_CLASSIFIER_MODEL,
        settings.MEMORYHUB_CLASSIFIER_URL or settings.OPENAI_BASE_URL,
        settings.MEMORYHUB_CLASSIFIER_KEY or ("" if elsewhere else settings.OPENAI_API_KEY),
    )


# One client for each configuration: it is safe to share between threads and keeps its connections. Importing it takes
# a second, for nothing when offline.


@lru_cache(maxsize=4)
def _openai_chat(name: str, base_url: str, api_key: str) -> OpenAIChat:
    from memories.llm.completions import OpenAIChat  # noqa: PLC0415

    return OpenAIChat(name=name, base_url=base_url, api_key=api_key)


@lru_cache(maxsize=4)
def _json_answers(name: str, base_url: str, api_key: str) -> JsonAnswers:
    from memories.llm.json_answers import JsonAnswers  # noqa: PLC0415

    return JsonAnswers(name=name, base_url=base_url, api_key=api_key)


@lru_cache(maxsize=4)
def _classifier(name: str, base_url: str, api_key: str) -> JsonAnswers:
    from memories.constants import CLASSIFIER_SECONDS  # noqa: PLC0415
    from memories.llm.json_answers import JsonAnswers  # noqa: PLC0415

    return JsonAnswers(
        name=name,
        base_url=base_url,
        api_key=api_key,
        stall_seconds=CLASSIFIER_SECONDS,
        answer_seconds=CLASSIFIER_SECONDS,
        retries=0,
    )

"""The model that answers: the configured endpoint, and the offline responder when there is none."""

from __future__ import annotations

from django.conf import settings

from memories.agent.offline import OfflineResponder
from memories.llm import endpoint
from memories.llm.base import ChatModel


def chat_model() -> ChatModel:
    """The model that the settings name; without `MEMORYHUB_MODEL` the offline responder."""
    return endpoint(settings.MEMORYHUB_MODEL) if settings.MEMORYHUB_MODEL else OfflineResponder()

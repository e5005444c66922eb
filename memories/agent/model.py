"""What answers: the configured model, else the rule set's responder, else one that says that there is neither."""

from __future__ import annotations

from django.conf import settings

from memories.agent.offline import OfflineResponder
from memories.consolidation.rules import rules
from memories.llm import endpoint
from memories.llm.base import ChatModel


def chat_model() -> ChatModel:
    """The model of `MEMORYHUB_MODEL`, else the responder of `MEMORYHUB_RULES`, else the one that knows no language."""
    if settings.MEMORYHUB_MODEL:
        return endpoint(settings.MEMORYHUB_MODEL)
    known = rules()
    return OfflineResponder() if known is None else known.responder()

"""The extractor that an installation uses: its model, or the rules where it has none."""

from __future__ import annotations

from django.conf import settings

from memories.consolidation.proposals import Extractor
from memories.llm import json_endpoint


def consolidation_extractor() -> Extractor:
    """The model that the settings name for it, else the one that answers in the chat, else the rules."""
    if name := settings.MEMORYHUB_CONSOLIDATION_MODEL or settings.MEMORYHUB_MODEL:
        from memories.consolidation.model import ModelExtractor  # noqa: PLC0415 - a second to import, not when offline

        return ModelExtractor(json_endpoint(name))
    from memories.consolidation.rules import RuleExtractor  # noqa: PLC0415 - its tables, not where a model reads

    return RuleExtractor()

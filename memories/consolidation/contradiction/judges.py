"""Who judges pairs of facts that the rules do not tell apart: the model of an installation, if it has one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from django.conf import settings

from memories.consolidation.contradiction.judging import Judgement, Statement
from memories.llm import json_endpoint


@dataclass(frozen=True, slots=True)
class Pair:
    """Two facts to judge, the older one first, with when each was learned."""

    older: Statement
    newer: Statement
    older_learned_at: datetime
    newer_learned_at: datetime


class Judge(Protocol):
    """Judges pairs, as far as it can."""

    @property
    def name(self) -> str:
        """What the record of a judgement says: the model's name."""
        ...

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement | None]:
        """A judgement for each pair; None where there is none. It raises nothing."""
        ...


def contradiction_judge() -> Judge | None:
    """The model that the settings name for consolidation, else the one of the chat; None: the rules alone."""
    name = settings.MEMORYHUB_CONSOLIDATION_MODEL or settings.MEMORYHUB_MODEL
    if not name:
        return None
    from memories.consolidation.contradiction.model import ModelJudge  # noqa: PLC0415 - a second to import, not offline

    return ModelJudge(json_endpoint(name))

"""Judging two facts: whether both can hold, or say the same.

Nothing is merged or ended by likeness alone: a judge decides, either the configured model or the rule set of a
language. Without a verdict both facts stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol


class Verdict(StrEnum):
    """What a newer fact does to an older one.

    CONTRADICTION: both cannot hold. UPDATE: the newer one tells what became of the older one. SAME: both say the same.
    """

    CONTRADICTION = "contradiction"
    UPDATE = "update"
    SAME = "same"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class JudgedFact:
    """The part of a fact that is judged."""

    text: str
    key: str = ""
    category: str = ""
    valid_from: datetime | None = None
    valid_to: datetime | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with its reason: a few words for people, none of them the facts' own."""

    verdict: Verdict
    reason: str = ""


NEITHER = Judgement(Verdict.NEITHER)


@dataclass(frozen=True, slots=True)
class Cues:
    """How a database finds the facts that are worth judging beside one: parts of words, in small letters, and keys."""

    parts: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """Two facts to judge, the older one first, with the time at which each was learned."""

    older: JudgedFact
    newer: JudgedFact
    older_learned_at: datetime
    newer_learned_at: datetime


class Judge(Protocol):
    """A model that judges pairs. Never ask it while a lock or a transaction is held: an answer may take a minute."""

    @property
    def name(self) -> str:
        """The name of the judge on record."""
        ...

    def judge(self, pairs: Sequence[JudgedPair]) -> list[Judgement | None]:
        """A judgement for each pair; None where the model gives none. It raises nothing."""
        ...

"""The boundary: which of the ranked candidates are returned, and why the others are not. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from memories.recall.query import words
from memories.recall.words_en import FILLERS, QUESTION_WORDS
from memories.types import Kind, Status


class Cut(StrEnum):
    """Why a candidate was not returned; NO if it was."""

    NO = ""
    RANK = "rank"
    DUPLICATE = "duplicate"
    ASKED_BEFORE = "asked before"
    BUDGET = "budget"
    THRESHOLD = "threshold"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Contender:
    """A ranked candidate as the boundary sees it; `tokens` is the price of its text in a prompt."""

    kind: Kind
    status: Status
    score: float
    text: str
    tokens: int


def select(
    ranked: Sequence[Contender],
    *,
    limit: int,
    asked: str = "",
    token_budget: int | None = None,
    threshold: float | None = None,
) -> list[Cut]:
    """The verdict on each contender, best first.

    An episode that only asks the same question (`asked`) is the closest match and never the answer, so it is left out.
    A near duplicate of a returned candidate collapses into it. A candidate over the token budget is skipped, so that a
    long text does not keep out the short ones after it.
    """
    verdicts: list[Cut] = []
    seen: set[tuple[str, ...]] = set()
    left = token_budget
    given = 0
    for contender in ranked:
        alike = likeness(contender.kind, contender.status, contender.text)
        if threshold is not None and contender.score < threshold:
            verdict = Cut.THRESHOLD
        elif _only_asks(contender, asked):
            verdict = Cut.ASKED_BEFORE
        elif alike in seen:
            verdict = Cut.DUPLICATE
        elif given >= limit:
            verdict = Cut.RANK
        elif left is not None and contender.tokens > left:
            verdict = Cut.BUDGET
        else:
            verdict = Cut.NO
            seen.add(alike)
            given += 1
            left = None if left is None else left - contender.tokens
        verdicts.append(verdict)
    return verdicts


def likeness(kind: Kind, status: Status, text: str) -> tuple[str, ...]:
    """Equal for near duplicates: same kind and state, and the same words in the same order but for fillers.

    Deliberately narrow: to an encoder two facts that differ in one number, one name or one "not" are nearly the same,
    and the difference is the answer.
    """
    return (kind, status, *(_said(text) or [text]))


def _only_asks(contender: Contender, asked: str) -> bool:
    """True for an earlier asking of the same question in the same words."""
    if contender.kind is not Kind.EPISODIC:
        return False
    said = _said(contender.text)
    asks = contender.text.rstrip().endswith("?") or bool(said and said[0] in QUESTION_WORDS)
    return asks and said == _said(asked)


def _said(text: str) -> list[str]:
    return [word for word in words(text) if word not in FILLERS]

"""The boundary: which of the ranked candidates are given out, and why the others are not. Pure.

Invariant: the same candidates give the same selection; ties break on the id.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from memories.recall.query import words
from memories.recall.words_en import FILLERS, QUESTION_WORDS
from memories.types import Kind, Status


class Cut(StrEnum):
    """Why a candidate was not given out."""

    NO = ""
    RANK = "rank"
    DUPLICATE = "duplicate"
    ASKED_BEFORE = "asked before"
    BUDGET = "budget"
    THRESHOLD = "threshold"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Contender:
    """A ranked candidate with what the boundary looks at; `tokens` is what its text costs in a prompt."""

    id: str
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
    """For each contender, best first, whether it is given out (Cut.NO) or why not.

    An episode that only asks the same (`asked`) is the closest match there is and never the answer, so it is left out.
    A near duplicate of one that is given out collapses into it. One that does not fit the token budget is passed over,
    so that a long text does not keep out the short ones behind it.
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

    Deliberately narrow. Two facts that differ in one number, one name or one "not" are nearly one to an encoder, and
    the difference is what was asked for.
    """
    return (kind, status, *(_said(text) or [text]))


def _only_asks(contender: Contender, asked: str) -> bool:
    """Whether the contender is an earlier asking of the same question, in the same words."""
    if contender.kind is not Kind.EPISODIC:
        return False
    said = _said(contender.text)
    asks = contender.text.rstrip().endswith("?") or bool(said and said[0] in QUESTION_WORDS)
    return asks and said == _said(asked)


def _said(text: str) -> list[str]:
    return [word for word in words(text) if word not in FILLERS]

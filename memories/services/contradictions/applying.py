"""What becomes of two facts that cannot both hold: the surer one stays, or a person is asked.

Invariant: nothing is overwritten. What loses is superseded, with a link, an audit event and a reason, and can be
brought back by an undo; what is pinned, shared, or was put before a person already is never superseded here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from memories.consolidation.contradiction.judging import Judgement, Statement, Verdict
from memories.constants import CONFIDENCE_GAP
from memories.models import Fact
from memories.services.facts.closing import close, record_ended
from memories.services.ownership import SHARED
from memories.services.reviews.queue import open_contradiction, was_asked
from memories.services.write import Write
from memories.types import Contradiction


class Ending(StrEnum):
    """What is done about a pair."""

    OLDER_ENDS = "older_ends"
    NEWER_ENDS = "newer_ends"
    ASK = "ask"


@dataclass(frozen=True, slots=True)
class Settled:
    """What was done about one pair: `superseded` is the fact that lost, `review_id` what a person is asked."""

    superseded: UUID | None = None
    review_id: UUID | None = None


NOTHING = Settled()


def statement_of(fact: Fact) -> Statement:
    """What of a fact is judged."""
    return Statement(fact.text, fact.key, fact.category, fact.valid_from, fact.valid_to)


def ending_of(older: Fact, newer: Fact, verdict: Verdict) -> Ending:
    """Which of two facts ends. What is told to be news ends the older one, unless that is much surer."""
    surer = round(older.confidence - newer.confidence, 6)
    if verdict is Verdict.UPDATE and surer < CONFIDENCE_GAP:
        ending = Ending.OLDER_ENDS
    elif abs(surer) >= CONFIDENCE_GAP:
        ending = Ending.NEWER_ENDS if surer > 0 else Ending.OLDER_ENDS
    else:
        return Ending.ASK
    loser = older if ending is Ending.OLDER_ENDS else newer
    return Ending.ASK if loser.pinned or loser.scope in SHARED else ending


def settle(
    w: Write,
    older: Fact,
    newer: Fact,
    judgement: Judgement,
    *,
    at: datetime,
    evidence: Mapping[str, Any],
) -> Settled:
    """Do what follows from a judgement; both facts are believed.

    `at` is when the losing one stops being believed, at the earliest.
    """
    if judgement.verdict is Verdict.NEITHER or was_asked(older, newer):
        return NOTHING
    match ending_of(older, newer, judgement.verdict):
        case Ending.ASK:
            item = open_contradiction(w, older, newer, reason=judgement.reason, evidence=evidence)
            return Settled(review_id=item.pk) if item else NOTHING
        case Ending.OLDER_ENDS:
            until = newer.valid_from or newer.learned_at
            ended = close([older], at=at, valid_to=until, contradiction=Contradiction.NATURAL)
            record_ended(w, ended, newer, reason=_reason(judgement))
            return Settled(superseded=older.pk)
        case Ending.NEWER_ENDS:
            # Less sure than what it contradicts, it was not right; when it would have ended is not known.
            ended = close([newer], at=at, valid_to=at, contradiction=Contradiction.HARSH)
            record_ended(w, ended, older, reason=_reason(judgement))
            return Settled(superseded=newer.pk)


def _reason(judgement: Judgement) -> str:
    how = "brought up to date" if judgement.verdict is Verdict.UPDATE else "the surer one stays"
    return f"{judgement.reason}; {how}"

"""On write: what a fact that was just stored contradicts, by rules alone, for the owner's lock is held.

What is near and yet not told apart by rules is left to the next consolidation and the daily scan, where a model can be
asked outside the lock (`scanning`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from uuid import UUID

from memories.consolidation.contradiction.judging import Judgement, Read, Verdict, judge, read
from memories.models import Fact
from memories.services.contradictions.applying import settle, statement_of
from memories.services.contradictions.rivals import rivals_of
from memories.services.write import Write
from memories.types import CURRENT, WriteOutcome, WriteResult

BY_RULES = "rules"
LESS_SURE = "What is believed with more certainty contradicts it."
ASKED = "It contradicts another memory; somebody is asked which of them holds."


@dataclass(frozen=True, slots=True)
class Resolution:
    """What became of a fact and its rivals. `stands`: it is believed; `reviews` are what a person is asked."""

    stands: bool = True
    superseded: tuple[UUID, ...] = ()
    reviews: tuple[UUID, ...] = ()

    def told(self, outcome: WriteOutcome) -> WriteOutcome:
        """The outcome of the write with this."""
        ended = (*outcome.superseded_ids, *self.superseded)
        if not self.stands:
            return replace(outcome, result=WriteResult.CREATED, reason=LESS_SURE)
        if self.reviews:
            return replace(outcome, result=WriteResult.QUEUED_FOR_REVIEW, superseded_ids=ended, reason=ASKED)
        return replace(outcome, result=WriteResult.SUPERSEDED, superseded_ids=ended) if self.superseded else outcome


def resolve(w: Write, fact: Fact) -> Resolution:
    """Settle what `fact`, just stored, contradicts.

    Of two facts the one that was learned later counts as the newer, whichever was stored later.
    """
    if fact.status not in CURRENT:
        return Resolution()
    mine = read(statement_of(fact))
    found = [(rival, _judged(fact, mine, rival)) for rival in rivals_of(fact, mine)]
    at_odds = [(rival, judgement) for rival, judgement in found if judgement.verdict is not Verdict.NEITHER]
    superseded: list[UUID] = []
    reviews: list[UUID] = []
    # The surest first: what ends the new fact leaves the others as they are.
    for rival, judgement in sorted(at_odds, key=lambda each: (-each[0].confidence, each[0].pk)):
        older, newer = in_order(fact, rival)
        done = settle(w, older, newer, judgement, at=newer.learned_at, evidence={"judge": BY_RULES})
        if done.superseded == fact.pk:
            return Resolution(stands=False)
        superseded += [done.superseded] if done.superseded else []
        reviews += [done.review_id] if done.review_id else []
    return Resolution(superseded=tuple(superseded), reviews=tuple(reviews))


def in_order(one: Fact, other: Fact) -> tuple[Fact, Fact]:
    """Two facts, the one that was learned first before the other."""
    older, newer = sorted((one, other), key=lambda fact: (fact.learned_at, fact.created_at, fact.pk))
    return older, newer


def _judged(fact: Fact, mine: Read, rival: Fact) -> Judgement:
    """`mine` is the fact as it was read once; reading is what costs."""
    theirs = read(statement_of(rival))
    older, _ = in_order(fact, rival)
    return judge(mine, theirs) if older is fact else judge(theirs, mine)

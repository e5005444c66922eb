"""Settling two judged facts: the surer one stays, equal statements merge, or a person is asked.

Nothing is overwritten. The fact that loses is superseded, with a link, an audit event and a reason, and an undo brings
it back. A fact that is pinned or shared, or a pair that was put before a person already, is never superseded here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from memories.consolidation.judging import Judgement, Verdict
from memories.consolidation.rules import rules
from memories.constants import CONFIDENCE_GAP
from memories.models import Fact
from memories.services.contradictions.proposing import judged_pairs, rivals_of
from memories.services.facts.closing import close, record_ended, snapshot
from memories.services.ownership import SHARED
from memories.services.reviews.queue import open_contradiction, was_asked
from memories.services.write import Write
from memories.types import CURRENT, Contradiction, WriteOutcome, WriteResult

# The judge on record where no model judged.
BY_RULES = "rules"
LESS_SURE = "What is believed with more certainty contradicts it."
ASKED = "It contradicts another memory; somebody is asked which of them holds."


class PairEnding(StrEnum):
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


def ending_of(older: Fact, newer: Fact, verdict: Verdict) -> PairEnding:
    """Which of two facts ends. A fact that is marked as news ends the older one, unless that is much surer."""
    surer = round(older.confidence - newer.confidence, 6)
    if verdict is Verdict.UPDATE and surer < CONFIDENCE_GAP:
        ending = PairEnding.OLDER_ENDS
    elif abs(surer) >= CONFIDENCE_GAP:
        ending = PairEnding.NEWER_ENDS if surer > 0 else PairEnding.OLDER_ENDS
    else:
        return PairEnding.ASK
    loser = older if ending is PairEnding.OLDER_ENDS else newer
    return PairEnding.ASK if loser.pinned or loser.scope in SHARED else ending


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
    if judgement.verdict is Verdict.SAME:
        return _merge(w, older, newer, at=at, reason=judgement.reason)
    match ending_of(older, newer, judgement.verdict):
        case PairEnding.ASK:
            item = open_contradiction(w, older, newer, reason=judgement.reason, evidence=evidence)
            return Settled(review_id=item.pk) if item else NOTHING
        case PairEnding.OLDER_ENDS:
            until = newer.valid_from or newer.learned_at
            ended = close([older], at=at, valid_to=until, contradiction=Contradiction.NATURAL)
            record_ended(w, ended, newer, reason=_reason(judgement))
            return Settled(superseded=older.pk)
        case PairEnding.NEWER_ENDS:
            # Less sure than what it contradicts, it was not right; when it would have ended is not known.
            ended = close([newer], at=at, valid_to=at, contradiction=Contradiction.HARSH)
            record_ended(w, ended, older, reason=_reason(judgement))
            return Settled(superseded=newer.pk)


def _merge(w: Write, older: Fact, newer: Fact, *, at: datetime, reason: str) -> Settled:
    """Fold the newer of two equal statements into the older one, whose words stay. Two slots are never merged."""
    if older.scope in SHARED or (older.key and newer.key and older.key != newer.key):
        return NOTHING
    support = list(newer.supporting_episodes.all())
    ended = close([newer], at=at, valid_to=at, contradiction=Contradiction.NATURAL)
    before = snapshot(older)
    older.confidence = max(older.confidence, newer.confidence)
    older.key, older.category = older.key or newer.key, older.category or newer.category
    older.pinned = older.pinned or newer.pinned
    older.last_verified_at = max(newer.learned_at, older.last_verified_at or older.learned_at)
    older.version += 1
    older.save()
    older.supporting_episodes.add(*support)
    told_in = [str(episode.pk) for episode in support]
    w.audit("fact.merged", older, reason=reason, before=before, after=snapshot(older) | {"told_in": told_in})
    w.index(older)
    record_ended(w, ended, older, reason=reason)
    return Settled(superseded=newer.pk)


def _reason(judgement: Judgement) -> str:
    how = "brought up to date" if judgement.verdict is Verdict.UPDATE else "the surer one stays"
    return f"{judgement.reason}; {how}"


@dataclass(frozen=True, slots=True)
class Resolution:
    """What became of a fact and its rivals. `stands`: whether it is believed; `reviews` ask a person."""

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
    """Settle what `fact`, just stored, contradicts by the judgement of the rule set; nothing without one.

    The owner's lock is held, so no model is asked: the next consolidation and the daily scan do that
    (`scanning`). Of two facts the one that was learned later is the newer, whichever was stored later.
    """
    if fact.status not in CURRENT or rules() is None:
        return Resolution()
    rivals = rivals_of(fact)
    found = zip(rivals, judged_pairs((fact, rival) for rival in rivals), strict=True)
    at_odds = [each for each in found if each[1].judgement.verdict in (Verdict.CONTRADICTION, Verdict.UPDATE)]
    superseded: list[UUID] = []
    reviews: list[UUID] = []
    # The surest first: if it ends the new fact, the others stay as they are.
    for _, pair in sorted(at_odds, key=lambda each: (-each[0].confidence, each[0].pk)):
        at = pair.newer.learned_at
        done = settle(w, pair.older, pair.newer, pair.judgement, at=at, evidence={"judge": BY_RULES})
        if done.superseded == fact.pk:
            return Resolution(stands=False)
        superseded += [done.superseded] if done.superseded else []
        reviews += [done.review_id] if done.review_id else []
    return Resolution(superseded=tuple(superseded), reviews=tuple(reviews))

"""The daily scan of one owner: propose, judge, apply, each by itself.

No model is asked while a lock or a transaction is held. A judgement is applied under the owner's lock, and only if both
facts still are as they were judged. A batch is one transaction, and a settled pair is not found again, so a scan can be
interrupted anywhere and begun again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.utils import timezone

from memories.consolidation.judging import Judge, JudgedPair, Judgement, Verdict
from memories.models import Fact, ReviewDecision, ReviewItem, ReviewKind
from memories.services.contradictions.proposing import Proposed, judged_fact, propose
from memories.services.contradictions.settling import BY_RULES, NOTHING, PairEnding, Settled, ending_of, settle
from memories.services.write import Write, write
from tenants.principal import Principal

# Pairs that are applied in one transaction, and about which a model is asked in one scan of an owner, nearest first.
APPLIED_AT_ONCE = 50
MOST_ASKED = 50


@dataclass(frozen=True, slots=True)
class ScanResult:
    """The result of a scan, in pairs of facts.

    Of `contradictions` (pairs that a judge decided, equal statements among them) `resolved` were settled and `opened`
    became reviews; the facts of the rest changed meanwhile. `asked`: pairs that a model judged. `ended` are the facts
    that lost, `disputed` those in the new reviews.
    """

    pairs: int = 0
    asked: int = 0
    contradictions: int = 0
    resolved: int = 0
    opened: int = 0
    ended: frozenset[UUID] = frozenset()
    disputed: frozenset[UUID] = frozenset()

    def plus(self, some: Sequence[_AtOdds], settled: Sequence[Settled]) -> ScanResult:
        """With what was done about some pairs."""
        ended = [each.superseded for each in settled if each.superseded is not None]
        asked = [pair.pair.ids for pair, each in zip(some, settled, strict=True) if each.review_id is not None]
        return replace(
            self,
            resolved=self.resolved + len(ended),
            opened=self.opened + len(asked),
            ended=self.ended.union(ended),
            disputed=self.disputed.union(*asked),
        )


@dataclass(frozen=True, slots=True)
class _AtOdds:
    pair: Proposed
    judgement: Judgement
    judge: str


def scan_owner(
    principal: Principal,
    *,
    judge: Judge | None = None,
    limit: int = MOST_ASKED,
    since: datetime | None = None,
    dry_run: bool = False,
) -> ScanResult:
    """Find and settle what contradicts each other among the principal's own current facts.

    `since`: only pairs of which one was written after that. `judge` is asked about `limit` pairs at most, those that
    the rules found before those that are only near each other; where it has no answer the rules decide. With `dry_run`
    nothing is written, and `resolved` and `opened` count what would be. Raises Forbidden. The caller holds no lock and
    no transaction.
    """
    decided = _asked_already(principal)
    proposed = [
        each for each in propose(principal, since=since, near=judge is not None) if frozenset(each.ids) not in decided
    ]
    answers = _answers(judge, proposed[:limit]) if judge else {}
    name = judge.name if judge else BY_RULES
    at_odds = [
        _AtOdds(each, told, name if each.ids in answers else BY_RULES)
        for each in proposed
        if (told := answers.get(each.ids, each.judgement)).verdict is not Verdict.NEITHER
    ]
    found = ScanResult(pairs=len(proposed), asked=len(answers), contradictions=len(at_odds))
    for start in range(0, len(at_odds), APPLIED_AT_ONCE):
        some = at_odds[start : start + APPLIED_AT_ONCE]
        found = found.plus(some, _foreseen(some, found.ended) if dry_run else _apply(principal, some))
    return found


def _asked_already(principal: Principal) -> set[frozenset[UUID]]:
    """The pairs that are before a person, or that somebody decided to keep."""
    settled = [ReviewDecision.OPEN, ReviewDecision.KEEP_BOTH]
    items = ReviewItem.objects.of(principal).filter(kind=ReviewKind.CONTRADICTION, decision__in=settled)
    return {frozenset(ids) for ids in items.values_list("first", "second")}


def _answers(judge: Judge, pairs: Sequence[Proposed]) -> dict[tuple[UUID, UUID], Judgement]:
    """What the model says of the pairs, as far as it answers."""
    asked = [
        JudgedPair(judged_fact(each.older), judged_fact(each.newer), each.older.learned_at, each.newer.learned_at)
        for each in pairs
    ]
    told = zip(pairs, judge.judge(asked), strict=True)
    return {each.ids: answer for each, answer in told if answer is not None}


def _apply(principal: Principal, some: Sequence[_AtOdds]) -> list[Settled]:
    """Settle some pairs in one transaction."""
    with write(principal) as w:
        ids = {pk for each in some for pk in each.pair.ids}
        rows = Fact.objects.of(principal).current().defer("embedding", "token_ids").in_bulk(ids)
        return [_settle(w, each, rows) for each in some]


def _settle(w: Write, found: _AtOdds, rows: dict[UUID, Fact]) -> Settled:
    """One pair, if both facts still are what was judged. `rows` are kept as they become."""
    older, newer = (rows.get(pk) for pk in found.pair.ids)
    if older is None or newer is None or not (_is_same(older, found.pair.older) and _is_same(newer, found.pair.newer)):
        return NOTHING
    evidence = {"judge": found.judge} | ({"cosine": found.pair.cosine} if found.pair.cosine is not None else {})
    done = settle(w, older, newer, found.judgement, at=timezone.now(), evidence=evidence)
    if done.superseded is not None:
        del rows[done.superseded]
    return done


def _is_same(row: Fact, judged: Fact) -> bool:
    """Whether a fact is as it was judged: its words, its certainty and its times."""
    return judged_fact(row) == judged_fact(judged) and row.confidence == judged.confidence


def _foreseen(some: Sequence[_AtOdds], ended: frozenset[UUID]) -> list[Settled]:
    """What would be done about some pairs, after others by which those facts `ended`."""
    gone = set(ended)
    settled = []
    for each in some:
        done = NOTHING if gone & set(each.pair.ids) else _ending(each)
        gone |= {done.superseded} if done.superseded is not None else set()
        settled.append(done)
    return settled


def _ending(found: _AtOdds) -> Settled:
    """What would be done about a pair."""
    if found.judgement.verdict is Verdict.SAME:
        return Settled(superseded=found.pair.newer.pk)
    match ending_of(found.pair.older, found.pair.newer, found.judgement.verdict):
        case PairEnding.ASK:
            return Settled(review_id=found.pair.newer.pk)
        case PairEnding.OLDER_ENDS:
            return Settled(superseded=found.pair.older.pk)
        case PairEnding.NEWER_ENDS:
            return Settled(superseded=found.pair.newer.pk)

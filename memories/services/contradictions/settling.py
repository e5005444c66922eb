"""Settles judged pairs of facts on writes and in the daily scan: by supersession, merge, or a review.

The losing fact is superseded with a link, an audit event and a reason, and an undo restores it. Pinned and shared
facts, and pairs that were already sent to review, are never superseded here.

The scan calls no model under a lock or in a transaction. It applies a judgement under the owner's lock, and only if
both facts are unchanged since they were judged. Each batch is one transaction and a settled pair is not found again, so
a scan can be interrupted at any time.
"""

from __future__ import annotations

import logging
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.utils import timezone

from memories.consolidation.rules import Judge, JudgedPair, Judgement, Verdict, rules
from memories.constants import CONFIDENCE_GAP
from memories.models import Fact, ReviewDecision, ReviewItem, ReviewKind
from memories.services.contradictions.proposing import Proposed, judged_fact, judged_pairs, propose, rivals_of
from memories.services.facts.closing import close, record_ended
from memories.services.facts.drafts import FactDraft, draft_of
from memories.services.facts.gates import merge_fact
from memories.services.retention.dates import given_dates, to_come
from memories.services.reviews.queue import open_contradiction, was_asked
from memories.services.write import SHARED, Write, write
from memories.types import CURRENT, Contradiction, WriteOutcome, WriteResult
from memoryhub.leases import fault_of, halved, passes
from tenants.errors import Forbidden
from tenants.principal import Principal

log = logging.getLogger(__name__)

# The recorded judge of a pair that no model judged.
BY_RULES = "rules"
LESS_SURE = "What is believed with more certainty contradicts it."
ASKED = "It contradicts another memory; somebody is asked which of them holds."


class PairEnding(StrEnum):
    """How a contradicting pair ends."""

    OLDER_ENDS = "older_ends"
    NEWER_ENDS = "newer_ends"
    ASK = "ask"


@dataclass(frozen=True, slots=True)
class Settled:
    """The result for one pair: `superseded` is the fact that lost, `review_id` the review that was opened."""

    superseded: UUID | None = None
    review_id: UUID | None = None


NOTHING = Settled()


def ending_of(older: Fact, newer: Fact, verdict: Verdict) -> PairEnding:
    """Decide which fact ends, or that a person is asked.

    An update ends the older fact unless that is much surer; otherwise the much surer fact wins. A pinned or shared fact
    never ends without a person.
    """
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
    """Apply a judgement to two current facts.

    `at` is the earliest time at which the losing fact stops being believed.
    """
    if judgement.verdict is Verdict.NEITHER or was_asked(older, newer):
        return NOTHING
    # Of agents that are kept apart, each believes its own; but what was said to no app since holds for all.
    apart = older.app != newer.app and (newer.app or judgement.verdict is Verdict.SAME)
    if apart and w.policy.apps_apart:
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
            # The newer fact has less confidence than the fact it contradicts, so it was wrong. When it would have ended
            # is unknown.
            ended = close([newer], at=at, valid_to=at, contradiction=Contradiction.HARSH)
            record_ended(w, ended, older, reason=_reason(judgement))
            return Settled(superseded=newer.pk)


def _merge(w: Write, older: Fact, newer: Fact, *, at: datetime, reason: str) -> Settled:
    """Merge the newer of two equal statements into the older one, which keeps its text. Different keys never merge."""
    if older.scope in SHARED or (older.key and newer.key and older.key != newer.key):
        return NOTHING
    given = to_come(given_dates(newer, w.rules(newer.scope)), now=at)
    draft: FactDraft = draft_of(
        newer,
        learned_at=newer.learned_at,
        reason=reason,
        pinned=newer.pinned,
        review_after=given.review_after,
        expires_at=given.expires_at,
    )
    support = list(newer.supporting_episodes.all())
    ended = close([newer], at=at, valid_to=at, contradiction=Contradiction.NATURAL)
    merge_fact(w, older, draft, support)
    record_ended(w, ended, older, reason=reason)
    return Settled(superseded=newer.pk)


def _reason(judgement: Judgement) -> str:
    how = "brought up to date" if judgement.verdict is Verdict.UPDATE else "the surer one stays"
    return f"{judgement.reason}; {how}"


@dataclass(frozen=True, slots=True)
class Resolution:
    """The result of resolving a fact's contradictions. `stands`: it is still believed. `reviews` wait for a person."""

    stands: bool = True
    superseded: tuple[UUID, ...] = ()
    reviews: tuple[UUID, ...] = ()

    def applied_to(self, outcome: WriteOutcome) -> WriteOutcome:
        """The outcome of the write, updated by this resolution."""
        ended = (*outcome.superseded_ids, *self.superseded)
        if not self.stands:
            return replace(outcome, result=WriteResult.CREATED, reason=LESS_SURE)
        if self.reviews:
            return replace(outcome, result=WriteResult.QUEUED_FOR_REVIEW, superseded_ids=ended, reason=ASKED)
        return replace(outcome, result=WriteResult.SUPERSEDED, superseded_ids=ended) if self.superseded else outcome


def resolve(w: Write, fact: Fact, *, not_ids: Container[UUID] = ()) -> Resolution:
    """Settle the contradictions of the newly stored `fact` by the rule set; does nothing without one.

    `not_ids` are facts that were stored with it and are resolved later. No model is asked, because the owner's lock is
    held; the next consolidation and the daily scan do that (`scan_owner`). The newer of two facts is the one learned
    later, whichever was stored later.
    """
    if fact.status not in CURRENT or rules() is None:
        return Resolution()
    rivals = [rival for rival in rivals_of(fact) if rival.pk not in not_ids]
    found = zip(rivals, judged_pairs((fact, rival) for rival in rivals), strict=True)
    at_odds = [each for each in found if each[1].judgement.verdict in (Verdict.CONTRADICTION, Verdict.UPDATE)]
    superseded: list[UUID] = []
    reviews: list[UUID] = []
    # Start with the rival of highest confidence: if it ends the new fact, the others stay unchanged.
    for _, pair in sorted(at_odds, key=lambda each: (-each[0].confidence, each[0].pk)):
        at = pair.newer.learned_at
        done = settle(w, pair.older, pair.newer, pair.judgement, at=at, evidence={"judge": BY_RULES})
        if done.superseded == fact.pk:
            return Resolution(stands=False)
        superseded += [done.superseded] if done.superseded else []
        reviews += [done.review_id] if done.review_id else []
    return Resolution(superseded=tuple(superseded), reviews=tuple(reviews))


# Pairs applied in one transaction, and pairs that a model judges in one scan of an owner.
APPLIED_AT_ONCE = 50
MOST_ASKED = 50


@dataclass(frozen=True, slots=True)
class ScanResult:
    """The counts of a scan, in pairs of facts.

    `contradictions` counts the pairs that were judged other than NEITHER, equal statements included; of these
    `resolved` were settled and `opened` became reviews. The rest had been asked before or had changed meanwhile.
    `asked` counts the pairs that a model judged, `failed` those that could not be settled. `ended` holds the facts that
    lost, `disputed` those in the new reviews.
    """

    pairs: int = 0
    asked: int = 0
    contradictions: int = 0
    resolved: int = 0
    opened: int = 0
    failed: int = 0
    ended: frozenset[UUID] = frozenset()
    disputed: frozenset[UUID] = frozenset()

    def plus(self, some: Sequence[_AtOdds], settled: Sequence[Settled]) -> ScanResult:
        """A copy that includes the settlement of some pairs."""
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
    """Find and settle contradictions among the principal's own current facts.

    With `since`, one fact of each pair was updated at or after that time. `judge` is asked about at most `limit` pairs,
    those that the rules found before merely similar ones; where it gives no answer the rules decide. A `dry_run` writes
    nothing, and `resolved` and `opened` count what would be done. Raises Forbidden. The caller must hold no lock and no
    transaction.
    """
    decided = _asked_already(principal)
    proposed = [
        each for each in propose(principal, since=since, near=judge is not None) if frozenset(each.ids) not in decided
    ]
    answers = _answers(judge, proposed[:limit]) if judge else {}
    name = judge.name if judge else BY_RULES
    at_odds = [
        _AtOdds(each, judgement, name if each.ids in answers else BY_RULES)
        for each in proposed
        if (judgement := answers.get(each.ids, each.judgement)).verdict is not Verdict.NEITHER
    ]
    found = ScanResult(pairs=len(proposed), asked=len(answers), contradictions=len(at_odds))
    at_once = max(1, len(at_odds)) if dry_run else APPLIED_AT_ONCE

    def apply(some: Sequence[_AtOdds]) -> None:
        nonlocal found
        found = found.plus(some, _apply(principal, some, dry_run=dry_run))

    def leave(pair: _AtOdds, error: Exception) -> None:
        nonlocal found
        log.error("The contradiction of %s and %s was not settled: %s.", *pair.pair.ids, fault_of(error))
        found = replace(found, failed=found.failed + 1)

    for start in range(0, len(at_odds), at_once):
        halved(at_odds[start : start + at_once], apply, leave, may_pass=_is_of_no_pair)
    return found


def _is_of_no_pair(error: BaseException) -> bool:
    return isinstance(error, Forbidden) or passes(error)


def _asked_already(principal: Principal) -> set[frozenset[UUID]]:
    """The pairs that are in an open review, or that a review decided to keep."""
    settled = [ReviewDecision.OPEN, ReviewDecision.KEEP_BOTH]
    items = ReviewItem.objects.of(principal).filter(kind=ReviewKind.CONTRADICTION, decision__in=settled)
    return {frozenset(ids) for ids in items.values_list("first", "second")}


def _answers(judge: Judge, pairs: Sequence[Proposed]) -> dict[tuple[UUID, UUID], Judgement]:
    """The model's judgements by pair, where it gives one."""
    asked = [
        JudgedPair(judged_fact(each.older), judged_fact(each.newer), each.older.learned_at, each.newer.learned_at)
        for each in pairs
    ]
    judgements = zip(pairs, judge.judge(asked), strict=True)
    return {each.ids: judgement for each, judgement in judgements if judgement is not None}


class _DryRun(Exception):
    """Rolls back the writes of a dry run."""


def _apply(principal: Principal, some: Sequence[_AtOdds], *, dry_run: bool) -> list[Settled]:
    """Settle some pairs in one transaction, which a dry run rolls back."""
    settled: list[Settled] = []
    with suppress(_DryRun), write(principal) as w:
        ids = {pk for each in some for pk in each.pair.ids}
        rows = Fact.objects.of(principal).current().defer("embedding", "token_ids").in_bulk(ids)
        settled += [_settle(w, each, rows) for each in some]
        if dry_run:
            raise _DryRun
    return settled


def _settle(w: Write, found: _AtOdds, rows: dict[UUID, Fact]) -> Settled:
    """Settle one pair if both facts are unchanged since they were judged. Superseded facts are removed from `rows`."""
    older, newer = (rows.get(pk) for pk in found.pair.ids)
    if older is None or newer is None or not (_is_same(older, found.pair.older) and _is_same(newer, found.pair.newer)):
        return NOTHING
    evidence = {"judge": found.judge} | ({"cosine": found.pair.cosine} if found.pair.cosine is not None else {})
    done = settle(w, older, newer, found.judgement, at=timezone.now(), evidence=evidence)
    if done.superseded is not None:
        del rows[done.superseded]
    return done


def _is_same(row: Fact, judged: Fact) -> bool:
    """Whether the judged columns and the confidence of a fact are unchanged."""
    return judged_fact(row) == judged_fact(judged) and row.confidence == judged.confidence

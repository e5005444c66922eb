"""Proposing: the pairs of one owner's facts that are worth judging, found without comparing each fact with each.

Invariant: reads only, and holds no lock; what it read may be another by the time it is judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from itertools import groupby
from uuid import UUID

import numpy as np
from django.utils import timezone

from memories.consolidation.contradiction.aspects import aspects, kinship, pairs
from memories.consolidation.contradiction.judging import NEITHER, Judgement, Read, Verdict, judge, read
from memories.constants import NEIGHBOUR_COSINE
from memories.embedding import Floats, dequantize, encoder
from memories.models import Fact
from memories.services.contradictions.applying import statement_of
from memories.services.contradictions.resolving import in_order
from memories.services.contradictions.rivals import rivals_of
from tenants.principal import Principal, Right

# Of a crowd that shares an aspect, a fact is paired with so many that were learned next; fewer of those that only share
# a word, which are shown to a model.
WIDEST = 20
WIDEST_KIN = 6
# So few new facts are looked at one by one, each beside what it may contradict.
FEW = 200
# Statements kept as they were read, and texts without a vector that are encoded for one scan.
KEPT_READ = 20_000
MOST_ENCODED = 500


@dataclass(frozen=True, slots=True)
class Proposed:
    """Two facts of one owner, scope and task, and what the rules say of them. `cosine`: how near they are, if known."""

    older: Fact
    newer: Fact
    judgement: Judgement = NEITHER
    cosine: float | None = None

    @property
    def ids(self) -> tuple[UUID, UUID]:
        """Which two."""
        return self.older.pk, self.newer.pk


def propose(principal: Principal, *, since: datetime | None, near: bool) -> list[Proposed]:
    """The pairs that the rules find, and (`near`) then those for a model to judge, the nearest first.

    Of the owner's own memory alone: what is shared is nothing that a member's fact could end.
    """
    principal.require(Right.READ)
    rows = Fact.objects.of(principal).current().unexpired(timezone.now()).defer("embedding", "token_ids")
    if since is not None and rows.filter(updated_at__gte=since).count() <= FEW:
        found = _of_few(rows.filter(updated_at__gte=since), near=near)
    else:
        ordered = rows.order_by("scope", "task", "learned_at", "created_at", "pk").iterator(chunk_size=1_000)
        found = _of_all(ordered, since=since, near=near)
    fired: dict[tuple[UUID, UUID], Proposed] = {}
    others: dict[tuple[UUID, UUID], Proposed] = {}
    for each in found:
        (others if each.judgement is NEITHER else fired)[each.ids] = each
    return [*fired.values(), *(_nearest(list(others.values())) if near else ())]


def _of_few(changed: Iterable[Fact], *, near: bool) -> Iterator[Proposed]:
    """The pairs of some facts with what a look by words finds for each."""
    for fact in changed:
        mine = read(statement_of(fact))
        for rival in rivals_of(fact, mine, at_a_glance=not near):
            older, newer = in_order(fact, rival)
            theirs = read(statement_of(rival))
            judgement = judge(mine, theirs) if older is fact else judge(theirs, mine)
            if near or judgement.verdict is not Verdict.NEITHER:
                yield Proposed(older, newer, judgement)


def _of_all(facts: Iterable[Fact], *, since: datetime | None, near: bool) -> Iterator[Proposed]:
    """The pairs of all facts, place by place; `facts` come in the order of their places and times."""
    for _, some in groupby(facts, key=lambda fact: (fact.scope, fact.task)):
        rows = list(some)
        reading = lru_cache(maxsize=KEPT_READ)(_Reader(rows))
        fresh = [since is None or row.updated_at >= since for row in rows]
        by_aspect = {number: {hash(each) for each in aspects(reading(number))} for number in range(len(rows))}
        for first, second in pairs(by_aspect, widest=WIDEST):
            if fresh[first] or fresh[second]:
                judgement = judge(reading(first), reading(second))
                if judgement.verdict is not Verdict.NEITHER:
                    yield Proposed(rows[first], rows[second], judgement)
        if near:
            kin = {number: {hash(each) for each in kinship(reading(number))} for number in range(len(rows))}
            for first, second in pairs(kin, widest=WIDEST_KIN):
                if fresh[first] or fresh[second]:
                    yield Proposed(rows[first], rows[second], judge(reading(first), reading(second)))


@dataclass(frozen=True, slots=True)
class _Reader:
    rows: Sequence[Fact]

    def __call__(self, number: int) -> Read:
        return read(statement_of(self.rows[number]))

    def __hash__(self) -> int:
        return id(self)


def _nearest(proposed: Sequence[Proposed]) -> list[Proposed]:
    """Those that an encoder finds near, the nearest first; what has no vector yet, only if it is little."""
    vectors = _vectors({fact.pk: fact.text for each in proposed for fact in (each.older, each.newer)})
    near = [
        replace(each, cosine=cosine)
        for each in proposed
        if each.older.pk in vectors
        and each.newer.pk in vectors
        and (cosine := round(float(vectors[each.older.pk] @ vectors[each.newer.pk]), 3)) >= NEIGHBOUR_COSINE
    ]
    return sorted(near, key=lambda each: (-(each.cosine or 0.0), each.ids))


def _vectors(texts: dict[UUID, str]) -> dict[UUID, Floats]:
    """The vectors of facts, as stored, or made now."""
    ids = list(texts)
    vectors: dict[UUID, Floats] = {}
    for start in range(0, len(ids), 500):
        stored = Fact.objects.unscoped("rows by ids of own rows").filter(
            pk__in=ids[start : start + 500], embedding_model=encoder().name
        )
        vectors |= {pk: dequantize(bytes(kept)) for pk, kept in stored.values_list("pk", "embedding") if kept}
    missing = [pk for pk in ids if pk not in vectors][:MOST_ENCODED]
    if missing:
        made = np.asarray(encoder().encode([texts[pk] for pk in missing]), np.float32)
        vectors |= dict(zip(missing, made, strict=True))
    return vectors

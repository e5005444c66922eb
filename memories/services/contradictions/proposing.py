"""Proposing: the pairs of one owner's facts that are worth judging, found without comparing each fact with each.

It only reads and holds no lock; a fact may have changed by the time a pair is judged.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce
from itertools import groupby, tee
from typing import Any
from uuid import UUID

import numpy as np
from django.db.models import Q, QuerySet
from django.utils import timezone

from memories.consolidation.rules import NEITHER, Cues, JudgedFact, Judgement, Verdict, cues, judged, telling, topics
from memories.constants import NEIGHBOUR_COSINE
from memories.embedding import Floats, dequantize, encoder
from memories.models import Fact
from memories.models.base import MemoryQuerySet
from memoryhub.db.compiled_query import Prepared, Substring
from tenants.principal import Principal, Right

# Facts that hold one of the words and are looked at on a write, the latest first. The daily scan finds the rest.
LOOKED_AT = 64
# Of a crowd that shares a topic, a fact is paired with so many that were learned next; with fewer of those that only
# share a word, which a model judges.
WIDEST = 20
WIDEST_KIN = 6
# So few new facts are looked at one by one, each beside what it may contradict.
FEW = 200
# Texts without a vector that are encoded for one scan.
MOST_ENCODED = 500


@dataclass(frozen=True, slots=True)
class Proposed:
    """Two facts of one owner, scope and task, as the rule set judges them. `cosine`: how near they are, if known."""

    older: Fact
    newer: Fact
    judgement: Judgement = NEITHER
    cosine: float | None = None

    @property
    def ids(self) -> tuple[UUID, UUID]:
        """The ids of the two."""
        return self.older.pk, self.newer.pk


def judged_fact(fact: Fact) -> JudgedFact:
    """The part of a fact that is judged."""
    return JudgedFact(fact.text, fact.key, fact.category, fact.valid_from, fact.valid_to)


def in_order(one: Fact, other: Fact) -> tuple[Fact, Fact]:
    """Two facts, the one that was learned first before the other."""
    older, newer = sorted((one, other), key=lambda fact: (fact.learned_at, fact.created_at, fact.pk))
    return older, newer


def judged_pairs(some: Iterable[tuple[Fact, Fact]]) -> Iterator[Proposed]:
    """Pairs of facts, each in its order, as the rule set judges them."""
    ordered, asked = tee(in_order(one, other) for one, other in some)
    judgements = judged((judged_fact(older), judged_fact(newer)) for older, newer in asked)
    return (Proposed(older, newer, judgement) for (older, newer), judgement in zip(ordered, judgements, strict=True))


def rivals_of(fact: Fact) -> list[Fact]:
    """Other current facts of the owner, scope and task that `fact` may contradict; without their vectors."""
    return _holding(fact, cues(judged_fact(fact)))


def _holding(fact: Fact, sought: Cues) -> list[Fact]:
    if not sought.parts and not sought.keys:
        return []
    whose = (fact.tenant_id, fact.user_id, fact.scope, fact.task, fact.pk, timezone.now())
    if len(sought.keys) > 1:
        return list(_named(*whose, *sought.parts, keys=sought.keys))
    return _NAMED.all(*whose, *map(Substring, sought.parts)) if sought.parts else []


def beside(fact: Fact) -> MemoryQuerySet[Fact]:
    """The other current facts of its owner, scope and task."""
    return _beside(fact.tenant_id, fact.user_id, fact.scope, fact.task, fact.pk, timezone.now())


def _beside(
    tenant_id: UUID | None, user_id: UUID | None, scope: str, task: str | None, fact_id: UUID, now: datetime
) -> MemoryQuerySet[Fact]:
    rows = Fact.objects.in_place({"tenant": tenant_id, "user": user_id, "scope": scope, "task": task})
    return rows.current().unexpired(now).exclude(pk=fact_id)


def _named(
    tenant_id: UUID | None,
    user_id: UUID | None,
    scope: str,
    task: str | None,
    fact_id: UUID,
    now: datetime,
    *parts: str,
    keys: Sequence[str] = (),
) -> QuerySet[Fact, Any]:
    """Those that hold one of the parts, or have one of the keys."""
    named = reduce(operator.or_, [Q(text__icontains=part) for part in parts] + ([Q(key__in=keys)] if keys else []))
    rows = _beside(tenant_id, user_id, scope, task, fact_id, now).filter(named)
    return rows.defer("embedding", "token_ids").order_by("-learned_at", "pk")[:LOOKED_AT]


_NAMED = Prepared(_named)


def propose(principal: Principal, *, since: datetime | None, near: bool) -> list[Proposed]:
    """The pairs that the rule set finds, and (`near`) then those for a model to judge, the nearest first.

    Of the owner's own memory alone: no member's fact can end what is shared.
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
        (others if each.judgement.verdict is Verdict.NEITHER else fired)[each.ids] = each
    return [*fired.values(), *(_nearest(list(others.values())) if near else ())]


def _of_few(changed: Iterable[Fact], *, near: bool) -> Iterator[Proposed]:
    """The pairs of some facts with those that a look by words finds for each."""
    for fact in changed:
        rivals = rivals_of(fact)
        if near:
            rivals += _holding(fact, Cues(telling(fact.text)))
        for pair in judged_pairs((fact, rival) for rival in rivals):
            if near or pair.judgement.verdict is not Verdict.NEITHER:
                yield pair


def _of_all(facts: Iterable[Fact], *, since: datetime | None, near: bool) -> Iterator[Proposed]:
    """The pairs of all facts, place by place; `facts` come in the order of their places and times."""
    for _, some in groupby(facts, key=lambda fact: (fact.scope, fact.task)):
        rows = list(some)
        fresh = [since is None or row.updated_at >= since for row in rows]
        by_topic = {number: set(map(hash, topics(judged_fact(row)))) for number, row in enumerate(rows)}
        told = pairs(by_topic, widest=WIDEST)
        found = judged_pairs((rows[first], rows[second]) for first, second in told if fresh[first] or fresh[second])
        yield from (pair for pair in found if pair.judgement.verdict is not Verdict.NEITHER)
        if near:
            kin = {number: by_topic[number] | set(map(hash, telling(row.text))) for number, row in enumerate(rows)}
            told = pairs(kin, widest=WIDEST_KIN)
            yield from judged_pairs(
                (rows[first], rows[second]) for first, second in told if fresh[first] or fresh[second]
            )


def pairs(shared: Mapping[int, Iterable[Hashable]], *, widest: int) -> Iterator[tuple[int, int]]:
    """The pairs of numbers that share a topic, each once, the smaller number first.

    Of a topic that more than `widest` share, only neighbours in their order are paired, so many apart at most: a fact
    meets those that were learned around its time, and the work stays in proportion to the facts.
    """
    groups: dict[Hashable, list[int]] = {}
    for number, named in shared.items():
        for topic in named:
            groups.setdefault(topic, []).append(number)
    seen: set[tuple[int, int]] = set()
    for members in groups.values():
        members.sort()
        for place, first in enumerate(members):
            for second in members[place + 1 : place + 1 + widest]:
                if (first, second) not in seen:
                    seen.add((first, second))
                    yield first, second


def _nearest(proposed: Sequence[Proposed]) -> list[Proposed]:
    """Those that an encoder finds near, the nearest first; a text without a vector counts only if few have none."""
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

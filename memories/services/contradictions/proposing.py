"""Proposes the pairs of one owner's facts that are worth judging, without comparing every fact with every other.

It only reads and takes no lock, so a fact may change before its pair is judged.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
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
from memories.recall.meaning import vectors_now
from memoryhub.db.compiled_query import Prepared, Substring
from memoryhub.db.statements import in_statements
from memoryhub.json_endpoint import EndpointFault, RequestRefused
from tenants.principal import Principal, Right

# Facts read per write: the latest that match a search term. The daily scan finds the rest.
LOOKED_AT = 64
# In a large group that shares a topic, each fact is paired with this many of the facts learned next; with fewer
# (WIDEST_KIN) if only a word is shared, because a model judges those.
WIDEST = 20
WIDEST_KIN = 6
# Up to this many changed facts are searched one by one; above it, all facts are grouped.
FEW = 200
# Texts without a vector that one scan encodes.
MOST_ENCODED = 500


@dataclass(frozen=True, slots=True)
class Proposed:
    """Two facts of the same owner, scope and task with the rule set's judgement.

    `cosine` is their similarity, if known.
    """

    older: Fact
    newer: Fact
    judgement: Judgement = NEITHER
    cosine: float | None = None

    @property
    def ids(self) -> tuple[UUID, UUID]:
        """The ids of the older and the newer fact."""
        return self.older.pk, self.newer.pk


def judged_fact(fact: Fact) -> JudgedFact:
    """The columns of a fact that are judged."""
    return JudgedFact(fact.text, fact.key, fact.category, fact.valid_from, fact.valid_to)


def in_order(one: Fact, other: Fact) -> tuple[Fact, Fact]:
    """The two facts ordered by when they were learned."""
    older, newer = sorted((one, other), key=lambda fact: (fact.learned_at, fact.created_at, fact.pk))
    return older, newer


def judged_pairs(some: Iterable[tuple[Fact, Fact]]) -> Iterator[Proposed]:
    """Order each pair and attach the rule set's judgement."""
    ordered, asked = tee(in_order(one, other) for one, other in some)
    judgements = judged((judged_fact(older), judged_fact(newer)) for older, newer in asked)
    return (Proposed(older, newer, judgement) for (older, newer), judgement in zip(ordered, judgements, strict=True))


def rivals_of(fact: Fact) -> list[Fact]:
    """Other current facts of the owner, scope and task that `fact` may contradict, without their vectors."""
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
    """The facts that contain one of the parts or have one of the keys, latest first, at most `LOOKED_AT`."""
    named = reduce(operator.or_, [Q(text__icontains=part) for part in parts] + ([Q(key__in=keys)] if keys else []))
    rows = _beside(tenant_id, user_id, scope, task, fact_id, now).filter(named)
    return rows.defer("embedding", "token_ids").order_by("-learned_at", "pk")[:LOOKED_AT]


_NAMED = Prepared(_named)


def propose(principal: Principal, *, since: datetime | None, near: bool) -> list[Proposed]:
    """The pairs that the rule set judged and, with `near`, similar pairs for a model to judge, most similar first.

    Only the owner's own facts are read, because a member's fact cannot end a shared one. With `since`, one fact of each
    pair was updated at or after that time. Raises Forbidden.
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
    """Pair each changed fact with the facts that match its search terms."""
    for fact in changed:
        rivals = rivals_of(fact)
        if near:
            rivals += _holding(fact, Cues(telling(fact.text)))
        for pair in judged_pairs((fact, rival) for rival in rivals):
            if near or pair.judgement.verdict is not Verdict.NEITHER:
                yield pair


def _of_all(facts: Iterable[Fact], *, since: datetime | None, near: bool) -> Iterator[Proposed]:
    """Pair all facts within each scope and task. `facts` must be ordered by scope, task and time."""
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
    """The distinct pairs of numbers that share a topic, the smaller number first.

    Within a topic, each number is paired with at most the next `widest` numbers. Facts that were learned at about the
    same time meet, and the work grows linearly with the number of facts.
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
    """The pairs whose cosine is at least `NEIGHBOUR_COSINE`, most similar first.

    Facts without a vector are left out.
    """
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
    """The vectors of facts by id: stored ones, and up to `MOST_ENCODED` new ones, if the encoder answers."""
    ids = list(texts)
    vectors: dict[UUID, Floats] = {}
    for some in in_statements(ids):
        stored = Fact.objects.unscoped("rows by ids of own rows").filter(pk__in=some, embedding_model=encoder().name)
        vectors |= {pk: dequantize(bytes(kept)) for pk, kept in stored.values_list("pk", "embedding") if kept}
    missing = [pk for pk in ids if pk not in vectors][:MOST_ENCODED]
    if missing:
        with suppress(EndpointFault, RequestRefused):
            made = np.asarray(vectors_now(encoder(), [texts[pk] for pk in missing]), np.float32)
            vectors |= dict(zip(missing, made, strict=True))
    return vectors

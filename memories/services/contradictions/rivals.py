"""Which facts are worth judging beside a new one: found by a few words, whatever number of facts the owner has.

Invariant: all of them are current facts of exactly the owner, scope and task of the new one.
"""

from __future__ import annotations

import operator
from datetime import datetime
from functools import partial, reduce
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone

from memories.consolidation.contradiction.aspects import Look, cues
from memories.consolidation.contradiction.judging import FAMILIES, Read
from memories.consolidation.slots import keys_of
from memories.models import Fact
from memories.models.base import OwnedQuerySet
from memoryhub.db.compiled_query import Prepared, Substring

# So many facts that hold one of the words are looked at, the latest first. What is missed the daily scan finds.
LOOKED_AT = 64


def rivals_of(fact: Fact, mine: Read, *, at_a_glance: bool = True) -> list[Fact]:
    """The facts that `mine`, which is `fact` as it was read, may contradict; without their vectors.

    Without the glance also those that only share a word, which rules cannot judge, but a model can.
    """
    parts = cues(mine)
    if not parts:
        return []
    slot = mine.slot if fact.key and mine.slot in FAMILIES else ""
    whose = (fact.tenant_id, fact.user_id, fact.scope, fact.task, fact.pk, timezone.now())
    words = _NAMING[slot].values(*whose, *map(Substring, parts))
    look = Look(mine)
    ids = [pk for pk, text, key in words if not at_a_glance or look.worth(text, key)]
    return _FACTS.all(ids) if ids else []


def beside(fact: Fact) -> OwnedQuerySet[Fact]:
    """The other current facts of its owner, scope and task."""
    return _beside(fact.tenant_id, fact.user_id, fact.scope, fact.task, fact.pk, timezone.now())


def _beside(
    tenant_id: UUID | None, user_id: UUID | None, scope: str, task: str | None, fact_id: UUID, now: datetime
) -> OwnedQuerySet[Fact]:
    rows = Fact.objects.filter(tenant=tenant_id, user=user_id, scope=scope, task=task)
    return rows.current().unexpired(now).exclude(pk=fact_id)


def _naming(
    slot: str,
    tenant_id: UUID | None,
    user_id: UUID | None,
    scope: str,
    task: str | None,
    fact_id: UUID,
    now: datetime,
    *parts: str,
) -> QuerySet[Fact, Any]:
    """Those that hold one of the parts, or fill the slot."""
    named = reduce(operator.or_, (Q(text__icontains=part) for part in parts))
    if slot:
        named |= Q(key__in=sorted(keys_of(slot)))
    rows = _beside(tenant_id, user_id, scope, task, fact_id, now).filter(named).order_by("-learned_at", "pk")
    return rows.values_list("pk", "text", "key")[:LOOKED_AT]


def _facts(ids: list[UUID]) -> QuerySet[Fact]:
    return Fact.objects.filter(pk__in=ids).defer("embedding", "token_ids").order_by("-learned_at", "pk")


_NAMING = {slot: Prepared(partial(_naming, slot)) for slot in ("", *FAMILIES)}
_FACTS = Prepared(_facts)

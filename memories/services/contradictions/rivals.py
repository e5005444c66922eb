"""Which facts are worth judging beside a new one: found by a few words, whatever number of facts the owner has.

Invariant: all of them are current facts of exactly the owner, scope and task of the new one.
"""

from __future__ import annotations

import operator
from functools import reduce

from django.db.models import Q
from django.utils import timezone

from memories.consolidation.contradiction.aspects import Look, cues
from memories.consolidation.contradiction.judging import FAMILIES, Read
from memories.consolidation.slots import keys_of
from memories.models import Fact
from memories.models.base import OwnedQuerySet

# So many facts that hold one of the words are looked at, the latest first. What is missed the daily scan finds.
LOOKED_AT = 64


def rivals_of(fact: Fact, mine: Read, *, at_a_glance: bool = True) -> list[Fact]:
    """The facts that `mine`, which is `fact` as it was read, may contradict; without their vectors.

    Without the glance also those that only share a word, which rules cannot judge, but a model can.
    """
    parts = cues(mine)
    if not parts:
        return []
    named = reduce(operator.or_, (Q(text__icontains=part) for part in parts))
    if fact.key and mine.slot in FAMILIES:
        named |= Q(key__in=keys_of(mine.slot))
    look = Look(mine)
    words = beside(fact).filter(named).order_by("-learned_at", "pk").values_list("pk", "text", "key")[:LOOKED_AT]
    ids = [pk for pk, text, key in words if not at_a_glance or look.worth(text, key)]
    if not ids:
        return []
    return list(Fact.objects.filter(pk__in=ids).defer("embedding", "token_ids").order_by("-learned_at", "pk"))


def beside(fact: Fact) -> OwnedQuerySet[Fact]:
    """The other current facts of its owner, scope and task."""
    rows = Fact.objects.filter(tenant=fact.tenant_id, user=fact.user_id, scope=fact.scope, task=fact.task)
    return rows.current().unexpired(timezone.now()).exclude(pk=fact.pk)

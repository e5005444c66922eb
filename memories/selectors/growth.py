"""How memory grew: what there was by the end of each day of what was said, learned and shared, by kind.

Invariant: counted are the named tenants alone, by indexes that hold all that is asked for: no memory is opened.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, date, datetime, time
from itertools import accumulate
from uuid import UUID

from django.db.models import Count, DateField
from django.db.models.functions import Cast

from memories.models import CatalogEntry, Episode, Fact, Playbook
from memories.models.base import MemoryRow
from memories.types import Kind

# When a memory of each kind began: an episode when it was said, not when it was imported.
_BEGAN: tuple[tuple[type[MemoryRow], str], ...] = (
    (Episode, "happened_at"),
    (Fact, "learned_at"),
    (Playbook, "learned_at"),
    (CatalogEntry, "created_at"),
)


def kept_by_day(tenants: Collection[UUID], days: Sequence[date]) -> Mapping[Kind, list[int]]:
    """How many memories of each kind there were at the end of each of these days (UTC), in a row; two queries a kind.

    Counted is what is kept now, by when it began; what was erased since is not told of.
    """
    found: dict[Kind, list[int]] = {}
    since = datetime.combine(days[0], time(), UTC)
    for model, column in _BEGAN:
        rows = model._default_manager.filter(tenant_id__in=list(tenants)).order_by()
        late = rows.filter(**{f"{column}__gte": since}).annotate(day=Cast(column, DateField()))
        new = dict(late.values_list("day").annotate(count=Count("*")))
        before = rows.filter(**{f"{column}__lt": since}).count()
        found[model.kind] = list(accumulate((new.get(day, 0) for day in days), initial=before))[1:]
    return found

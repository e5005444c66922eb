"""Which rows a recall may return: the principal's own and shared ones, in a state that the request allows.

What has expired is gone, whether it was collected yet or not, and whichever moment is asked about: an answer must not
depend on when the collection ran. Invariant: every row that recall scores or returns passed through here, in the
database, whatever the search plane said. This is the second isolation check, and why a recall is never stale.
"""

from __future__ import annotations

from typing import Any

from django.db.models import Q

from memories.models import MEMORY_MODELS
from memories.models.base import OwnedQuerySet
from memories.recall.request import Request
from memories.types import Kind, Status
from tenants.principal import Principal


def visible_rows(principal: Principal, kind: Kind, request: Request) -> OwnedQuerySet[Any]:
    """The rows of `kind` that may answer `request`."""
    rows = MEMORY_MODELS[kind].objects.visible_to(principal, request.task)
    if kind is Kind.SEMANTIC:
        rows = rows.unexpired(request.alive_after)
    supersedable = kind in (Kind.SEMANTIC, Kind.PROCEDURAL)
    if request.as_of is not None:
        return rows.exclude(status=Status.EVICTED).filter(_believed(kind, request))
    if request.include_superseded and supersedable:
        return rows.exclude(status=Status.EVICTED)
    return rows.current()


def _believed(kind: Kind, request: Request) -> Q:
    """Rows that held at `as_of`; all that were learned by then if superseded ones are wanted too."""
    if kind is Kind.EPISODIC:
        return Q(happened_at__lte=request.as_of)
    if kind is Kind.CATALOG:
        return Q(created_at__lte=request.as_of)
    learned = Q(learned_at__lte=request.as_of)
    if request.include_superseded:
        return learned
    return learned & (Q(superseded_at__isnull=True) | Q(superseded_at__gt=request.as_of))

"""Which rows a recall may return: the principal's own and shared ones, in a state that the request allows.

What has expired is gone, whether it was collected yet or not, and whichever moment is asked about: an answer must not
depend on when the collection ran. Invariant: every row that recall scores or returns passed through here, in the
database, whatever the search plane said. This is the second isolation check, and why a recall is never stale.
"""

from __future__ import annotations

from datetime import datetime
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
        learned = request.include_superseded and supersedable
        told = learned_by(request.as_of) if learned else held_at(kind, request.as_of)
        return rows.exclude(status=Status.EVICTED).filter(told)
    if request.include_superseded and supersedable:
        return rows.exclude(status=Status.EVICTED)
    return rows.current()


def held_at(kind: Kind, moment: datetime) -> Q:
    """Rows that held at `moment`: said or shared by then, or learned by then and not superseded until later."""
    if kind is Kind.EPISODIC:
        return Q(happened_at__lte=moment)
    if kind is Kind.CATALOG:
        return Q(created_at__lte=moment)
    return learned_by(moment) & (Q(superseded_at__isnull=True) | Q(superseded_at__gt=moment))


def learned_by(moment: datetime) -> Q:
    """Facts and playbooks that were learned by `moment`, whatever became of them."""
    return Q(learned_at__lte=moment)

"""Selected candidates as what recall returns: the texts, and what a person or an agent wants to know beside them."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from memories.models import CatalogEntry, Episode, Fact, Playbook
from memories.recall.loading import Build, instances, visible_rows
from memories.recall.request import Request
from memories.types import Kind, Recalled, Scope, Status
from tenants.principal import Principal

Memory = Episode | Fact | Playbook | CatalogEntry


def texts(principal: Principal, request: Request, wanted: Iterable[tuple[Kind, str]]) -> dict[str, Memory]:
    """The rows behind these (kind, hex id), in a query a kind; what went since it was scored is not there."""
    ids: dict[Kind, list[UUID]] = defaultdict(list)
    for kind, id_ in wanted:
        ids[kind].append(UUID(id_))
    found = (row for kind, of_kind in ids.items() for row in instances(_TEXTS[kind], principal, request, of_kind))
    return {row.pk.hex: row for row in found}


def _texts(kind: Kind, principal: Principal, request: Request, ids: list[UUID]) -> QuerySet[Any, Any]:
    return visible_rows(principal, kind, request).filter(pk__in=ids).defer("embedding", "token_ids").order_by()


_TEXTS: Mapping[Kind, Build] = {kind: functools.partial(_texts, kind) for kind in Kind}


def recalled(row: Memory, score: float, signals: Mapping[str, float], reasons: Sequence[str]) -> Recalled:
    """A row with why it came up."""
    return Recalled(
        kind=row.kind,
        id=row.pk,
        score=score,
        status=Status(row.status),
        scope=Scope(row.scope),
        signals=signals,
        reasons=tuple(reasons),
        **_particulars(row),
    )


def _particulars(row: Memory) -> dict[str, Any]:
    """What this kind of memory has to tell."""
    match row:
        case Episode():
            return {
                "text": row.searchable_text,
                "since": row.happened_at,
                "speaker": row.speaker,
                "session_id": row.session_id,
            }
        case CatalogEntry():
            return {"text": row.text, "title": row.title, "since": row.created_at}
    believed = {
        "text": row.text,
        "since": row.learned_at,
        "until": row.superseded_at,
        "superseded_by": row.superseded_by_id,
        "retracted": row.retracted,
    }
    if isinstance(row, Fact):
        valid = {"valid_from": row.valid_from, "valid_to": row.valid_to}
        return believed | valid | {"key": row.key, "confidence": row.confidence}
    return believed | {
        "title": row.title,
        "trigger": row.trigger,
        "steps": tuple(row.steps),
        "success_count": row.success_count,
        "failure_count": row.failure_count,
    }

"""The texts of selected candidates, and what a person or an agent is shown beside them."""

from __future__ import annotations

import functools
import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS
from django.db.models import CharField, DateTimeField, F, Field, JSONField, QuerySet, Value
from django.db.models.functions import Cast, JSONObject

from memories.models import MEMORY_MODELS, CatalogEntry, Episode, Fact, Playbook
from memories.recall.loading import Build, fetch, visible_rows
from memories.recall.request import Request
from memories.types import Kind, Recalled, Scope, Status
from tenants.principal import Principal

Memory = Episode | Fact | Playbook | CatalogEntry
# Made for the search plane, and large.
_DEFERRED = frozenset({"embedding", "token_ids"})


def texts(principal: Principal, request: Request, wanted: Iterable[tuple[Kind, str]]) -> dict[str, Memory]:
    """The rows of these (kind, hex id), by hex id, in one query. A row that was deleted meanwhile is missing."""
    ids: dict[Kind, list[UUID]] = defaultdict(list)
    for kind, id_ in wanted:
        ids[kind].append(UUID(id_))
    if not ids:
        return {}
    kinds = tuple(kind for kind in Kind if kind in ids)
    stored = fetch(_as_json(kinds), principal, request, *(ids[kind] for kind in kinds))
    found = [_memory(Kind(kind), row) for kind, row in stored]
    return {row.pk.hex: row for row in found}


@functools.cache
def _as_json(kinds: tuple[Kind, ...]) -> Build:
    """(kind, row as a JSON object) of memories of several kinds, each from a list of ids of its own, in one query."""

    def build(principal: Principal, request: Request, *ids: Collection[UUID]) -> QuerySet[Any, Any]:
        first, *others = (
            visible_rows(principal, kind, request)
            .filter(pk__in=of_kind)
            .order_by()
            .values_list(
                Cast(Value(kind.value), CharField()),
                JSONObject(**{field.attname: F(field.attname) for field in _fields(kind)}),
            )
            for kind, of_kind in zip(kinds, ids, strict=True)
        )
        return first.union(*others, all=True) if others else first

    return build


@functools.cache
def _fields(kind: Kind) -> tuple[Field[Any, Any], ...]:
    return tuple(field for field in MEMORY_MODELS[kind]._meta.concrete_fields if field.attname not in _DEFERRED)


def _memory(kind: Kind, stored: str) -> Memory:
    values = json.loads(stored)
    fields = _fields(kind)
    row: Any = MEMORY_MODELS[kind].from_db(
        DEFAULT_DB_ALIAS,
        [field.attname for field in fields],
        [_value(field, values[field.attname]) for field in fields],
    )
    return cast("Memory", row)


def _value(field: Field[Any, Any], stored: Any) -> Any:
    """SQLite has JSON and times as text."""
    if isinstance(field, JSONField):
        return json.loads(stored) if isinstance(stored, str) else stored
    value = field.to_python(stored)
    if isinstance(field, DateTimeField) and isinstance(value, datetime) and value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    return value


def recalled(row: Memory, score: float, signals: Mapping[str, float], reasons: Sequence[str]) -> Recalled:
    """A row as recall returns it."""
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
    """The fields that only this kind has."""
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

"""Candidates by id from the database, filtered by owner and state, without their texts.

Loading is most of what a recall costs: rows come as plain tuples, past the converters of ORM and driver, and episodes
come with their surroundings in one query. What is visible is always what `visible_rows` says.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import connections
from django.db.models import CharField, F, QuerySet
from django.db.models.functions import Cast

from memories.models import Episode
from memories.recall.pool import Row, Turn
from memories.recall.request import Request
from memories.recall.visibility import visible_rows
from memories.recall.weights import NEIGHBOURS, WINDOW_AROUND
from memories.types import Kind, Status
from tenants.principal import Principal

# A hit's neighbours are candidates, and each candidate is seen with the turns around it.
_FIRST_OFFSET = NEIGHBOURS[0] + WINDOW_AROUND[0]
_LAST_OFFSET = NEIGHBOURS[-1] + WINDOW_AROUND[1]
# To the second; what follows is a fraction or an offset of zero.
_MOMENT_CHARACTERS = 19
_COMMON = ("pk", "embedding", "status")


def load(principal: Principal, request: Request, ids: Mapping[Kind, Collection[UUID]]) -> tuple[list[Turn], list[Row]]:
    """Episodes (with their surroundings, perhaps repeated) and other memories among `ids` that may answer."""
    turns: list[Turn] = []
    alone: list[Row] = []
    for kind, wanted in ids.items():
        if not wanted:
            continue
        if kind is Kind.EPISODIC:
            turns += _turns(principal, request, wanted)
        else:
            alone += _alone(principal, request, kind, wanted)
    return turns, alone


def known_speakers(principal: Principal) -> list[str]:
    """The names under which the principal's episodes were said."""
    rows = Episode.objects.of(principal).order_by("speaker").values_list("speaker", flat=True)
    return list(rows.distinct())


def _turns(principal: Principal, request: Request, ids: Collection[UUID]) -> list[Turn]:
    near = (
        visible_rows(principal, Kind.EPISODIC, request)
        .annotate(hit=F("session__episodes__pk"), of_hit=F("session__episodes__sequence"))
        .filter(hit__in=list(ids), sequence__gte=F("of_hit") + _FIRST_OFFSET, sequence__lte=F("of_hit") + _LAST_OFFSET)
    )
    if request.exclude:
        near = near.exclude(pk__in=request.exclude)
    columns = ("session_id", "sequence", "of_hit", "token_ids", *_COMMON, "speaker", _text("happened_at"))
    turns = []
    for session, sequence, of_hit, pieces, id_, vector, status, speaker, happened_at in _raw(near, columns):
        row = None
        if NEIGHBOURS[0] <= sequence - of_hit <= NEIGHBOURS[-1]:
            moment = _moment(happened_at)
            row = Row(Kind.EPISODIC, _hex(id_), pieces or b"", vector, status == Status.STALE, moment, moment, speaker)
        turns.append(Turn(_hex(session), sequence, pieces or b"", row))
    return turns


def _alone(principal: Principal, request: Request, kind: Kind, ids: Collection[UUID]) -> list[Row]:
    rows = visible_rows(principal, kind, request).filter(pk__in=list(ids))
    if kind is Kind.SEMANTIC:
        dates = (_text("valid_from"), _text("learned_at"), _text("last_used_at"))
        return [
            Row(
                kind,
                _hex(id_),
                pieces or b"",
                vector,
                status == Status.STALE,
                since=_moment(valid_from),
                aged_from=_moment(last_used_at or learned_at),
                use_count=use_count,
            )
            for pieces, id_, vector, status, valid_from, learned_at, last_used_at, use_count in _raw(
                rows, ("token_ids", *_COMMON, *dates, "use_count")
            )
        ]
    if kind is Kind.PROCEDURAL:
        return [
            Row(
                kind,
                _hex(id_),
                pieces or b"",
                vector,
                status == Status.STALE,
                successes=successes,
                failures=failures,
                last_success_at=_moment(last_success_at),
            )
            for pieces, id_, vector, status, successes, failures, last_success_at in _raw(
                rows, ("token_ids", *_COMMON, "success_count", "failure_count", _text("last_success_at"))
            )
        ]
    return [
        Row(kind, _hex(id_), pieces or b"", vector, status == Status.STALE)
        for pieces, id_, vector, status in _raw(rows, ("token_ids", *_COMMON))
    ]


def _text(column: str) -> Cast:
    """A time as text: drivers would make an object of each, and few are looked at."""
    return Cast(column, CharField())


def _moment(stored: str | None) -> str | None:
    return stored[:_MOMENT_CHARACTERS] if stored else None


def _raw(rows: QuerySet[Any], columns: Sequence[str | Cast]) -> list[tuple[Any, ...]]:
    """The columns as the database driver gives them: ids are hex on SQLite and UUIDs on PostgreSQL."""
    sql, params = rows.order_by().values_list(*columns).query.get_compiler(using=rows.db).as_sql()
    with connections[rows.db].cursor() as cursor:
        cursor.execute(sql, params)
        fetched: list[tuple[Any, ...]] = cursor.fetchall()
    return fetched


def _hex(id_: str | UUID) -> str:
    return id_ if isinstance(id_, str) else id_.hex

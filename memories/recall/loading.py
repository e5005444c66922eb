"""Candidates by id from the database, filtered by owner and state, without their texts.

Loading is most of what a recall costs: rows come as plain tuples, past the converters of ORM and driver, and episodes
come with their surroundings in one query. What is visible is always what `visible_rows` says.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import Case, CharField, F, Q, QuerySet, UUIDField, When
from django.db.models.functions import Cast

from memories.models.base import OwnedQuerySet
from memories.recall.pool import Row, Turn, hex_of, moment_of
from memories.recall.request import Request
from memories.recall.statements import Build, fetch
from memories.recall.visibility import visible_rows
from memories.recall.weights import NEIGHBOURS, WINDOW_AROUND
from memories.types import Kind, Status
from tenants.principal import Principal

# A hit's neighbours are candidates, and each candidate is seen with the turns around it.
_FIRST_OFFSET = NEIGHBOURS[0] + WINDOW_AROUND[0]
_LAST_OFFSET = NEIGHBOURS[-1] + WINDOW_AROUND[1]
_COMMON = ("pk", "embedding", "status")

# One step through the index for each name; DISTINCT would walk all of the owner's episodes.
_SPEAKERS = """
    WITH RECURSIVE known(name) AS (
        SELECT min(speaker) FROM memories_episode WHERE tenant_id = %s AND user_id = %s
        UNION ALL
        SELECT (
            SELECT min(speaker) FROM memories_episode
            WHERE tenant_id = %s AND user_id = %s AND speaker > known.name
        ) FROM known WHERE known.name IS NOT NULL
    )
    SELECT name FROM known WHERE name IS NOT NULL AND name != ''
"""


def load(principal: Principal, request: Request, ids: Mapping[Kind, Collection[UUID]]) -> tuple[list[Turn], list[Row]]:
    """Episodes (with their surroundings, perhaps repeated) and other memories among `ids` that may answer."""
    turns: list[Turn] = []
    alone: list[Row] = []
    for kind, wanted in ids.items():
        if not wanted:
            continue
        if kind is Kind.EPISODIC:
            turns += fetch(_near, principal, request, wanted)
        else:
            build, row = _ALONE[kind]
            alone += map(row, fetch(build, principal, request, wanted))
    return turns, alone


def known_speakers(principal: Principal) -> list[str]:
    """The names under which the principal's episodes were said."""
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        whose = [UUIDField().get_db_prep_value(id_, cursor.db) for id_ in (principal.tenant_id, principal.user_id)]
        cursor.execute(_SPEAKERS, [*whose, *whose])
        return [name for (name,) in cursor.fetchall()]


def _near(principal: Principal, request: Request, ids: list[UUID]) -> QuerySet[Any, Any]:
    """The episodes around each hit, in its session; what only stands around a candidate comes with its words alone."""
    hit = F("of_hit")
    near: OwnedQuerySet[Any] = (
        visible_rows(principal, Kind.EPISODIC, request)
        .annotate(hit=F("session__episodes__pk"), of_hit=F("session__episodes__sequence"))
        .filter(hit__in=ids, sequence__gte=hit + _FIRST_OFFSET, sequence__lte=hit + _LAST_OFFSET)
        .exclude(pk__in=request.exclude)
        .order_by()
    )
    candidate = Q(sequence__gte=hit + NEIGHBOURS[0], sequence__lte=hit + NEIGHBOURS[-1])
    columns = (F("pk"), F("embedding"), F("status"), F("speaker"), _text("happened_at"))
    return near.values_list("session_id", "sequence", "token_ids", *(Case(When(candidate, then=c)) for c in columns))


def _facts(principal: Principal, request: Request, ids: list[UUID]) -> QuerySet[Any, Any]:
    dates = (_text("valid_from"), _text("learned_at"), _text("last_used_at"))
    # What is pinned matters for as long as it is pinned.
    review = Case(When(pinned=False, then=_text("review_after")))
    rows = _alone(principal, request, ids, Kind.SEMANTIC)
    return rows.values_list("token_ids", *_COMMON, *dates, "use_count", review)


def _playbooks(principal: Principal, request: Request, ids: list[UUID]) -> QuerySet[Any, Any]:
    outcomes = ("success_count", "failure_count", _text("last_success_at"))
    return _alone(principal, request, ids, Kind.PROCEDURAL).values_list("token_ids", *_COMMON, *outcomes)


def _catalog(principal: Principal, request: Request, ids: list[UUID]) -> QuerySet[Any, Any]:
    return _alone(principal, request, ids, Kind.CATALOG).values_list("token_ids", *_COMMON)


def _alone(principal: Principal, request: Request, ids: list[UUID], kind: Kind) -> OwnedQuerySet[Any]:
    return visible_rows(principal, kind, request).filter(pk__in=ids).order_by()


def _fact(stored: Sequence[Any]) -> Row:
    pieces, id_, vector, status, valid_from, learned_at, last_used_at, use_count, review_after = stored
    return Row(
        Kind.SEMANTIC,
        hex_of(id_),
        pieces or b"",
        vector,
        status == Status.STALE,
        since=moment_of(valid_from),
        aged_from=moment_of(last_used_at or learned_at),
        use_count=use_count,
        review_after=moment_of(review_after),
    )


def _playbook(stored: Sequence[Any]) -> Row:
    pieces, id_, vector, status, successes, failures, last_success_at = stored
    return Row(
        Kind.PROCEDURAL,
        hex_of(id_),
        pieces or b"",
        vector,
        status == Status.STALE,
        successes=successes,
        failures=failures,
        last_success_at=moment_of(last_success_at),
    )


def _catalog_entry(stored: Sequence[Any]) -> Row:
    pieces, id_, vector, status = stored
    return Row(Kind.CATALOG, hex_of(id_), pieces or b"", vector, status == Status.STALE)


_ALONE: Mapping[Kind, tuple[Build, Callable[[Sequence[Any]], Row]]] = {
    Kind.SEMANTIC: (_facts, _fact),
    Kind.PROCEDURAL: (_playbooks, _playbook),
    Kind.CATALOG: (_catalog, _catalog_entry),
}


def _text(column: str) -> Cast:
    """A time as text: drivers would make an object of each, and few are looked at."""
    return Cast(column, CharField())

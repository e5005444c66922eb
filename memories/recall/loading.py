"""Candidates by id from the database, filtered by owner and state, without their texts.

Loading is most of what a recall costs: rows come as plain tuples, past the converters of ORM and driver, and episodes
come with their surroundings in one query. What is visible is always what `visible_rows` says.

Queries that recall asks again and again, compiled once.

Building a query in the ORM costs as much as running it here. So each is built by the ORM with stand-ins for its values
(what is visible stays defined in one place), its SQL is kept by shape, and each call puts its own values where the
stand-ins are. A stand-in that is left over belongs to nobody and finds nothing.

Which rows a recall may return: the principal's own and shared ones, in a state that the request allows.

What has expired is gone, whether it was collected yet or not, and whichever moment is asked about: an answer must not
depend on when the collection ran. Invariant: every row that recall scores or returns passed through here, in the
database, whatever the search plane said. This is the second isolation check, and why a recall is never stale.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import Case, CharField, F, Q, QuerySet, UUIDField, When
from django.db.models.functions import Cast

from memories.models import MEMORY_MODELS
from memories.models.base import OwnedQuerySet
from memories.recall.adjust import NEIGHBOURS, WINDOW_AROUND
from memories.recall.pool import Row, Turn, hex_of, moment_of
from memories.recall.request import Request
from memories.types import Kind, Status
from memoryhub.db.compiled_query import Statement, filled, length, taken
from tenants.principal import ActorKind, Principal, Role

_NOBODY = Principal(UUID(int=1), UUID(int=2), UUID(int=3), Role.MEMBER, ActorKind.SYSTEM, None)
_TASK = "\x01"
_MOMENT = datetime(1, 1, 1, tzinfo=UTC)
_NOW = datetime(2, 1, 1, tzinfo=UTC)
# The first stand-in of each list; the others follow.
_IDS, _EXCLUDED = 1 << 32, 1 << 64

Build = Callable[[Principal, Request, list[UUID]], QuerySet[Any, Any]]


def fetch(build: Build, principal: Principal, request: Request, ids: Collection[UUID] = ()) -> list[tuple[Any, ...]]:
    """The rows of `build(principal, request, ids)`, a query of values, as the driver gives them.

    Ids are hex on SQLite and UUIDs on PostgreSQL. At most 2,048 ids.
    """
    statement, values = _bound(build, principal, request, ids)
    return statement.raw(values)


def instances(build: Build, principal: Principal, request: Request, ids: Collection[UUID]) -> list[Any]:
    """The rows of `build(principal, request, ids)`, a query of whole rows, as model instances. At most 2,048 ids."""
    statement, values = _bound(build, principal, request, ids)
    return statement.instances(values)


def _bound(build: Build, principal: Principal, request: Request, ids: Collection[UUID]) -> tuple[Statement, list[Any]]:
    excluded = list(request.exclude)
    statement = _compiled(build, _shape(request), length(ids), length(excluded))
    moments = (request.as_of or _MOMENT, request.alive_after)
    return statement, _prepared(principal, request.task, moments, [*filled(ids), *filled(excluded)])


@functools.lru_cache(maxsize=512)
def _compiled(build: Build, shape: Request, ids: int, excluded: int) -> Statement:
    wanted, unwanted = _stand_ins(_IDS, ids), _stand_ins(_EXCLUDED, excluded)
    query = build(_NOBODY, replace(shape, exclude=frozenset(unwanted)), wanted)
    return Statement.of(query, _prepared(_NOBODY, _TASK, (_MOMENT, _NOW), [*wanted, *unwanted]))


def _stand_ins(first: int, count: int) -> list[UUID]:
    return [UUID(int=first + number) for number in range(count)]


def _prepared(principal: Principal, task: str, moments: Iterable[datetime], ids: Iterable[UUID]) -> list[Any]:
    """Values as the database takes them, those of stand-ins and of a call in the same order."""
    return taken((task, *moments, principal.tenant_id, principal.user_id, *ids))


def _shape(request: Request) -> Request:
    """The request with stand-ins, and without what no query looks at."""
    return replace(
        request,
        query="",
        limit=1,
        task=_TASK if request.task else "",
        as_of=_MOMENT if request.as_of is not None else None,
        session_id=None,
        exclude=frozenset(),
        token_budget=None,
        threshold=None,
        cost=None,
        now=_NOW,
    )


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

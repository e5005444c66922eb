"""Loads candidates by id from the database, filtered by owner and state; texts of the selected ones are loaded last.

Every row that recall scores or returns passes `visible_rows` in the database, whatever the search plane returned. This
is the second isolation check, and it prevents stale recalls. Expired memories are excluded even if garbage collection
has not removed them, so results do not depend on its schedule.

Loading dominates the cost of a recall. Each query is therefore compiled once (`memoryhub.db.compiled_query`), rows are
plain tuples that bypass the converters of the ORM and the driver, and episodes come with their neighbours in one query,
unless the search plane has them as arrays: then only the texts of those that are selected are checked and loaded.
"""

from __future__ import annotations

import functools
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import (
    Case,
    CharField,
    DateTimeField,
    F,
    Field,
    IntegerField,
    JSONField,
    Q,
    QuerySet,
    TextField,
    UUIDField,
    Value,
    When,
)
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast, JSONObject, Left

from memories.models import MEMORY_MODELS, CatalogEntry, Episode, Fact, Item, Playbook
from memories.models.base import MemoryQuerySet
from memories.models.filtering import filter_of
from memories.recall.adjust import NEIGHBOURS, WINDOW_AROUND
from memories.recall.pool import CandidateRow, Pool, Turn, assemble, hex_of, surround
from memories.recall.request import Request
from memories.types import Kind, Recalled, Scope, Status, Turns
from memoryhub.db.compiled_query import CompiledSql, Prepared
from tenants.principal import ActorKind, Principal, Role

_NOBODY = Principal(UUID(int=1), UUID(int=2), UUID(int=3), Role.MEMBER, ActorKind.SYSTEM, None)

_VECTOR = "embedding"
# A function of (principal, request, *lists of ids) that returns the rows that may answer.
Build = Callable[..., QuerySet[Any, Any]]


def fetch(build: Build, principal: Principal, request: Request, *ids: Collection[UUID]) -> list[tuple[Any, ...]]:
    """Return the rows of `build(principal, request, *ids)`, a query of values, unconverted by the ORM.

    Ids are hex on SQLite and UUIDs on PostgreSQL. Each list may hold at most 2,048 ids. With a filter, whose form and
    values differ from call to call, the query is compiled for this call.
    """
    if request.filters is not None:
        return CompiledSql.of(build(principal, request, *ids), ()).raw(())
    return _compiled(build, request.kinds, request.include_superseded, request.encoder).raw(
        principal.tenant_id,
        principal.user_id,
        request.task or None,
        request.as_of,
        request.alive_after,
        request.exclude,
        principal.only_app,
        *ids,
    )


@functools.lru_cache(maxsize=512)
def _compiled(build: Build, kinds: tuple[Kind, ...], include_superseded: bool, encoder: str) -> Prepared[Any]:  # noqa: FBT001 - a key
    """Compile `build` once; each call binds its own values to the SQL."""

    def query(
        tenant_id: UUID,
        user_id: UUID,
        task: str | None,
        as_of: datetime | None,
        now: datetime,
        exclude: Collection[UUID],
        app: str | None,
        *ids: Collection[UUID],
    ) -> QuerySet[Any, Any]:
        principal = replace(_NOBODY, tenant_id=tenant_id, user_id=user_id, app=app or "", apart=app is not None)
        request = Request(
            query="",
            kinds=kinds,
            limit=1,
            task=task or "",
            include_superseded=include_superseded,
            as_of=as_of,
            exclude=frozenset(exclude),
            now=now,
            encoder=encoder,
        )
        return build(principal, request, *ids)

    return Prepared(query, may_ignore=True)


def visible_rows(principal: Principal, kind: Kind, request: Request) -> MemoryQuerySet[Any]:
    """Return the rows of `kind` that may answer `request`."""
    rows = MEMORY_MODELS[kind].objects.visible_to(principal, request.task).recallable()
    if request.filters is not None:
        rows = rows.filter(filter_of(request.filters, kind))
    if kind in (Kind.SEMANTIC, Kind.ITEM):
        rows = rows.unexpired(request.alive_after)
    supersedable = kind in (Kind.SEMANTIC, Kind.PROCEDURAL)
    if request.as_of is not None:
        learned = request.include_superseded and supersedable
        then = learned_by(request.as_of) if learned else held_at(kind, request.as_of)
        return rows.exclude(status=Status.EVICTED).filter(then)
    if request.include_superseded and supersedable:
        return rows.exclude(status=Status.EVICTED)
    return rows.current()


def held_at(kind: Kind, moment: datetime) -> Q:
    """Match rows current at `moment`: said or shared by then, or learned by then and not yet superseded."""
    if kind is Kind.EPISODIC:
        return Q(happened_at__lte=moment)
    if kind is Kind.CATALOG:
        return Q(created_at__lte=moment)
    return learned_by(moment) & (Q(superseded_at__isnull=True) | Q(superseded_at__gt=moment))


def learned_by(moment: datetime) -> Q:
    """Match facts and playbooks learned by `moment`, superseded or not."""
    return Q(learned_at__lte=moment)


# A hit's neighbours become candidates, and each candidate is scored with the turns around it.
_FIRST_OFFSET = NEIGHBOURS[0] + WINDOW_AROUND[0]
_LAST_OFFSET = NEIGHBOURS[-1] + WINDOW_AROUND[1]

# A loose index scan: one index lookup per name, where DISTINCT would read all of the owner's episodes.
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


def load(
    principal: Principal, request: Request, ids: Mapping[Kind, Collection[UUID]], turns: Turns | None = None
) -> Pool:
    """Load the memories among `ids` that may answer, and the turns beside episodes, as a pool.

    Of episodes only those that are not among `turns` are loaded, if these are given.
    """
    episodes = ids.get(Kind.EPISODIC, ())
    kinds = tuple(kind for kind in _COLUMNS if ids.get(kind))
    stored = fetch(_alone(kinds), principal, request, *(ids[kind] for kind in kinds)) if kinds else []
    alone = [_row(each) for each in stored]
    if turns is None:
        return assemble(cast("list[Turn]", fetch(_near, principal, request, episodes) if episodes else []), alone)
    late = fetch(_late, principal, request, episodes) if episodes else []
    return surround(turns, cast("list[Turn]", late), alone, excluded=request.exclude)


def known_speakers(principal: Principal) -> list[str]:
    """Return the distinct speakers of the principal's episodes."""
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        whose = [UUIDField().get_db_prep_value(id_, cursor.db) for id_ in (principal.tenant_id, principal.user_id)]
        cursor.execute(_SPEAKERS, [*whose, *whose])
        return [name for (name,) in cursor.fetchall()]


def _near(principal: Principal, request: Request, ids: Collection[UUID]) -> QuerySet[Any, Any]:
    """Select the episodes around each hit in its session; those that are not candidates have only their word pieces."""
    hit = F("of_hit")
    near: MemoryQuerySet[Any] = (
        visible_rows(principal, Kind.EPISODIC, request)
        .annotate(hit=F("session__episodes__pk"), of_hit=F("session__episodes__sequence"))
        .filter(hit__in=ids, sequence__gte=hit + _FIRST_OFFSET, sequence__lte=hit + _LAST_OFFSET)
        .exclude(pk__in=request.exclude)
        .order_by()
    )
    candidate = Q(sequence__gte=hit + NEIGHBOURS[0], sequence__lte=hit + NEIGHBOURS[-1])
    return near.values_list(*_PLACE, *(Case(When(candidate, then=c)) for c in _of_turn(request)))


def _late(principal: Principal, request: Request, ids: Collection[UUID]) -> QuerySet[Any, Any]:
    """Select episodes alone."""
    rows = visible_rows(principal, Kind.EPISODIC, request).filter(pk__in=ids).order_by()
    return rows.values_list(*_PLACE, *_of_turn(request))


_PLACE = ("session_id", "sequence", "token_ids")


def _of_turn(request: Request) -> tuple[Combinable, ...]:
    return F("pk"), _vector(request), F("status"), F("speaker"), _text("happened_at")


@functools.cache
def _alone(kinds: tuple[Kind, ...]) -> Build:
    """Return a builder that selects memories of these kinds in one query, with one list of ids per kind."""

    def build(principal: Principal, request: Request, *ids: Collection[UUID]) -> QuerySet[Any, Any]:
        first, *others = (
            visible_rows(principal, kind, request)
            .filter(pk__in=of_kind)
            .order_by()
            .values_list(*(_vector(request) if column is _VECTOR else column for column in _COLUMNS[kind]))
            for kind, of_kind in zip(kinds, ids, strict=True)
        )
        return first.union(*others, all=True) if others else first

    return build


def _vector(request: Request) -> Case:
    """Select a vector of the request's encoder. One of another counts as none, so no recall mixes two encoders."""
    return Case(When(embedding_model=request.encoder, then=F(_VECTOR)))


def _row(stored: Sequence[Any]) -> CandidateRow:
    kind, pieces, id_, vector, status, *times, use_count, successes, failures = stored
    since, learned_at, last_used_at, review_after, last_success_at, until = times
    return CandidateRow(
        _KINDS[kind],
        hex_of(id_),
        pieces or b"",
        vector,
        status == Status.STALE,
        since=since or learned_at,
        aged_from=last_used_at or learned_at,
        use_count=use_count,
        successes=successes,
        failures=failures,
        last_success_at=last_success_at,
        review_after=review_after,
        until=until,
        superseded=status == Status.SUPERSEDED,
    )


def _text(column: str) -> Left:
    """Select a time as `Moment`; without the fraction and the offset, which is zero."""
    return Left(Cast(column, CharField()), len("YYYY-MM-DD HH:MM:SS"))


_KINDS: Mapping[str, Kind] = {kind.value: kind for kind in Kind}


def _kind(kind: Kind) -> Cast:
    return Cast(Value(kind.value), CharField())


_NO_TIME, _ZERO = Cast(Value(None), CharField()), Cast(Value(0), IntegerField())
# A pinned fact does not become stale.
_REVIEW = Case(When(pinned=False, then=_text("review_after")))
_COLUMNS: Mapping[Kind, Sequence[Any]] = {
    Kind.SEMANTIC: (
        *(_kind(Kind.SEMANTIC), "token_ids", "pk", _VECTOR, "status"),
        *(_text("valid_from"), _text("learned_at"), _text("last_used_at"), _REVIEW, _NO_TIME, _text("valid_to")),
        *("use_count", _ZERO, _ZERO),
    ),
    Kind.PROCEDURAL: (
        *(_kind(Kind.PROCEDURAL), "token_ids", "pk", _VECTOR, "status"),
        *(_NO_TIME, _NO_TIME, _NO_TIME, _NO_TIME, _text("last_success_at"), _NO_TIME),
        *(_ZERO, "success_count", "failure_count"),
    ),
    **{
        kind: (
            *(_kind(kind), "token_ids", "pk", _VECTOR, "status"),
            *(_NO_TIME, _NO_TIME, _NO_TIME, _NO_TIME, _NO_TIME, _NO_TIME, _ZERO, _ZERO, _ZERO),
        )
        for kind in (Kind.CATALOG, Kind.ITEM)
    },
}


Memory = Episode | Fact | Playbook | CatalogEntry | Item
# Large columns used only for search.
_DEFERRED = frozenset({"embedding", "token_ids"})


def texts(principal: Principal, request: Request, wanted: Iterable[tuple[Kind, str]]) -> dict[str, Memory]:
    """Load the rows of these (kind, hex id) pairs in one query, by hex id. Rows deleted meanwhile are missing."""
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
    """Return a builder that selects (kind, row as a JSON object) for several kinds in one query."""

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
    names, converters = _converters(kind)
    for name, convert in converters:
        if (value := values[name]) is not None:
            values[name] = convert(value)
    row: Any = MEMORY_MODELS[kind].from_db(DEFAULT_DB_ALIAS, names, [values[name] for name in names])
    return cast("Memory", row)


@functools.cache
def _converters(kind: Kind) -> tuple[list[str], list[tuple[str, Callable[[Any], Any]]]]:
    """Return the names of a kind's fields, and functions that convert the JSON values of some of them."""
    fields = _fields(kind)
    converters = [(field.attname, _converter(field)) for field in fields]
    return [field.attname for field in fields], [(name, convert) for name, convert in converters if convert is not None]


def _converter(field: Field[Any, Any]) -> Callable[[Any], Any] | None:
    match field:
        case JSONField():
            return _json
        case DateTimeField():
            return _time
        case TextField() | CharField() | IntegerField():
            return None
    return field.to_python


def _json(stored: Any) -> Any:
    """SQLite returns JSON within JSON as text."""
    return json.loads(stored) if isinstance(stored, str) else stored


def _time(stored: str) -> datetime:
    """SQLite stores times in UTC without saying so."""
    time = datetime.fromisoformat(stored)
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


def recalled(row: Memory, score: float, signals: Mapping[str, float], reasons: Sequence[str]) -> Recalled:
    """Convert a row to the form that recall returns."""
    return Recalled(
        kind=row.kind,
        id=row.pk,
        score=score,
        status=Status(row.status),
        scope=Scope(row.scope),
        signals=signals,
        reasons=tuple(reasons),
        metadata=row.metadata,
        app=row.app,
        **_particulars(row),
    )


def _particulars(row: Memory) -> dict[str, Any]:
    """Return the fields specific to the row's kind."""
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
        case Item():
            return {"text": row.text, "since": row.updated_at}
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
        "proposed": row.proposed,
    }

"""Collects candidates from the search plane, the pending outbox entries and, if the plane fails, the database.

A write is a candidate for the next recall. A plane that is down or has lost its index lowers quality but raises no
error: the database serves what it can, and the response is marked as degraded. Just-written rows without a vector are
encoded on demand, only after they passed `visible_rows`; only their vectors and word pieces are cached.
"""

from __future__ import annotations

import functools
import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from django.db.models import Case, Q, QuerySet, Value, When
from django.db.models.expressions import Combinable

from memories.attributes.filters import both, of_app
from memories.constants import CANDIDATES_PER_SUB_QUERY, TAIL_LIMIT
from memories.embedding import pack_pieces, quantize, token_vectors
from memories.embedding.base import PieceIds
from memories.errors import SearchUnavailable
from memories.models import Operation
from memories.recall.loading import Build, Memory, fetch, texts, visible_rows
from memories.recall.meaning import QueryVector, encoder_named, vectors_now
from memories.recall.pool import CandidateRow, Pool, hex_of
from memories.recall.query import Query
from memories.recall.request import Request
from memories.search import search_plane
from memories.search.base import readable_by
from memories.search.outbox import pending, request_rebuild
from memories.types import CandidateRequest, Candidates, Kind, Owner, Turns, TurnsRequest
from memoryhub.json_endpoint import EndpointFault
from memoryhub.leases import fault_of, halved
from memoryhub.observability import tracing
from tenants.principal import Principal

log = logging.getLogger(__name__)

# Query terms matched in the database when the search plane fails, longest first.
MAX_WORDS_IN_DATABASE = 8

_NEWEST = {
    Kind.EPISODIC: "-happened_at",
    Kind.SEMANTIC: "-learned_at",
    Kind.PROCEDURAL: "-learned_at",
    Kind.CATALOG: "-created_at",
    Kind.ITEM: "-updated_at",
}
_SEARCHED = {
    Kind.EPISODIC: ("text", "context"),
    Kind.SEMANTIC: ("text", "key"),
    Kind.PROCEDURAL: ("text", "title", "trigger", "steps"),
    Kind.CATALOG: ("title", "text"),
    Kind.ITEM: ("text",),
}


@dataclass(slots=True)
class CandidateIds:
    """Ids by kind. `lexical`, `dense` and `relevance` are scores of the search plane by hex id; `tail` is just written.

    `by_words_alone`: some memories could not be found by meaning (`Candidates`). `turns` are the principal's own as the
    search plane holds them; None if their rows must be loaded.
    """

    ids: dict[Kind, set[UUID]] = field(default_factory=lambda: defaultdict(set))
    turns: Turns | None = None
    lexical: dict[str, float] = field(default_factory=dict)
    dense: dict[str, float] = field(default_factory=dict)
    relevance: dict[str, float] = field(default_factory=dict)
    tail: set[str] = field(default_factory=set)
    degraded: bool = False
    by_words_alone: bool = False

    def holds(self, kind: Kind, id_: UUID) -> bool:
        """True if a memory was found directly, not only as a neighbour of a hit."""
        return id_ in self.ids[kind]

    def to_load(self) -> dict[Kind, set[UUID]]:
        """Return the ids to load from the database: of episodes only the tail, if the plane has the others' columns."""
        if self.turns is None:
            return self.ids
        late = {UUID(id_) for id_ in self.tail}
        return {kind: ids & late if kind is Kind.EPISODIC else ids for kind, ids in self.ids.items()}


def find(principal: Principal, request: Request, query: Query, vector: Callable[[], QueryVector]) -> CandidateIds:
    """Return the candidates for a query. A failing search plane raises no error but marks the result as degraded."""
    found = CandidateIds()
    tail_is_whole, undelivered = _add_tail(found, principal, request)
    try:
        answer = _ask(principal, request, query, vector, undelivered)
    except SearchUnavailable:
        found.degraded = True
        missing: Sequence[Owner] = readable_by(principal)
    else:
        _add_hits(found, answer)
        found.by_words_alone = answer.by_words_alone
        missing = answer.incomplete
        for owner in missing:
            with suppress(SearchUnavailable):
                request_rebuild(owner)
        if answer.without_archive:
            missing = readable_by(principal)
        found.turns = answer.turns
    if not tail_is_whole:
        missing = readable_by(principal)
    for owner in missing:
        if not _add_from_database(found, principal, request, query, owner):
            found.degraded = True
    return found


def _ask(
    principal: Principal,
    request: Request,
    query: Query,
    vector: Callable[[], QueryVector],
    undelivered: Collection[UUID] | None,
) -> Candidates:
    # Memories valid at `as_of` may be hidden now, and many current ones were unknown then, so fetch more.
    deeper = request.as_of is not None
    wanted = CandidateRequest(
        kinds=request.kinds,
        terms=query.sought,
        vector=lambda: vector().vector,
        encoder=lambda: vector().encoder,
        text=query.text,
        per_sub_query=CANDIDATES_PER_SUB_QUERY * (2 if deeper else 1),
        task=request.task,
        include_superseded=request.include_superseded or deeper,
        filters=both(request.filters, of_app(principal.only_app) if principal.only_app else None),
        turns=_turns_wanted(principal, request, undelivered),
    )
    plane = search_plane()
    with tracing.span("search", plane=plane.name) as span:
        answer = plane.candidates(principal, wanted)
        span.note(hits=len(answer.hits))
    return answer


def _turns_wanted(principal: Principal, request: Request, undelivered: Collection[UUID] | None) -> TurnsRequest | None:
    """Return the request for turns as arrays; None if a row has to be read to know whether it may answer."""
    plain = request.as_of is None and not request.include_superseded and request.filters is None
    if undelivered is None or not plain or principal.only_app is not None or Kind.EPISODIC not in request.kinds:
        return None
    return TurnsRequest(undelivered, request.exclude)


def _add_hits(found: CandidateIds, answer: Candidates) -> None:
    for id_, kind, lexical, dense, relevance in answer.hits:
        found.ids[kind].add(id_)
        name = id_.hex
        if lexical is not None:
            found.lexical[name] = lexical
        if dense is not None:
            found.dense[name] = dense
        if relevance is not None:
            found.relevance[name] = relevance


def _add_tail(found: CandidateIds, principal: Principal, request: Request) -> tuple[bool, set[UUID] | None]:
    """Add the latest undelivered memories, which the search plane may already hold.

    Returns whether there are no others, and the ids of all undelivered changes, removals included, unless too many.
    """
    changed = fetch(_changed, principal, request)
    undelivered = {UUID(hex_of(id_)) for _, id_, _ in changed} if len(changed) <= TAIL_LIMIT else None
    if undelivered is None:
        rows = fetch(_waiting, principal, request)
    else:
        rows = [(kind, id_) for kind, id_, what in changed if what == Operation.UPSERT and kind in request.kinds]
    for kind, id_ in rows[:TAIL_LIMIT]:
        found.ids[Kind(kind)].add(UUID(hex_of(id_)))
        found.tail.add(hex_of(id_))
    return len(rows) <= TAIL_LIMIT, undelivered


def _changed(principal: Principal, _: Request) -> QuerySet[Any, Any]:
    return pending(*readable_by(principal)).values_list("kind", "memory_id", "operation")[: TAIL_LIMIT + 1]


def _waiting(principal: Principal, request: Request) -> QuerySet[Any, Any]:
    waiting = pending(*readable_by(principal)).filter(operation=Operation.UPSERT, kind__in=request.kinds)
    return waiting.values_list("kind", "memory_id")[: TAIL_LIMIT + 1]


def _add_from_database(found: CandidateIds, principal: Principal, request: Request, query: Query, owner: Owner) -> bool:
    """Add an owner's memories from the database because the search plane lacks them. True if all were added.

    An owner with few memories is served completely. A large one gets the newest memories and those that contain query
    terms.
    """
    whole = True
    part = readable_by(principal).index(owner)
    for kind in request.kinds:
        newest = [UUID(hex_of(id_)) for (id_,) in fetch(_NEWEST_OF[kind, part], principal, request)]
        if len(newest) > TAIL_LIMIT:
            whole = False
            newest = newest[:CANDIDATES_PER_SUB_QUERY]
            rows = _of_part(kind, part, principal, request)
            matching = rows.annotate(words=_words_held(kind, query)).filter(words__gt=0)
            newest += _ids(matching.order_by("-words", _NEWEST[kind], "pk"), CANDIDATES_PER_SUB_QUERY)
        found.ids[kind].update(newest)
    return whole


def _of_part(kind: Kind, part: int, principal: Principal, request: Request) -> QuerySet[Any, Any]:
    """Return the visible rows of one owner among those that the principal may read."""
    owner = readable_by(principal)[part]
    return visible_rows(principal, kind, request).filter(tenant=owner.tenant_id, user=owner.user_id)


def _newest(kind: Kind, part: int, principal: Principal, request: Request) -> QuerySet[Any, Any]:
    rows = _of_part(kind, part, principal, request).order_by(_NEWEST[kind], "pk")
    return rows.values_list("pk")[: TAIL_LIMIT + 1]


_NEWEST_OF: Mapping[tuple[Kind, int], Build] = {
    (kind, part): functools.partial(_newest, kind, part) for kind in Kind for part in range(3)
}


def _words_held(kind: Kind, query: Query) -> Combinable:
    """Return an expression for the number of query terms that a row contains."""
    held: Combinable = Value(0)
    for word in sorted((*query.codes, *query.terms), key=len, reverse=True)[:MAX_WORDS_IN_DATABASE]:
        holds = Q()
        for column in _SEARCHED[kind]:
            holds |= Q(**{f"{column}__icontains": word})
        held += Case(When(holds, then=1), default=0)
    return held


def _ids(rows: QuerySet[Any], count: int) -> list[UUID]:
    return list(rows.values_list("pk", flat=True)[:count])


# Texts encoded within one recall, 4 ms each: those that share most with the query. The rest of a long tail is matched
# by its words alone until the outbox delivers it.
MAX_ENCODED = 32
MAX_REMEMBERED = 512


class Encoded(NamedTuple):
    """Word pieces and vector of a text, as stored for scoring."""

    pieces: bytes
    vector: bytes | None


# Recently encoded texts by encoder and hex id. A memory's text never changes, and the same tail is often read again at
# once. An item's text changes, so items are left out.
_remembered: dict[tuple[str, str], Encoded] = {}
_remembering = threading.Lock()


def _remember(encoder: str, id_: str, encoded: Encoded) -> None:
    with _remembering:
        _remembered[encoder, id_] = encoded
        while len(_remembered) > MAX_REMEMBERED:
            del _remembered[next(iter(_remembered))]


def encoded_tail(principal: Principal, request: Request, query: Query, pool: Pool) -> Pool:
    """Return `pool` with word pieces for all candidates that lack them, and vectors for those closest to the query."""
    bare = pool.bare()
    if not bare:
        return pool
    known = {row.id: encoded for row in bare if (encoded := _remembered.get((request.encoder, row.id))) is not None}
    known |= _encoded(principal, request, query, [row for row in bare if row.id not in known])
    rows, pieces = list(pool.rows), list(pool.pieces)
    for index, row in enumerate(rows):
        if row.id in known:
            rows[index] = row._replace(pieces=known[row.id].pieces, vector=known[row.id].vector)
            pieces[pool.own[index]] = known[row.id].pieces
    return replace(pool, rows=rows, pieces=pieces)


def _encoded(principal: Principal, request: Request, query: Query, rows: Sequence[CandidateRow]) -> dict[str, Encoded]:
    """Return word pieces for all `rows`, and vectors for those that share most with the query, then for the latest."""
    found = texts(principal, request, [(row.kind, row.id) for row in rows])
    asked = token_vectors().piece_ids(" ".join(query.terms))
    weights = token_vectors().weights
    split: list[tuple[float, str, str, bytes]] = []
    for row in rows:
        if (memory := found.get(row.id)) is not None:
            pieces, packed = _pieces_of(memory)
            shared = float(weights[np.intersect1d(asked, pieces)].sum())
            split.append((shared, row.aged_from or "", row.id, packed))
    split.sort(key=itemgetter(0, 1), reverse=True)
    vectors = _vectors_of([found[id_] for _, _, id_, _ in split[:MAX_ENCODED]], request.encoder)
    encoded: dict[str, Encoded] = {}
    for _, _, id_, packed in split:
        encoded[id_] = Encoded(packed, vectors.get(id_))
        if id_ in vectors and found[id_].kind is not Kind.ITEM:
            _remember(request.encoder, id_, encoded[id_])
    return encoded


def _pieces_of(memory: Memory) -> tuple[PieceIds, bytes]:
    """The word pieces of one text. A text that cannot be split matches by no word; the others of the recall do."""
    try:
        pieces = token_vectors().piece_ids(memory.indexed_text)
        return pieces, pack_pieces(pieces)
    except Exception as error:  # noqa: BLE001 - the outbox shows and sets aside what cannot be encoded
        _warn(memory, error)
        return np.array([], np.uint16), b""


def _vectors_of(memories: Sequence[Memory], name: str) -> dict[str, bytes]:
    """Encode texts; return vectors by hex id. A text that cannot be encoded matches nothing by meaning."""
    vectors: dict[str, bytes] = {}

    def encode(some: Sequence[Memory]) -> None:
        made = vectors_now(encoder_named(name), [memory.indexed_text for memory in some])
        vectors.update(zip((memory.pk.hex for memory in some), map(quantize, made), strict=True))

    with suppress(EndpointFault):  # the outbox delivers them later
        halved(memories, encode, _warn)
    return vectors


def _warn(memory: Memory, error: Exception) -> None:
    log.warning("The %s memory %s was not encoded for a recall: %s.", memory.kind, memory.pk, fault_of(error))

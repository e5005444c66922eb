"""Rows of the database as documents of a search plane, with their vectors; rows without one are encoded first.

Invariant: a vector is stored only on the version of the row that it was made from, and texts of different owners are
never encoded together.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from memories.embedding import encoder, pack_pieces, quantize, token_vectors
from memories.models import MEMORY_MODELS
from memories.models.base import MemoryRow
from memories.models.supersedable import Supersedable
from memories.types import Kind, Owner, Scope, SearchDocument, Status
from memoryhub.db.compiled_query import Prepared

# Rows that are read, encoded and stored at a time: about a second's work for one thread.
BATCH = 128


def rows_by_id(kind: Kind, ids: Iterable[UUID]) -> list[MemoryRow]:
    """The rows of a kind that still exist, whoever owns them: for carrying rows to the plane, never for answering."""
    return list(MEMORY_MODELS[kind].objects.filter(pk__in=list(ids)))


def rows_of(owner: Owner, *, without_vector: bool = False) -> Iterator[MemoryRow]:
    """All rows of exactly this owner that a plane should hold, by id.

    Each batch is a query of its own: a cursor that stays open would pin what SQLite sees, and the next write on this
    connection would fail as soon as another one had committed.
    """
    encoded_by = encoder().name if without_vector else None
    for kind in MEMORY_MODELS:
        rows = _rows(kind, BATCH)
        batch = rows.all(owner.tenant_id, owner.user_id, encoded_by, None)
        while batch:
            yield from batch
            last = batch[-1].pk
            batch = rows.all(owner.tenant_id, owner.user_id, encoded_by, last) if len(batch) == BATCH else []


def one_of(owner: Owner) -> MemoryRow | None:
    """Any row of exactly this owner that a plane should hold; None if there is none."""
    found = (rows.first(owner.tenant_id, owner.user_id) for rows in _ONE.values())
    return next((row for row in found if row is not None), None)


def _held(kind: Kind, tenant_id: UUID | None, user_id: UUID | None) -> QuerySet[Any, Any]:
    rows: QuerySet[Any, Any] = MEMORY_MODELS[kind].objects.filter(tenant=tenant_id, user=user_id)
    return rows.exclude(status=Status.EVICTED).order_by("pk")


def _one(kind: Kind, tenant_id: UUID | None, user_id: UUID | None) -> QuerySet[Any, Any]:
    return _held(kind, tenant_id, user_id).defer("embedding", "token_ids")[:1]


@functools.cache
def _rows(kind: Kind, most: int) -> Prepared[Any]:
    return Prepared(functools.partial(_batch, kind, most))


def _batch(
    kind: Kind, most: int, tenant_id: UUID | None, user_id: UUID | None, encoded_by: str | None, after: UUID | None
) -> QuerySet[Any, Any]:
    """The next rows by id; with `encoded_by` those that this encoder has not encoded."""
    rows = _held(kind, tenant_id, user_id)
    if encoded_by is not None:
        rows = rows.exclude(embedding__isnull=False, embedding_model=encoded_by)
    return (rows if after is None else rows.filter(pk__gt=after))[:most]


_ONE: dict[Kind, Prepared[Any]] = {kind: Prepared(functools.partial(_one, kind)) for kind in Kind}


def documents(rows: Iterable[MemoryRow]) -> Iterator[SearchDocument]:
    """The rows as documents; those without a vector of the current encoder are encoded and stored on the way."""
    for batch in batches(rows):
        encode_missing(batch)
        yield from map(_document, batch)


def encode_owner(owner: Owner) -> int:
    """Encode and store whatever of an owner has no vector yet; return how many rows."""
    count = 0
    for batch in batches(rows_of(owner, without_vector=True)):
        count += encode_missing(batch)
    return count


def encode_missing(rows: Sequence[MemoryRow]) -> int:
    """Give vector and word pieces to those of `rows` that lack them, here and in the database; return how many."""
    name = encoder().name
    missing = [row for row in rows if row.embedding is None or row.token_ids is None or row.embedding_model != name]
    if not missing:
        return 0
    vectors = encoder().encode([row.searchable_text for row in missing])
    for row, vector in zip(missing, vectors, strict=True):
        row.embedding = quantize(vector)
        row.embedding_model = name
        row.token_ids = pack_pieces(token_vectors().piece_ids(row.searchable_text))
    with transaction.atomic():
        for row in missing:
            type(row).objects.filter(pk=row.pk, version=row.version).update(
                embedding=row.embedding, embedding_model=row.embedding_model, token_ids=row.token_ids
            )
    return len(missing)


def batches(rows: Iterable[MemoryRow]) -> Iterator[list[MemoryRow]]:
    """`rows` in lists of up to BATCH."""
    rest = iter(rows)
    while batch := list(islice(rest, BATCH)):
        yield batch


def _document(row: MemoryRow) -> SearchDocument:
    if row.embedding is None:
        raise ValueError("A document needs a vector.")
    return SearchDocument(
        id=row.pk,
        kind=row.kind,
        version=row.version,
        owner=row.owner,
        scope=Scope(row.scope),
        task=row.task or "",
        status=Status(row.status),
        text=row.searchable_text,
        vector=bytes(row.embedding),
        archived=isinstance(row, Supersedable) and row.archived_at is not None,
    )

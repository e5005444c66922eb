"""Converts database rows to documents of a search plane, encoding rows that lack a vector.

A vector is stored only if the row still has the version that was encoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from memories.attributes.evaluation import attributes_of, tokens_of
from memories.embedding import encoder, pack_pieces, quantize, token_vectors
from memories.models import MEMORY_MODELS, Episode
from memories.models.base import MemoryRow
from memories.models.supersedable import Supersedable
from memories.types import Kind, Owner, Scope, SearchDocument, Status, TurnDocument
from memoryhub.leases import halved

# Rows read, encoded and stored per step; about one second on one thread.
BATCH = 128
Refused = Callable[[MemoryRow, Exception], object]


def rows_by_id(kind: Kind, ids: Iterable[UUID]) -> list[MemoryRow]:
    """Return the existing rows of a kind for any owner. For delivery to the search plane only, never for answers."""
    return list(MEMORY_MODELS[kind].objects.unscoped("search index of every owner").filter(pk__in=list(ids)))


def rows_of(owner: Owner, *, without_vector: bool = False) -> Iterator[MemoryRow]:
    """Yield the owner's rows that belong in the plane, by id; `without_vector` limits them to those not encoded.

    Each batch is a separate query. An open cursor would pin SQLite's snapshot, and the next write on this connection
    would fail once another connection had committed.
    """
    for kind in MEMORY_MODELS:
        rows = _indexed(kind, owner)
        if without_vector:
            rows = rows.exclude(embedding__isnull=False, embedding_model=encoder().name)
        batch = list(rows[:BATCH])
        while batch:
            yield from batch
            batch = list(rows.filter(pk__gt=batch[-1].pk)[:BATCH]) if len(batch) == BATCH else []


def one_of(owner: Owner) -> MemoryRow | None:
    """Return any of the owner's rows that belong in the plane, or None."""
    found = (_indexed(kind, owner).defer("embedding", "token_ids").first() for kind in MEMORY_MODELS)
    return next((row for row in found if row is not None), None)


def _indexed(kind: Kind, owner: Owner) -> QuerySet[Any]:
    rows = MEMORY_MODELS[kind].objects.of_owner(owner.tenant_id, owner.user_id)
    return rows.indexed().order_by("pk")


def documents(rows: Iterable[MemoryRow]) -> Iterator[SearchDocument]:
    """Convert rows to documents. Rows without a vector of the current encoder are encoded, and the vector is stored.

    A row that the plane does not hold needs none; as an evicted document, it is removed.
    """
    for batch in batches(rows):
        encode_missing([row for row in batch if row.is_indexed])
        yield from map(_document, batch)


def documents_of(owner: Owner, left_out: Refused) -> Iterator[SearchDocument]:
    """Convert all of an owner's rows to documents. Rows that cannot be encoded go to `left_out` with the error."""
    for batch in batches(rows_of(owner)):
        made: list[list[SearchDocument]] = []
        halved(batch, _into(made), left_out)
        for some in made:
            yield from some


def _into(made: list[list[SearchDocument]]) -> Callable[[Sequence[MemoryRow]], None]:
    return lambda rows: made.append(list(documents(rows)))


def encode_owner(owner: Owner, left_out: Refused) -> None:
    """Encode an owner's rows that lack a vector."""
    for batch in batches(rows_of(owner, without_vector=True)):
        halved(batch, encode_missing, left_out)


def encode_missing(rows: Sequence[MemoryRow]) -> int:
    """Set vector and word pieces on the rows that lack them, in memory and in the database; return their number."""
    name = encoder().name
    missing = [row for row in rows if row.embedding is None or row.token_ids is None or row.embedding_model != name]
    if not missing:
        return 0
    vectors = encoder().encode([row.indexed_text for row in missing])
    for row, vector in zip(missing, vectors, strict=True):
        row.embedding = quantize(vector)
        row.embedding_model = name
        row.token_ids = pack_pieces(token_vectors().piece_ids(row.indexed_text))
    with transaction.atomic():
        for row in missing:
            type(row).objects.unscoped("search index of every owner").filter(pk=row.pk, version=row.version).update(
                embedding=row.embedding, embedding_model=row.embedding_model, token_ids=row.token_ids
            )
    return len(missing)


def batches(rows: Iterable[MemoryRow]) -> Iterator[list[MemoryRow]]:
    """Split `rows` into lists of up to BATCH."""
    rest = iter(rows)
    while batch := list(islice(rest, BATCH)):
        yield batch


def _document(row: MemoryRow) -> SearchDocument:
    if row.embedding is None and row.is_indexed:
        raise ValueError("A document needs a vector.")
    return SearchDocument(
        id=row.pk,
        kind=row.kind,
        version=row.version,
        owner=row.owner,
        scope=Scope(row.scope),
        task=row.task or "",
        status=Status(row.status) if row.is_indexed else Status.EVICTED,
        text=row.indexed_text,
        vector=bytes(row.embedding or b""),
        archived=isinstance(row, Supersedable) and row.archived_at is not None,
        tokens=tokens_of(attributes_of(row)),
        turn=_turn(row) if isinstance(row, Episode) else None,
    )


def _turn(row: Episode) -> TurnDocument:
    return TurnDocument(bytes(row.token_ids or b""), row.session_id, row.sequence, row.speaker, row.happened_at)

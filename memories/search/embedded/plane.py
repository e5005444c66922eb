"""The embedded search plane: SQLite FTS5 and int8 vectors in one file per owner, without a server.

Isolation is physical. A search opens files named by the principal's own UUIDs, and each file has its own statistics, so
other owners' memories influence neither hits nor scores. Files are caches: a deleted file is rebuilt.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memories.embedding import Floats
from memories.errors import SearchUnavailable
from memories.search.base import Health, IndexLookup, PartMissing, StoredState, Tombstone, readable_by
from memories.search.embedded import files
from memories.search.embedded.files import ALL_TABLES, ARCHIVE, KIND_CODES, KINDS, connect, is_usable
from memories.search.embedded.part import OpenParts, Snapshot, owners_in, path_of
from memories.types import Candidate, CandidateRequest, Candidates, Kind, Owner, SearchDocument, Status, Turns
from tenants.principal import Principal

_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_PRIMARY_CODE = 0xFF


class EmbeddedPlane:
    """The SearchPlane over the files under `root`, which are filled with vectors of the encoder named `encoder`."""

    name = "embedded"
    joint = False

    def __init__(self, root: Path, encoder: str, *, cache_bytes: int) -> None:
        self.root = root
        self._encoder = encoder
        self._open = OpenParts(cache_bytes)

    def upsert(self, documents: Sequence[SearchDocument]) -> None:
        if not documents:
            return
        (owner,) = {document.owner for document in documents}
        with self._writing(owner) as connection:
            if files.encoder_of(connection) != self._encoder:
                documents = [replace(document, vector=b"") for document in documents]
            files.upsert(connection, documents)

    def delete(self, owner: Owner, tombstones: Sequence[Tombstone]) -> None:
        with self._writing(owner) as connection:
            files.delete(connection, tombstones)

    def settle(self) -> None:
        """Do nothing: a commit is searchable immediately."""

    def expunge(self) -> None:
        """Do nothing: deletions overwrite their bytes."""

    def rebuild_all(self, owners: Iterable[Owner], documents: Callable[[Owner], Iterable[SearchDocument]]) -> int:
        """Rebuild part by part, and erase the parts of all other owners."""
        left = set(self.owners())
        count = 0
        for owner in owners:
            count += self.rebuild(owner, documents(owner))
            left.discard(owner)
        for owner in left:
            self.erase_owner(owner)
        return count

    def rebuild(self, owner: Owner, documents: Iterable[SearchDocument]) -> int:
        """Refill the owner's file, replacing it if it is damaged."""
        with suppress(PartMissing):
            return self._fill(owner, documents)
        try:
            return self._fill(owner, documents)
        except PartMissing as error:
            raise SearchUnavailable("The search index cannot be written.") from error

    def erase_owner(self, owner: Owner) -> None:
        self._discard(path_of(self.root, owner))

    def stored(self, owner: Owner) -> Iterator[StoredState]:
        with self._reading(owner) as connection:
            rows = [(tables is ARCHIVE, row) for tables in ALL_TABLES for row in files.rows_of(connection, tables)]
        for archived, (kind, id_, version, status) in rows:
            yield StoredState(KINDS[kind], UUID(bytes=id_), version, Status(status), archived)

    def encoder_of(self, owner: Owner) -> str | None:
        try:
            with self._reading(owner) as connection:
                return files.encoder_of(connection)
        except PartMissing:
            return None

    def owners(self) -> Iterator[Owner]:
        return owners_in(self.root)

    def health(self) -> Health:
        folder = self.root if self.root.exists() else self.root.parent
        if os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            return Health(self.name, ok=True)
        return Health(self.name, ok=False, detail="The index folder cannot be written.")

    def close(self) -> None:
        """Close all files; the next search reopens them."""
        self._open.close()

    def candidates(self, principal: Principal, request: CandidateRequest) -> Candidates:
        hits: list[Candidate] = []
        incomplete: list[Owner] = []
        by_words_alone = False
        turns: Turns | None = None
        own, *shared = readable_by(principal)
        for owner in (own, *shared):
            try:
                found, whole, part = self._search(owner, request)
            except PartMissing as missing:
                incomplete.append(missing.owner)
            else:
                hits += found
                by_words_alone |= not whole
                turns = part if owner is own else turns
        return Candidates(tuple(hits), tuple(incomplete), by_words_alone=by_words_alone, turns=turns)

    def see(self, principal: Principal, kind: Kind, memory_id: UUID) -> IndexLookup:
        incomplete: list[Owner] = []
        for owner in readable_by(principal):
            try:
                with self._reading(owner) as connection:
                    if document := files.document_of(connection, kind, memory_id):
                        return IndexLookup(document)
            except PartMissing as missing:
                incomplete.append(missing.owner)
        return IndexLookup(None, tuple(incomplete))

    def _search(self, owner: Owner, request: CandidateRequest) -> tuple[list[Candidate], bool, Turns | None]:
        """Return the hits in a part, whether it was searched by meaning as well if that was wanted, and its turns.

        Turns have vectors of the encoder that the request names, or they are not given.
        """
        path = path_of(self.root, owner)
        with self._errors(owner, path):
            searched = self._open.search(
                path, request.terms, with_archive=request.include_superseded, filters=request.filters
            )
        hits: list[Candidate] = []
        whole = True
        turns: Turns | None = None
        for snapshot, rows_by_term, matching in searched:
            if not snapshot.rows:
                continue
            visible = snapshot.visible(request.kinds, request.task, include_superseded=request.include_superseded)
            if matching is not None:
                visible &= matching
            lexical = np.where(visible, snapshot.lexical(rows_by_term), np.float32(0.0))
            cosines, has_vectors = None, False
            if request.vector is not None:
                vector = request.vector()
                if snapshot.encoder == (request.encoder() if request.encoder else self._encoder):
                    cosines, has_vectors = snapshot.cosines(vector), snapshot.vectors.shape[1] == len(vector)
                else:
                    whole = False
            rows = _best(snapshot, request, visible, lexical, cosines)
            hits += _hits(snapshot, rows, lexical, cosines)
            if request.turns is not None and has_vectors:
                turns = snapshot.turns.asked(request.turns, snapshot.vectors, visible, rows)
        return hits, whole, turns

    @contextmanager
    def _writing(self, owner: Owner) -> Iterator[sqlite3.Connection]:
        with self._reading(owner) as connection, files.transaction(connection):
            yield connection

    @contextmanager
    def _reading(self, owner: Owner) -> Iterator[sqlite3.Connection]:
        """Open a new connection to the owner's file. Raises PartMissing if there is no usable file."""
        path = path_of(self.root, owner)
        with self._errors(owner, path):
            connection = connect(path)
            try:
                if not is_usable(connection):
                    raise PartMissing(owner)
                yield connection
            finally:
                connection.close()

    def _fill(self, owner: Owner, documents: Iterable[SearchDocument]) -> int:
        path = path_of(self.root, owner)
        with self._errors(owner, path):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            connection = connect(path, create=True)
            try:
                with files.transaction(connection):
                    return files.fill(connection, self._encoder, documents)
            finally:
                connection.close()

    @contextmanager
    def _errors(self, owner: Owner, path: Path) -> Iterator[None]:
        """Translate file errors to those of the Protocol. A damaged file is deleted, so that it is rebuilt."""
        try:
            yield
        except FileNotFoundError as error:
            self._open.forget(path)  # an open connection may still cache pages of the old file
            raise PartMissing(owner) from error
        except OSError as error:
            raise SearchUnavailable(f"The search index cannot be used: {error.strerror}.") from error
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY_CODE
            if code in _DAMAGED:
                self._discard(path)
                raise PartMissing(owner) from error
            if code == sqlite3.SQLITE_CANTOPEN and not path.exists():
                raise PartMissing(owner) from error
            name = getattr(error, "sqlite_errorname", type(error).__name__)
            raise SearchUnavailable(f"The search index cannot be used: {name}.") from error

    def _discard(self, path: Path) -> None:
        self._open.forget(path)
        # The journal goes first: beside a new file of the same name, SQLite would roll it back into that file.
        for doomed in (path.with_name(f"{path.name}-journal"), path):
            try:
                doomed.unlink(missing_ok=True)
            except OSError as error:
                raise SearchUnavailable(f"The search index cannot be used: {error.strerror}.") from error


def _best(
    snapshot: Snapshot,
    request: CandidateRequest,
    visible: NDArray[np.bool_],
    lexical: Floats,
    cosines: Floats | None,
) -> NDArray[np.intp]:
    """Return the best rows of each kind by words and by meaning."""
    chosen: list[NDArray[np.intp]] = []
    for kind in request.kinds:
        of_kind = visible & (snapshot.kind == KIND_CODES[kind])
        chosen.append(_top(np.flatnonzero(of_kind & (lexical > 0)), lexical, request.per_sub_query))
        if cosines is not None:
            chosen.append(_top(np.flatnonzero(of_kind), cosines, request.per_sub_query))
    return np.unique(np.concatenate(chosen)) if chosen else np.zeros(0, np.intp)


def _hits(snapshot: Snapshot, rows: NDArray[np.intp], lexical: Floats, cosines: Floats | None) -> list[Candidate]:
    """Return the hits in these rows, with both scores if known."""
    by_meaning = [None] * len(rows) if cosines is None else cosines[rows].tolist()
    columns = (rows.tolist(), snapshot.kind[rows].tolist(), lexical[rows].tolist(), by_meaning)
    return [
        Candidate(snapshot.ids[row], KINDS[kind], by_words or None, cosine)
        for row, kind, by_words, cosine in zip(*columns, strict=True)
    ]


def _top(rows: NDArray[np.intp], scores: Floats, count: int) -> NDArray[np.intp]:
    if len(rows) <= count:
        return rows
    return rows[np.argpartition(-scores[rows], count - 1)[:count]]

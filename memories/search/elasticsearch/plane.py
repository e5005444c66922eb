"""The Elasticsearch plane: candidates by one `_msearch` with the member's own key, writes by the indexer.

Isolation is the cluster's: a key opens the documents that its query names and no others, whatever is asked with it.
Invariant: a member is answered with their own key or not at all.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from elasticsearch import Elasticsearch

from memories.embedding import encoder_name
from memories.errors import MemoriesError, SearchForbidden, SearchUnavailable
from memories.search.base import Health, Seen, SeenDocument, StoredState, Tombstone
from memories.search.elasticsearch import indices, reading
from memories.search.elasticsearch.documents import actions
from memories.search.elasticsearch.queries import By, Leg, legs, legs_to_one
from memories.search.elasticsearch.routing import ARCHIVE, SHELVES
from memories.search.elasticsearch.transport import (
    FORBIDDEN,
    MISSING,
    NO_ANSWER,
    NO_LICENCE,
    Calls,
    Unlicensed,
    of_status,
    translated,
)
from memories.search.elasticsearch.writing import changes, removals, send, write
from memories.types import Candidate, CandidateRequest, Candidates, Kind, Owner, SearchDocument, Status
from memoryhub.elasticsearch import Identity, is_configured, key_client, service_client, writing_pattern
from tenants.errors import NoSearchKey
from tenants.principal import Principal
from tenants.search_keys import SearchKey, record_refusal, search_key

# A tombstone has done its work when no delivery from before it can still be under way.
TOMBSTONE_LIFETIME = timedelta(days=7)
# An index that was replaced stays until what began on it must have ended.
GRACE_SECONDS = 3.0
HEALTH_SECONDS = 1.0
# One damaged row must not keep an index from being made; of an owner with more of them something else is wrong.
MOST_LEFT_OUT = 20
EXPUNGE_SECONDS = 3600.0
REBUILD = "Run `manage.py index rebuild`."
# What an installation from before there was an archive lacks is made without filling the other indices anew.
SET_UP = "Run `manage.py elasticsearch setup`."
_OK = 200
_ANSWER = "responses.status,responses.error.reason," + ",".join(
    f"responses.hits.hits.{name}" for name in ("_id", "_score", "_version", "_source")
)


@dataclass(frozen=True, slots=True)
class _Answered:
    """The answers to all legs; those on the archive are empty where the cluster did not let it be searched."""

    answers: list[dict[str, Any]]
    without_archive: bool = False
    archive_refused: bool = False


class ElasticsearchPlane:
    """A plane over the cluster that the settings name. Everything may be called from any thread."""

    name = "elasticsearch"
    joint = True

    def __init__(self, key_of: Callable[[Principal], SearchKey] = search_key) -> None:
        self._key_of = key_of
        self._calls = Calls()
        self._expunging = threading.Lock()
        self._licensed = True

    def upsert(self, documents: Sequence[SearchDocument]) -> None:
        """See SearchPlane."""
        write(self._indexer, changes(documents))

    def delete(self, owner: Owner, tombstones: Sequence[Tombstone]) -> None:  # noqa: ARG002 - an id is enough here
        """See SearchPlane."""
        write(self._indexer, removals(tombstones))

    def settle(self) -> None:
        """See SearchPlane: by a refresh, for a write alone is found only some time later."""
        answer = translated(lambda: self._indexer.indices.refresh(index=writing_pattern(), ignore_unavailable=True))
        if answer["_shards"]["failed"]:
            raise SearchUnavailable(NO_ANSWER)

    def expunge(self) -> None:
        """See SearchPlane: segments that hold removed documents are written anew.

        Old tombstones go too, where the checker that finds them is configured; a rebuild drops them all. The cluster
        keeps what was removed in the last half minute for its replicas: the next call removes that.
        """
        before = (datetime.now(UTC) - TOMBSTONE_LIFETIME).isoformat()
        with self._expunging:
            if is_configured(Identity.CHECKER):
                for shelf in SHELVES:
                    self._purge(shelf, before)
            client = self._indexer.options(request_timeout=EXPUNGE_SECONDS).indices
            # A flush ends the log of writes, which holds texts, too; before the merge it lets go of what was kept.
            translated(partial(client.flush, index=writing_pattern(), force=True))
            translated(partial(client.forcemerge, index=writing_pattern(), only_expunge_deletes=True))
            translated(partial(client.flush, index=writing_pattern(), force=True))

    def candidates(self, principal: Principal, request: CandidateRequest) -> Candidates:
        """See SearchPlane."""
        asked = legs(principal, request)
        answered = self._answers(principal, asked)
        return Candidates(_merged(asked, answered.answers), without_archive=answered.without_archive)

    def see(self, principal: Principal, kind: Kind, memory_id: UUID) -> Seen:
        """See SearchPlane."""
        asked = legs_to_one(principal, kind, memory_id)
        answered = self._answers(principal, asked)
        for leg, answer in zip(asked, answered.answers, strict=True):
            for hit in answer.get("hits", {}).get("hits", ()):
                found = hit["_source"]
                status, task = Status(found["status"]), found.get("task", "")
                return Seen(SeenDocument(hit["_version"], status, task, found["text"], archived=leg.shelf == ARCHIVE))
        return Seen(None, without_archive=answered.without_archive)

    def rebuild(self, owner: Owner, documents: Iterable[SearchDocument]) -> int:
        """See SearchPlane. What the indices hold in a version above the database's stays: see `rebuild_all`."""
        wanted = list(documents)
        kept = {document.id for document in wanted}
        self.settle()
        gone = [state for state in reading.stored(self._checker, owner) if state.id not in kept]
        write(self._indexer, changes(wanted))
        self.delete(owner, [Tombstone(state.kind, state.id, state.version + 1) for state in gone])
        self.settle()
        return len(wanted)

    def rebuild_all(self, owners: Iterable[Owner], documents: Callable[[Owner], Iterable[SearchDocument]]) -> int:
        """See SearchPlane: into new indices, which take over when they are complete.

        Changes reach the old and the new index from the moment the new one exists. A row that changes after it was
        read here is in the outbox then, and its later version wins whichever comes first. A document that the cluster
        does not take is left out and named in the log; comparing names it, too.
        """
        manager = translated(partial(service_client, Identity.MANAGER))
        translated(lambda: indices.install(manager))
        made = {shelf: translated(partial(indices.new_index, manager, shelf)) for shelf in SHELVES}
        try:
            count = sum(self._fill(made, documents(owner)) for owner in owners)
            self.settle()
            before = [
                name
                for shelf, index in made.items()
                for name in translated(partial(indices.point, manager, shelf, index))
            ]
        except BaseException:
            with suppress(SearchUnavailable):  # then the next rebuild removes them
                translated(lambda: indices.drop(manager, made.values()))
            raise
        if before:
            time.sleep(GRACE_SECONDS)
            translated(partial(indices.drop, manager, before))
        return count

    def erase_owner(self, owner: Owner) -> None:
        """See SearchPlane."""
        self.rebuild(owner, ())

    def stored(self, owner: Owner) -> Iterator[StoredState]:
        """See SearchPlane."""
        return reading.stored(self._checker, owner)

    def owners(self) -> Iterator[Owner]:
        """See SearchPlane."""
        yield from set(reading.owners(self._checker))

    def health(self) -> Health:
        """See SearchPlane."""
        if self._calls.circuit.open:
            return Health(self.name, ok=False, detail=NO_ANSWER)
        if not self._licensed:
            return Health(self.name, ok=False, detail=NO_LICENCE)
        client = self._indexer.options(request_timeout=HEALTH_SECONDS)
        try:
            found = translated(lambda: indices.targets(client, SHELVES))
            encoders = translated(lambda: indices.encoders(client))
        except MemoriesError as error:
            return Health(self.name, ok=False, detail=str(error))
        if missing := [shelf for shelf, names in found.items() if not names]:
            mending = SET_UP if missing == [ARCHIVE] else REBUILD
            return Health(self.name, ok=False, detail=f"No index for {', '.join(missing)}. {mending}")
        if encoders != {encoder_name()}:
            return Health(self.name, ok=False, detail=f"The indices hold vectors of another encoder. {REBUILD}")
        return Health(self.name, ok=True)

    def close(self) -> None:
        """See SearchPlane: the connections are the process's (memoryhub.elasticsearch)."""

    @property
    def _indexer(self) -> Elasticsearch:
        return translated(partial(service_client, Identity.INDEXER))

    @property
    def _checker(self) -> Elasticsearch:
        return translated(partial(service_client, Identity.CHECKER))

    def _key(self, principal: Principal) -> SearchKey:
        """The principal's key. Raises SearchForbidden, and leaves a mark of it in the audit trail."""
        try:
            return self._key_of(principal)
        except NoSearchKey as error:
            record_refusal(principal, reason=error.state)
            raise SearchForbidden(str(error)) from error

    def _answers(self, principal: Principal, asked: Sequence[Leg]) -> _Answered:
        """What the cluster answers the principal's own key. Raises SearchForbidden, SearchUnavailable."""
        key = self._key(principal)
        if not asked:
            return _Answered([])
        try:
            answered = self._ask(key, asked)
        except SearchForbidden:
            # The key may just have been replaced, and the old one ended while this request held it.
            newer = self._key(principal)
            if newer.key_id == key.key_id:
                record_refusal(principal, reason="refused by the cluster")
                raise
            answered = self._ask(newer, asked)
        if answered.archive_refused:
            # A key from before there was an archive opens the rest: `keys verify --repair` replaces it.
            record_refusal(principal, reason="refused the archive by the cluster")
        return answered

    def _ask(self, key: SearchKey, asked: Sequence[Leg]) -> _Answered:
        try:
            answered = self._calls.make(lambda: _answered(key_client(key.encoded), asked))
        except Unlicensed:
            self._licensed = False  # the indexer may not ask for the licence: searches tell, until one is answered
            raise
        self._licensed = True
        return answered

    def _fill(self, made: dict[str, str], documents: Iterable[SearchDocument]) -> int:
        wanted = changes(documents)
        targets = {shelf: [index] for shelf, index in made.items()}
        arriving, leaving = actions(wanted.arrivals, targets), actions(wanted.departures, targets)
        count = translated(lambda: send(self._indexer, arriving, may_leave_out=MOST_LEFT_OUT))
        translated(lambda: send(self._indexer, leaving))
        return count

    def _purge(self, shelf: str, before: str) -> None:
        while old := reading.removed_before(self._checker, shelf, before):
            behind = translated(lambda: indices.targets(self._indexer, [shelf]))[shelf]
            doomed = [
                {"_op_type": "delete", "_index": index, "_id": id_, "version": version, "version_type": "external_gte"}
                for id_, version in old
                for index in behind
            ]
            translated(partial(send, self._indexer, doomed))
            self.settle()


def _answered(client: Elasticsearch, asked: Sequence[Leg]) -> _Answered:
    """The answers to all legs; one that failed fails them all, for half a recall must not look like a whole one.

    But for the archive: that it is not there yet, or closed to a key from before, is told to the caller.
    """
    searches = [line for leg in asked for line in (leg.header, leg.body)]
    said = client.msearch(searches=searches, filter_path=_ANSWER).body
    answers: list[dict[str, Any]] = said.get("responses", []) if isinstance(said, dict) else []
    if len(answers) != len(asked):
        raise SearchUnavailable(NO_ANSWER)  # whoever said that, a proxy perhaps, it was not the cluster
    without: set[int] = set()
    for leg, answer in zip(asked, answers, strict=True):
        status = int(answer["status"])
        if status == FORBIDDEN and "license" in str(answer.get("error")):
            raise Unlicensed(NO_LICENCE)
        if leg.shelf == ARCHIVE and status in (FORBIDDEN, MISSING):
            without.add(status)
        elif status != _OK:
            raise of_status(status)
    return _Answered(answers, bool(without), FORBIDDEN in without)


def _merged(asked: Sequence[Leg], answers: Sequence[dict[str, Any]]) -> tuple[Candidate, ...]:
    """One candidate for each memory, with what each leg said of it."""
    words: dict[tuple[Kind, str], float] = {}
    meaning: dict[tuple[Kind, str], float] = {}
    for leg, answer in zip(asked, answers, strict=True):
        found = words if leg.by is By.WORDS else meaning
        for hit in answer.get("hits", {}).get("hits", ()):
            found[leg.kind, hit["_id"]] = hit["_score"]
    return tuple(
        Candidate(UUID(id_), kind, words.get((kind, id_)), _cosine(meaning.get((kind, id_))))
        for kind, id_ in words.keys() | meaning.keys()
    )


def _cosine(score: float | None) -> float | None:
    """The cosine behind the cluster's score, which is (1 + cosine) / 2."""
    return None if score is None else 2.0 * score - 1.0

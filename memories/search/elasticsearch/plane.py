"""The Elasticsearch plane: searches with the member's own key in one `_msearch`, versioned writes by the indexer.

The cluster isolates owners: a member's key can read only the documents that its role query matches. No search falls
back to another credential. Writes name existing indices, so none is created by accident. The cluster rejects a lower or
equal version, which counts as success. Errors never contain a document's content.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from elasticsearch import Elasticsearch
from elasticsearch.helpers import streaming_bulk

from memories.embedding import embedding_endpoint, encoder_name
from memories.errors import MemoriesError, SearchForbidden, SearchUnavailable
from memories.search.base import Health, IndexLookup, SeenDocument, StoredState, Tombstone
from memories.search.elasticsearch import indices
from memories.search.elasticsearch.indices import stamps_of, targets
from memories.search.elasticsearch.mappings import actions, stamp
from memories.search.elasticsearch.queries import (
    ARCHIVE,
    INDEX_NAMES,
    By,
    ElasticInference,
    SubQuery,
    elastic_inference,
    index_name_of,
    index_names_of,
    leaving,
    sub_queries,
    sub_queries_for_one,
)
from memories.search.elasticsearch.transport import (
    CONFLICT,
    FORBIDDEN,
    MISSING,
    NO_ANSWER,
    NO_INDEX,
    NO_LICENCE,
    Calls,
    Unlicensed,
    cluster_errors,
    of_status,
)
from memories.types import Candidate, CandidateRequest, Candidates, Kind, Owner, SearchDocument, Status
from memoryhub.elasticsearch import Identity, is_configured, key_client, service_client, writing_pattern
from memoryhub.installation import PROGRAM
from tenants.errors import NoSearchKey
from tenants.principal import Principal
from tenants.search_keys import SearchKey, record_refusal, search_key

log = logging.getLogger(__name__)

CHUNK = 500
CHUNK_BYTES = 20 * 2**20
_REFUSED = 400


class DocumentRefused(Exception):
    """The cluster permanently refuses this document because of a bug of ours."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Documents to write, then tombstones to write, each with its logical index."""

    arrivals: list[tuple[str, SearchDocument]] = field(default_factory=list)
    departures: list[tuple[str, Tombstone]] = field(default_factory=list)


def changes(documents: Iterable[SearchDocument]) -> Changes:
    """Convert documents to changes.

    Each removes the memory from the index it may have left; an evicted one from all.
    """
    wanted = Changes()
    for item in documents:
        if item.status is Status.EVICTED:
            wanted.departures.extend(removals([Tombstone(item.kind, item.id, item.version)]).departures)
        else:
            wanted.arrivals.append((index_name_of(item), item))
            wanted.departures.extend(leaving(item))
    return wanted


def removals(tombstones: Iterable[Tombstone]) -> Changes:
    """Convert tombstones to changes of every index that may contain the memory."""
    return Changes(departures=[(index_name, item) for item in tombstones for index_name in index_names_of(item.kind)])


def write(client: Elasticsearch, wanted: Changes) -> None:
    """Write changes to every index behind their writing aliases.

    A memory is removed from its old index only after it was written to the new one. Raises SearchUnavailable or
    DocumentRefused.
    """
    index_names = sorted({index_name for index_name, _ in (*wanted.arrivals, *wanted.departures)})
    if not index_names:
        return
    with cluster_errors():
        indices = targets(client, index_names)
        if not all(indices.values()):
            raise SearchUnavailable(NO_INDEX)
        made_with = stamps_of(client, {index for some in indices.values() for index in some})
        others = {index for index, made in made_with.items() if made.get("encoder") != encoder_name()}
        for step in (wanted.arrivals, wanted.departures):
            if step:
                send(client, actions(step, indices, without_vector=others))


def send(client: Elasticsearch, prepared: Iterable[dict[str, Any]], *, may_leave_out: int = 0) -> int:
    """Send prepared actions; return the number that succeeded.

    Up to `may_leave_out` documents that the cluster refuses are logged and skipped. Raises SearchUnavailable,
    DocumentRefused or ApiError.
    """
    count = left_out = 0
    for _, item in streaming_bulk(
        client,
        prepared,
        chunk_size=CHUNK,
        max_chunk_bytes=CHUNK_BYTES,
        raise_on_error=False,
        raise_on_exception=True,
        max_retries=0,
    ):
        (result,) = item.values()
        try:
            _expect_done(int(result["status"]), result.get("error"))
        except DocumentRefused as error:
            left_out += 1
            if left_out > may_leave_out:
                raise
            log.warning("%s It is left out: %s in %s.", error, result["_id"], result["_index"])
            continue
        count += 1
    return count


def _expect_done(status: int, error: Any) -> None:
    if status < _REFUSED or status == CONFLICT:
        return
    if status == MISSING:
        raise SearchUnavailable(NO_INDEX)
    if status == _REFUSED:
        kind = error.get("type", "unknown") if isinstance(error, dict) else "unknown"
        raise DocumentRefused(f"The search cluster does not take a document: {kind}.")
    raise SearchUnavailable(NO_ANSWER)


# After this time no delivery that predates a removal can still be in progress.
TOMBSTONE_LIFETIME = timedelta(days=7)
# Searches already running on a replaced index finish within this time.
GRACE_SECONDS = 3.0
HEALTH_SECONDS = 1.0
# A process notices new indices that were made with another model within this time.
STAMP_SECONDS = 5.0
# A cluster that has just started may need as long for its first searches (measured on a busy machine, docs/scale.md).
PROBE_SECONDS = 10.0
# A rebuild tolerates a few damaged rows; more of them indicate another fault.
MOST_LEFT_OUT = 20
EXPUNGE_SECONDS = 3600.0
REBUILD = f"Run `{PROGRAM} index rebuild`."
# Creates a missing archive without refilling the other indices.
SET_UP = f"Run `{PROGRAM} elasticsearch setup`."
_OK = 200
_ANSWER = "responses.status,responses.error.reason," + ",".join(
    f"responses.hits.hits.{name}" for name in ("_id", "_score", "_version", "_source")
)


@dataclass(frozen=True, slots=True)
class _Answers:
    """Responses to all sub-queries; those on the archive are empty if the cluster did not search it."""

    answers: list[dict[str, Any]]
    without_archive: bool = False
    archive_refused: bool = False


class ElasticsearchPlane:
    """The SearchPlane of the cluster in the settings. Thread-safe."""

    name = "elasticsearch"
    joint = True

    def __init__(self, key_of: Callable[[Principal], SearchKey] = search_key) -> None:
        self._key_of = key_of
        self._calls = Calls()
        self._expunging = threading.Lock()
        self._licensed = True
        # What the indices were made with, and until when that is known.
        self._stamps: tuple[float, Sequence[Mapping[str, Any]]] | None = None

    def upsert(self, documents: Sequence[SearchDocument]) -> None:
        write(_client(Identity.INDEXER), changes(documents))

    def delete(self, owner: Owner, tombstones: Sequence[Tombstone]) -> None:  # noqa: ARG002 - the ids suffice
        write(_client(Identity.INDEXER), removals(tombstones))

    def settle(self) -> None:
        """Refresh the indices, because Elasticsearch finds a write only after a refresh."""
        with cluster_errors():
            answer = _client(Identity.INDEXER).indices.refresh(index=writing_pattern(), ignore_unavailable=True)
        if answer["_shards"]["failed"]:
            raise SearchUnavailable(NO_ANSWER)

    def expunge(self) -> None:
        """Rewrite the segments that contain removed documents.

        Old tombstones are deleted as well if a checker identity is configured to find them; a rebuild drops them all.
        The cluster retains removals of the last half minute for its replicas; the next call removes those.
        """
        before = (datetime.now(UTC) - TOMBSTONE_LIFETIME).isoformat()
        with self._expunging, cluster_errors():
            if is_configured(Identity.CHECKER):
                for index_name in INDEX_NAMES:
                    self._purge(index_name, before)
            client = _client(Identity.INDEXER).options(request_timeout=EXPUNGE_SECONDS).indices
            # The transaction log contains texts as well; a flush ends it and releases retained operations to the merge.
            client.flush(index=writing_pattern(), force=True)
            client.forcemerge(index=writing_pattern(), only_expunge_deletes=True)
            client.flush(index=writing_pattern(), force=True)

    def candidates(self, principal: Principal, request: CandidateRequest) -> Candidates:
        wanted = self._comparable(request)
        asked = sub_queries(principal, wanted, self._inference())
        answered = self._search(principal, asked)
        return Candidates(
            _merged(asked, answered.answers),
            without_archive=answered.without_archive,
            by_words_alone=wanted is not request,
        )

    def see(self, principal: Principal, kind: Kind, memory_id: UUID) -> IndexLookup:
        asked = sub_queries_for_one(principal, kind, memory_id)
        answered = self._search(principal, asked)
        for sub_query, answer in zip(asked, answered.answers, strict=True):
            for hit in answer.get("hits", {}).get("hits", ()):
                found = hit["_source"]
                status, task = Status(found["status"]), found.get("task", "")
                return IndexLookup(
                    SeenDocument(hit["_version"], status, task, found["text"], archived=sub_query.index_name == ARCHIVE)
                )
        return IndexLookup(None, without_archive=answered.without_archive)

    def rebuild(self, owner: Owner, documents: Iterable[SearchDocument]) -> int:
        """Keep documents whose version exceeds the database's; only `rebuild_all` drops them."""
        wanted = list(documents)
        kept = {document.id for document in wanted}
        self.settle()
        gone = [state for state in self.stored(owner) if state.id not in kept]
        self.upsert(wanted)
        self.delete(owner, [Tombstone(state.kind, state.id, state.version + 1) for state in gone])
        self.settle()
        return len(wanted)

    def rebuild_all(self, owners: Iterable[Owner], documents: Callable[[Owner], Iterable[SearchDocument]]) -> int:
        """Fill new indices and switch to them once they are complete.

        Changes are written to both the old and the new index from the moment the new one exists. A row that changes
        after the rebuild read it is in the outbox, and its later version wins in any order. A document that the cluster
        refuses is logged and skipped; `index check` reports it, too.
        """
        with cluster_errors():
            manager = _client(Identity.MANAGER)
            indices.install(manager)
            made = {index_name: indices.new_index(manager, index_name) for index_name in INDEX_NAMES}
            try:
                count = sum(_fill(made, documents(owner)) for owner in owners)
                self.settle()
                before = [
                    name for index_name, index in made.items() for name in indices.point(manager, index_name, index)
                ]
            except BaseException:
                with suppress(SearchUnavailable), cluster_errors():  # otherwise the next rebuild removes them
                    indices.drop(manager, made.values())
                raise
            if before:
                time.sleep(GRACE_SECONDS)
                indices.drop(manager, before)
        return count

    def erase_owner(self, owner: Owner) -> None:
        self.rebuild(owner, ())

    def stored(self, owner: Owner) -> Iterator[StoredState]:
        return indices.stored(_client(Identity.CHECKER), owner)

    def encoder_of(self, owner: Owner) -> str | None:  # noqa: ARG002 - all owners share the indices
        found = {str(made.get("encoder", "")) for made in self._made_with()}
        # While a rebuild fills new indices, members search the old ones.
        others = found - {encoder_name()}
        return min(others) if others else encoder_name() if found else None

    def owners(self) -> Iterator[Owner]:
        yield from set(indices.owners(_client(Identity.CHECKER)))

    def health(self) -> Health:
        problem = self._problem()
        return Health(self.name, ok=not problem, detail=problem)

    def close(self) -> None:
        """Do nothing: connections are shared by the process (memoryhub.elasticsearch)."""

    def _made_with(self) -> Sequence[Mapping[str, Any]]:
        """Return what the documents of the indices were made with, as of the last few seconds."""
        known = self._stamps
        if known is None or known[0] <= time.monotonic():
            with cluster_errors():
                client = _client(Identity.INDEXER).options(request_timeout=HEALTH_SECONDS)
                names = {index for some in targets(client, INDEX_NAMES).values() for index in some}
                known = time.monotonic() + STAMP_SECONDS, tuple(stamps_of(client, names).values())
            self._stamps = known
        return known[1]

    def _inference(self) -> ElasticInference | None:
        """Return the cluster's own models, once all indices were made with the one of embeddings."""
        wanted = elastic_inference()
        if wanted is None or any(made.get("inference") != wanted.embedding for made in self._made_with()):
            return None
        return wanted

    def _comparable(self, request: CandidateRequest) -> CandidateRequest:
        """Return the request, by words alone if the indices hold vectors of another encoder than its own."""
        if request.vector is None or request.encoder is None or embedding_endpoint() is None:
            return request
        made_with = self.encoder_of(Owner(None, None))
        return request if made_with in (None, request.encoder()) else replace(request, vector=None)

    def _problem(self) -> str:
        """Return why the plane cannot currently be read or written, or an empty string."""
        if self._calls.circuit.open:
            return NO_ANSWER
        if not self._licensed:
            return NO_LICENCE
        try:
            with cluster_errors():
                client = _client(Identity.INDEXER).options(request_timeout=HEALTH_SECONDS)
                found = indices.targets(client, INDEX_NAMES)
                stamps = indices.stamps(client)
        except MemoriesError as error:
            return str(error)
        if missing := [index_name for index_name, names in found.items() if not names]:
            return f"No index for {', '.join(missing)}. {SET_UP if missing == [ARCHIVE] else REBUILD}"
        made_alike = all(each == stamp() for each in stamps)
        return "" if made_alike else f"The indices were made by another version or encoder. {REBUILD}"

    def _key(self, principal: Principal) -> SearchKey:
        """Return the principal's key. Raises SearchForbidden after auditing the refusal."""
        try:
            return self._key_of(principal)
        except NoSearchKey as error:
            record_refusal(principal, reason=error.state)
            raise SearchForbidden(str(error)) from error

    def _search(self, principal: Principal, asked: Sequence[SubQuery]) -> _Answers:
        """Search with the principal's own key. Raises SearchForbidden or SearchUnavailable."""
        key = self._key(principal)
        if not asked:
            return _Answers([])
        try:
            answered = self._ask(key, asked)
        except SearchForbidden:
            # The key may have been rotated since it was read.
            newer = self._key(principal)
            if newer.key_id == key.key_id:
                record_refusal(principal, reason="refused by the cluster")
                raise
            answered = self._ask(newer, asked)
        if answered.archive_refused:
            # The key predates the archive but opens the other indices: `keys verify --repair` replaces it.
            record_refusal(principal, reason="refused the archive by the cluster")
        return answered

    def _ask(self, key: SearchKey, asked: Sequence[SubQuery]) -> _Answers:
        try:
            answered = self._calls.make(
                lambda: _answers(key_client(key.encoded), asked),
                patiently=lambda: _answers(key_client(key.encoded).options(request_timeout=PROBE_SECONDS), asked),
            )
        except Unlicensed:
            self._licensed = False  # the indexer may not read the licence, so searches report it until one succeeds
            raise
        self._licensed = True
        return answered

    def _purge(self, index_name: str, before: str) -> None:
        """Delete the tombstones older than `before` (ISO 8601) from a logical index."""
        while old := indices.removed_before(_client(Identity.CHECKER), index_name, before):
            client = _client(Identity.INDEXER)
            behind = indices.targets(client, [index_name])[index_name]
            doomed = [
                {"_op_type": "delete", "_index": index, "_id": id_, "version": version, "version_type": "external_gte"}
                for id_, version in old
                for index in behind
            ]
            send(client, doomed)
            self.settle()


def _client(identity: Identity) -> Elasticsearch:
    """Return the client of a service identity. Raises SearchUnavailable if it has no credential."""
    with cluster_errors():
        return service_client(identity)


def _fill(made: dict[str, str], documents: Iterable[SearchDocument]) -> int:
    client, wanted = _client(Identity.INDEXER), changes(documents)
    targets = {index_name: [index] for index_name, index in made.items()}
    count = send(client, actions(wanted.arrivals, targets), may_leave_out=MOST_LEFT_OUT)
    send(client, actions(wanted.departures, targets))
    return count


def _answers(client: Elasticsearch, asked: Sequence[SubQuery]) -> _Answers:
    """Send all sub-queries. If one fails, all fail, so that a partial recall is never returned as complete.

    An archive that is missing, or that the key cannot read, is reported to the caller instead.
    """
    searches = [line for sub_query in asked for line in (sub_query.header, sub_query.body)]
    said = client.msearch(searches=searches, filter_path=_ANSWER).body
    answers: list[dict[str, Any]] = said.get("responses", []) if isinstance(said, dict) else []
    if len(answers) != len(asked):
        raise SearchUnavailable(NO_ANSWER)  # a proxy may have responded instead of the cluster
    without: set[int] = set()
    for sub_query, answer in zip(asked, answers, strict=True):
        status = int(answer["status"])
        if status == FORBIDDEN and "license" in str(answer.get("error")):
            raise Unlicensed(NO_LICENCE)
        if sub_query.index_name == ARCHIVE and status in (FORBIDDEN, MISSING):
            without.add(status)
        elif status != _OK:
            raise of_status(status)
    return _Answers(answers, bool(without), FORBIDDEN in without)


def _merged(asked: Sequence[SubQuery], answers: Sequence[dict[str, Any]]) -> tuple[Candidate, ...]:
    """Merge the hits into one candidate per memory, with its lexical and dense scores."""
    found: dict[By, dict[tuple[Kind, str], float]] = {by: {} for by in By}
    for sub_query, answer in zip(asked, answers, strict=True):
        for hit in answer.get("hits", {}).get("hits", ()):
            found[sub_query.by][sub_query.kind, hit["_id"]] = hit["_score"]
    words, meaning, relevance = found[By.WORDS], found[By.MEANING], found[By.RELEVANCE]
    return tuple(
        Candidate(UUID(each[1]), each[0], words.get(each), _cosine(meaning.get(each)), _relevance(relevance.get(each)))
        for each in words.keys() | meaning.keys() | relevance.keys()
    )


def _relevance(score: float | None) -> float | None:
    """Convert a reranker's score, which the cluster raises by 1 to keep it positive, to 0 to 1."""
    return None if score is None else min(max(score - 1.0, 0.0), 1.0)


def _cosine(score: float | None) -> float | None:
    """Convert the cluster's score, (1 + cosine) / 2, to the cosine."""
    return None if score is None else 2.0 * score - 1.0

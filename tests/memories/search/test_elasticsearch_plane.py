"""The Elasticsearch plane on a real node: the contract of all planes, and what is true of a shared index alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone
from elastic_transport import ApiResponseMeta, HttpHeaders, NodeConfig, ObjectApiResponse, TextApiResponse
from elasticsearch import Elasticsearch
from pytest_django import Settings

from memories.errors import SearchForbidden, SearchUnavailable
from memories.search.base import SearchPlane, Tombstone
from memories.search.elasticsearch import indices
from memories.search.elasticsearch import plane as plane_module
from memories.search.elasticsearch.mappings import stamp
from memories.search.elasticsearch.plane import DocumentRefused, ElasticsearchPlane
from memories.types import Kind, Owner, SearchDocument
from memoryhub.elasticsearch import Identity, reading_alias, service_client
from tenants.models import AuditEvent
from tenants.principal import Principal
from tenants.search_keys import SearchKey, search_key, temporary_key
from tests.memories.search.contract import BRISTOL, PlaneContract
from tests.memories.search.library import document, ids, own, question, somebody
from tests.memories.search.seeing import SeeingContract

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("elasticsearch")]

META = ApiResponseMeta(200, "1.1", HttpHeaders(), 0.0, NodeConfig("http", "127.0.0.1", 9200))


class Keys:
    """A key for whoever asks, as a membership would have one."""

    def __init__(self) -> None:
        self.made: dict[Principal, SearchKey] = {}

    def __call__(self, principal: Principal) -> SearchKey:
        if principal not in self.made:
            self.made[principal] = temporary_key(principal.tenant_id, principal.user_id, lifetime=timedelta(minutes=10))
        return self.made[principal]


class SettlingPlane(ElasticsearchPlane):
    """Finds at once what was written, as the outbox has it before it forgets an entry."""

    def upsert(self, documents: Sequence[SearchDocument]) -> None:
        super().upsert(documents)
        self.settle()

    def delete(self, owner: Owner, tombstones: Sequence[Tombstone]) -> None:
        super().delete(owner, tombstones)
        self.settle()


class TestElasticsearchPlane(PlaneContract, SeeingContract):
    """The contract."""

    @pytest.fixture
    def plane(self) -> SearchPlane:
        return SettlingPlane(Keys())


@pytest.fixture
def plane() -> SettlingPlane:
    return SettlingPlane(Keys())


@pytest.fixture
def ada() -> Principal:
    return somebody()


@pytest.fixture(autouse=True)
def _without_a_grace(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only where somebody searches and writes meanwhile has a replaced index to stay for a while."""
    if "go_on" not in request.node.name:
        monkeypatch.setattr(plane_module, "GRACE_SECONDS", 0.0)


def as_stored(fact: SearchDocument) -> dict[str, Any]:
    """What the index holds of a fact, read by the administrator of the cluster."""
    root = service_client(Identity.SETUP)
    return dict(root.get(index=reading_alias(fact.kind), id=str(fact.id), version=fact.version)["_source"])


def test_a_tombstone_says_nothing_but_when(plane: SettlingPlane, ada: Principal) -> None:
    fact = document(own(ada), BRISTOL)
    plane.upsert([fact])
    plane.delete(own(ada), [Tombstone(fact.kind, fact.id, 2)])
    assert set(as_stored(replace(fact, version=2))) == {"gone_at"}


def test_only_old_tombstones_are_purged(plane: SettlingPlane, ada: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    old, young = document(own(ada), BRISTOL), document(own(ada), BRISTOL)
    long_ago = (timezone.now() - timedelta(days=8)).isoformat()
    with monkeypatch.context() as patch:
        patch.setattr("memories.search.elasticsearch.mappings.tombstone", lambda: {"gone_at": long_ago})
        plane.delete(own(ada), [Tombstone(old.kind, old.id, 2)])
    plane.delete(own(ada), [Tombstone(young.kind, young.id, 2)])
    plane.expunge()
    root = service_client(Identity.SETUP)
    held = [root.exists(index=reading_alias(each.kind), id=str(each.id)).body for each in (old, young)]
    assert held == [False, True]


def test_a_field_that_is_not_declared_is_refused(ada: Principal) -> None:
    (index,) = indices.targets(service_client(Identity.INDEXER), [Kind.SEMANTIC])[Kind.SEMANTIC]
    answer = service_client(Identity.INDEXER).bulk(
        operations=[{"index": {"_index": index, "_id": "1", "version": 1, "version_type": "external"}}, {"owner": "x"}]
    )
    assert answer["items"][0]["index"]["error"]["type"] == "strict_dynamic_mapping_exception"


def test_a_write_never_makes_an_index(plane: SettlingPlane, ada: Principal) -> None:
    manager = service_client(Identity.MANAGER)
    indices.drop(manager, indices.indices_of(manager, Kind.SEMANTIC))
    with pytest.raises(SearchUnavailable, match="index rebuild"):
        plane.upsert([document(own(ada), BRISTOL)])
    assert not indices.indices_of(manager, Kind.SEMANTIC)
    with pytest.raises(SearchUnavailable, match="index rebuild"):
        plane.candidates(ada, question(BRISTOL))
    assert "semantic" in plane.health().detail
    plane.rebuild_all([], lambda _owner: [])
    assert plane.health().ok


# Keys


def test_without_a_key_nothing_is_searched_and_it_is_noted(principal: Principal) -> None:
    principal_without = replace(principal, membership_id=uuid4())
    with pytest.raises(SearchForbidden):
        ElasticsearchPlane().candidates(principal_without, question(BRISTOL))


def test_without_a_key_nothing_is_seen(principal: Principal) -> None:
    with pytest.raises(SearchForbidden):
        ElasticsearchPlane().see(replace(principal, membership_id=uuid4()), Kind.SEMANTIC, uuid4())


def test_a_key_that_the_cluster_ended_is_refused_and_noted(principal: Principal) -> None:
    plane = ElasticsearchPlane()
    assert plane.candidates(principal, question(BRISTOL)).hits == ()
    with pytest.raises(SearchForbidden):
        search_until_refused(plane, principal, key_id=search_key(principal).key_id)
    assert AuditEvent.objects.filter(action="search.refused", owner_id=principal.user_id).count() == 1


def search_until_refused(plane: ElasticsearchPlane, principal: Principal, *, key_id: str) -> None:
    """The cluster takes about a second to know a new key by its id, and another to forget it."""
    give_up = datetime.now(UTC) + timedelta(seconds=10)
    while datetime.now(UTC) < give_up:
        service_client(Identity.SETUP).security.invalidate_api_key(ids=[key_id])
        plane.candidates(principal, question(BRISTOL))


def test_a_key_that_was_just_replaced_is_fetched_again(ada: Principal) -> None:
    ended, good = SearchKey("old", "bm90OmFueSBrZXk="), Keys()(ada)
    handed_out: Iterator[SearchKey] = iter([ended, good])
    plane = ElasticsearchPlane(lambda _principal: next(handed_out))
    assert plane.candidates(ada, question(BRISTOL)).hits == ()


# Rebuilding


@pytest.mark.long
def test_a_rebuild_takes_over_while_reads_and_writes_go_on(plane: SettlingPlane, ada: Principal) -> None:
    kept = [document(own(ada), f"{BRISTOL} {number}") for number in range(50)]
    plane.upsert([*kept, document(own(ada), "To be gone")])
    before = set(indices.indices_of(service_client(Identity.MANAGER), Kind.SEMANTIC))
    written: list[SearchDocument] = []
    searched: list[int] = []
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            written.append(document(own(ada), f"Written meanwhile {len(written)}"))
            plane.upsert(written[-1:])

    def search() -> None:
        while not stop.is_set():
            searched.append(len(plane.candidates(ada, question("harbour", meaning=False, per_sub_query=100)).hits))

    threads = [threading.Thread(target=work) for work in (write, search)]
    for thread in threads:
        thread.start()
    for _ in range(2):
        # What is written meanwhile is newer than what the rebuild reads, so it comes by itself.
        assert plane.rebuild_all([own(ada)], lambda _owner: kept) == 50
    stop.set()
    for thread in threads:
        thread.join()
    plane.rebuild_all([own(ada)], lambda _owner: [*kept, *written])
    assert {state.id for state in plane.stored(own(ada))} == {each.id for each in (*kept, *written)}
    assert searched and set(searched) == {50}
    assert not before & set(indices.indices_of(service_client(Identity.MANAGER), Kind.SEMANTIC))


def test_a_write_during_a_rebuild_is_in_the_new_index(plane: SettlingPlane, ada: Principal) -> None:
    old, new = document(own(ada), BRISTOL), document(own(ada), "Lives in Edinburgh", version=2)
    new = replace(new, id=old.id)

    def documents(_owner: Owner) -> Iterator[SearchDocument]:
        yield old
        plane.upsert([new])  # overtakes what was just read

    plane.rebuild_all([own(ada)], documents)
    assert [(state.id, state.version) for state in plane.stored(own(ada))] == [(new.id, 2)]
    assert not plane.candidates(ada, question("harbour", meaning=False)).hits


def test_a_rebuild_that_fails_leaves_no_index_behind(plane: SettlingPlane, ada: Principal) -> None:
    fact = document(own(ada), BRISTOL)
    plane.upsert([fact])
    manager = service_client(Identity.MANAGER)
    before = indices.indices_of(manager, Kind.SEMANTIC)

    def breaking(_owner: Owner) -> Iterator[SearchDocument]:
        yield document(own(ada), "Half of it")
        raise RuntimeError("the database went away")

    with pytest.raises(RuntimeError):
        plane.rebuild_all([own(ada)], breaking)
    assert indices.indices_of(manager, Kind.SEMANTIC) == before
    assert ids(plane.candidates(ada, question(BRISTOL)).hits) == {fact.id}


def test_an_index_that_takes_over_is_written_to_whoever_took_over_meanwhile() -> None:
    manager = service_client(Identity.MANAGER)
    first, second = (indices.new_index(manager, Kind.SEMANTIC) for _ in range(2))
    indices.point(manager, Kind.SEMANTIC, first)
    indices.point(manager, Kind.SEMANTIC, second)
    assert indices.targets(manager, [Kind.SEMANTIC]) == {Kind.SEMANTIC: [second]}


def test_a_damaged_row_stops_no_rebuild(plane: SettlingPlane, ada: Principal, caplog: pytest.LogCaptureFixture) -> None:
    good, damaged = document(own(ada), BRISTOL), document(own(ada), BRISTOL)
    damaged = replace(damaged, vector=bytes(len(damaged.vector)))
    assert plane.rebuild_all([own(ada)], lambda _owner: [damaged, good]) == 1
    assert ids(plane.candidates(ada, question(BRISTOL)).hits) == {good.id}
    assert str(damaged.id) in caplog.text and BRISTOL not in caplog.text


def test_an_index_that_takes_hardly_anything_does_not_take_over(plane: SettlingPlane, ada: Principal) -> None:
    fact = document(own(ada), BRISTOL)
    plane.upsert([fact])
    damaged = [replace(document(own(ada), BRISTOL), vector=bytes(len(fact.vector))) for _ in range(21)]
    with pytest.raises(DocumentRefused):
        plane.rebuild_all([own(ada)], lambda _owner: damaged)
    assert ids(plane.candidates(ada, question(BRISTOL)).hits) == {fact.id}


# Outages


def test_half_an_answer_is_none(plane: SettlingPlane, ada: Principal) -> None:
    plane.upsert([document(own(ada), BRISTOL)])
    root, broken = service_client(Identity.SETUP), f"{reading_alias(Kind.SEMANTIC)}-broken"
    nowhere = {"index.routing.allocation.require._name": "nowhere"}
    aliases: dict[str, dict[str, Any]] = {reading_alias(Kind.SEMANTIC): {}}
    root.indices.create(index=broken, settings=nowhere, aliases=aliases, wait_for_active_shards=0)
    try:
        assert root.search(index=reading_alias(Kind.SEMANTIC))["_shards"]["failed"] == 1
        with pytest.raises(SearchUnavailable):
            plane.candidates(ada, question(BRISTOL))
        with pytest.raises(SearchUnavailable):
            list(plane.stored(own(ada)))
        with pytest.raises(SearchUnavailable):
            list(plane.owners())
    finally:
        root.indices.delete(index=broken)


@pytest.mark.parametrize("said", [TextApiResponse("Back soon", META), ObjectApiResponse({}, META)], ids=["page", "{}"])
def test_a_proxy_that_answers_for_the_cluster_is_an_outage(
    said: object, plane: SettlingPlane, ada: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Elasticsearch, "msearch", lambda *_arguments, **_options: said)
    with pytest.raises(SearchUnavailable):
        plane.candidates(ada, question(BRISTOL))


def test_a_licence_that_lapsed_is_told_until_a_search_is_answered(
    plane: SettlingPlane, ada: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No node can be downgraded for a test, so only what it says then is made up."""
    reason = "current license is non-compliant for [field and document level security]"
    asked = {"status": 403, "error": {"reason": reason}}
    with monkeypatch.context() as patch:
        patch.setattr(
            Elasticsearch,
            "msearch",
            lambda *_, searches, **__: ObjectApiResponse({"responses": [asked] * (len(searches) // 2)}, META),
        )
        with pytest.raises(SearchForbidden):
            plane.candidates(ada, question(BRISTOL))
    assert not plane.health().ok
    plane.candidates(ada, question(BRISTOL))
    assert plane.health().ok


def test_an_installation_whose_name_begins_as_ours_is_left_alone(plane: SettlingPlane, ada: Principal) -> None:
    plane.upsert([document(own(ada), BRISTOL)])
    root = service_client(Identity.SETUP)
    theirs = f"{reading_alias(Kind.SEMANTIC).removesuffix('semantic')}two-semantic"
    nowhere = {"index.routing.allocation.require._name": "nowhere"}
    aliases: dict[str, dict[str, Any]] = {f"{theirs}-writing": {}}
    root.indices.create(index=f"{theirs}-1", settings=nowhere, aliases=aliases, wait_for_active_shards=0)
    try:
        plane.settle()
        assert plane.health().ok
        assert all(each == stamp() for each in indices.stamps(root))
    finally:
        root.indices.delete(index=f"{theirs}-1")


def test_a_cluster_that_is_away_says_so_and_is_left_alone(ada: Principal, settings: Settings) -> None:
    plane, key = ElasticsearchPlane(Keys()), Keys()(ada)
    plane._key_of = lambda _principal: key
    settings.ELASTICSEARCH_URLS = ("http://127.0.0.1:1",)
    for _ in range(6):
        with pytest.raises(SearchUnavailable):
            plane.candidates(ada, question(BRISTOL))
    assert plane._calls.circuit.open
    assert not plane.health().ok
    with pytest.raises(SearchUnavailable):
        plane.upsert([document(own(ada), BRISTOL)])


@pytest.mark.parametrize("credential", ["", "nobody:with-a-wrong-password"], ids=["missing", "refused"])
def test_a_service_identity_that_cannot_work_is_an_outage(credential: str, ada: Principal, settings: Settings) -> None:
    names = (Identity.INDEXER.value, Identity.CHECKER.value)
    settings.ELASTICSEARCH_CREDENTIALS = {**settings.ELASTICSEARCH_CREDENTIALS, **dict.fromkeys(names, credential)}
    plane = ElasticsearchPlane(Keys())
    for call in (
        lambda: plane.upsert([document(own(ada), BRISTOL)]),
        lambda: list(plane.stored(own(ada))),
        plane.settle,
    ):
        with pytest.raises(SearchUnavailable) as caught:
            call()
        assert "wrong-password" not in str(caught.value)
    assert plane.candidates(ada, question(BRISTOL)).hits == ()

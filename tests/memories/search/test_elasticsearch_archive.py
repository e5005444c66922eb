"""The archive at a real cluster: what moves into it and out of it, which keys open it, and a cluster without one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from elasticsearch import Elasticsearch

from memories.errors import SearchForbidden, SearchUnavailable
from memories.models import Fact
from memories.search.base import Tombstone
from memories.search.elasticsearch import indices
from memories.search.elasticsearch import plane as plane_module
from memories.search.elasticsearch.queries import ARCHIVE, INDEX_NAMES
from memories.services.facts.remember import remember_fact
from memories.types import Kind, Owner, SearchDocument, Status
from memoryhub.elasticsearch import Identity, key_client, reading_alias, reading_aliases, service_client
from tenants.models import AuditEvent
from tenants.principal import Principal
from tenants.search_keys import SearchKey
from tenants.search_keys.cluster import member_descriptors
from tests.memories.search.contract import BRISTOL
from tests.memories.search.library import document, ids, own, question, somebody
from tests.memories.search.test_elasticsearch_plane import Keys, SettlingPlane

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("elasticsearch")]

PAST = question(BRISTOL, include_superseded=True)


@pytest.fixture
def plane(monkeypatch: pytest.MonkeyPatch) -> SettlingPlane:
    monkeypatch.setattr(plane_module, "GRACE_SECONDS", 0.0)
    return SettlingPlane(Keys())


@pytest.fixture
def ada() -> Principal:
    return somebody()


def archived(who: Principal, **changes: object) -> SearchDocument:
    """A fact of theirs that belongs into the archive."""
    usual: dict[str, object] = {"status": Status.SUPERSEDED, "version": 3, "archived": True}
    return document(own(who), BRISTOL, **usual | changes)


def on(index_name: str, id_: object) -> dict[str, Any]:
    """What an index holds of a memory, read by the administrator of the cluster; empty if nothing."""
    answer = service_client(Identity.SETUP).options(ignore_status=404).get(index=reading_alias(index_name), id=str(id_))
    return dict(answer.get("_source", {}))


def old_key(who: Principal) -> SearchKey:
    """A key as members had one before there was an archive."""
    before = [alias for alias in reading_aliases() if alias != reading_alias(ARCHIVE)]
    described = member_descriptors(before, tenant_id=who.tenant_id, user_id=who.user_id)
    minter = service_client(Identity.MINTER)
    made = minter.security.create_api_key(name="old", role_descriptors=described, expiration="5m", refresh=False)
    return SearchKey(made["id"], made["encoded"])


# Moving


def test_what_moved_leaves_nothing_but_its_version_behind(plane: SettlingPlane, ada: Principal) -> None:
    fact = document(own(ada), BRISTOL, status=Status.SUPERSEDED, version=2)
    plane.upsert([fact])
    plane.upsert([replace(fact, version=3, archived=True)])
    assert set(on(Kind.SEMANTIC, fact.id)) == {"gone_at"}
    plane.upsert([replace(fact, version=4)])
    assert set(on(ARCHIVE, fact.id)) == {"gone_at"} and on(Kind.SEMANTIC, fact.id)["text"] == BRISTOL


def test_a_move_that_breaks_off_loses_nothing_and_is_finished_by_the_next_try(
    plane: SettlingPlane, ada: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    fact = document(own(ada), BRISTOL, status=Status.SUPERSEDED, version=2)
    moved = replace(fact, version=3, archived=True)
    plane.upsert([fact])
    send = plane_module.send

    def breaking(client: Elasticsearch, prepared: Iterable[dict[str, Any]], **options: Any) -> int:
        actions = list(prepared)
        if any("gone_at" in action["_source"] for action in actions):
            raise SearchUnavailable("The cluster went away.")
        return send(client, actions, **options)

    with monkeypatch.context() as patch:
        patch.setattr(plane_module, "send", breaking)
        with pytest.raises(SearchUnavailable):
            plane.upsert([moved])
    plane.settle()
    assert [hit.id for hit in plane.candidates(ada, PAST).hits] == [fact.id]
    assert len(list(plane.stored(own(ada)))) == 2
    plane.upsert([moved])
    assert [(state.version, state.archived) for state in plane.stored(own(ada))] == [(3, True)]


def test_old_marks_are_purged_from_the_archive_as_well(
    plane: SettlingPlane, ada: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    fact = archived(ada)
    long_ago = (timezone.now() - timedelta(days=8)).isoformat()
    with monkeypatch.context() as patch:
        patch.setattr("memories.search.elasticsearch.mappings.tombstone", lambda: {"gone_at": long_ago})
        plane.delete(own(ada), [Tombstone(fact.kind, fact.id, 4)])
    assert on(ARCHIVE, fact.id)
    plane.expunge()
    assert (on(ARCHIVE, fact.id), on(Kind.SEMANTIC, fact.id)) == ({}, {})


@pytest.mark.parametrize("archived_first", [False, True], ids=["into the archive", "out of it"])
def test_new_indices_hold_a_move_during_a_rebuild(plane: SettlingPlane, ada: Principal, archived_first: bool) -> None:
    read = document(own(ada), BRISTOL, status=Status.SUPERSEDED, version=3, archived=archived_first)
    moved = replace(read, version=4, archived=not archived_first)

    def documents(_owner: Owner) -> Iterator[SearchDocument]:
        yield read
        plane.upsert([moved])  # overtakes what was just read

    plane.rebuild_all([own(ada)], documents)
    assert [(state.version, state.archived) for state in plane.stored(own(ada))] == [(4, not archived_first)]
    assert [hit.id for hit in plane.candidates(ada, PAST).hits] == [read.id]


# Keys


def test_a_key_opens_of_the_archive_what_its_member_may_see(plane: SettlingPlane, ada: Principal) -> None:
    bob = somebody(ada.tenant_id)
    mine, theirs = archived(ada), archived(bob)
    plane.upsert([mine, theirs])
    client = key_client(Keys()(ada).encoded)
    queries: list[dict[str, Any]] = [
        {"match_all": {}},
        {"match": {"text": "harbour"}},
        {"bool": {"should": [{"match_all": {}}, {"term": {"user": str(bob.user_id)}}]}},
    ]
    for query in queries:
        hits = client.search(index=reading_alias(ARCHIVE), query=query)["hits"]["hits"]
        assert [hit["_id"] for hit in hits] == [str(mine.id)]
    aimed = client.search(index=reading_alias(ARCHIVE), query={"ids": {"values": [str(theirs.id)]}})
    assert aimed["hits"]["total"]["value"] == 0


def test_a_key_opens_the_archive_by_its_alias_alone_and_to_searches_alone(plane: SettlingPlane, ada: Principal) -> None:
    mine = archived(ada)
    plane.upsert([mine])
    client = key_client(Keys()(ada).encoded).options(ignore_status=403)
    (index,) = indices.indices_of(service_client(Identity.MANAGER), ARCHIVE)
    for name in (index, f"{reading_alias(ARCHIVE)}-writing"):
        assert client.search(index=name).meta.status == 403
    alias = reading_alias(ARCHIVE)
    assert client.get(index=alias, id=str(mine.id)).meta.status == 403
    assert client.index(index=alias, id=str(mine.id), document={"text": "x"}).meta.status == 403
    assert client.delete(index=alias, id=str(mine.id)).meta.status == 403


def test_a_key_from_before_finds_the_rest_and_misses_the_archive(plane: SettlingPlane, principal: Principal) -> None:
    current = document(own(principal), BRISTOL, status=Status.SUPERSEDED)
    plane.upsert([current, archived(principal)])
    before = old_key(principal)
    plane._key_of = lambda _principal: before
    assert not plane.candidates(principal, question(BRISTOL)).without_archive
    answer = plane.candidates(principal, PAST)
    assert (ids(answer.hits), answer.without_archive) == ({current.id}, True)
    (event,) = AuditEvent.objects.filter(action="search.refused", owner_id=principal.user_id)
    assert "archive" in event.payload.data["reason"]


def test_a_key_that_opens_nothing_is_refused_for_the_past_as_well(plane: SettlingPlane, ada: Principal) -> None:
    plane._key_of = lambda _principal: SearchKey("ended", "bm90OmFueSBrZXk=")
    with pytest.raises(SearchForbidden):
        plane.candidates(ada, PAST)


# A cluster from before there was an archive


def without_an_archive() -> Elasticsearch:
    """The manager of a cluster that nobody has set up again since."""
    manager = service_client(Identity.MANAGER)
    indices.drop(manager, indices.indices_of(manager, ARCHIVE))
    return manager


def test_without_an_archive_the_rest_is_searched_and_the_plane_says_so(plane: SettlingPlane, ada: Principal) -> None:
    current = document(own(ada), BRISTOL)
    plane.upsert([current])
    without_an_archive()
    answer = plane.candidates(ada, PAST)
    assert (ids(answer.hits), answer.without_archive) == ({current.id}, True)
    assert plane.health().detail == "No index for archive. Run `manage.py elasticsearch setup`."
    with pytest.raises(SearchUnavailable, match="index rebuild"):
        plane.upsert([archived(ada)])
    plane.upsert([document(own(ada), BRISTOL)])


@pytest.mark.parametrize("archived", [False, True], ids=["nothing to fill", "something to fill"])
def test_setting_up_again_opens_no_archive_that_has_to_be_filled_first(principal: Principal, archived: bool) -> None:
    remember_fact(principal, text="Lives in Bristol")
    now = timezone.now()
    if archived:
        Fact.objects.update(status=Status.SUPERSEDED, superseded_at=now, archived_at=now)
    manager = without_an_archive()
    (made,) = indices.create_missing(manager)
    assert made.startswith(reading_alias(ARCHIVE)) and indices.targets(manager, INDEX_NAMES)[ARCHIVE] == [made]
    assert indices.unfilled(manager) == ([ARCHIVE] if archived else [])

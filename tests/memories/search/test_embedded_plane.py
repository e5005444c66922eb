"""The embedded plane: the contract of all planes, and what is true of files alone."""

from __future__ import annotations

import gc
import os
import shutil
import sqlite3
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from memories.errors import SearchUnavailable
from memories.search.base import IndexLookup, PartMissing, SearchPlane, Tombstone
from memories.search.embedded import part
from memories.search.embedded.part import owners_in, path_of
from memories.search.embedded.plane import EmbeddedPlane
from memories.types import Kind, Owner, Status, TurnDocument
from tenants.principal import Principal
from tests.memories.search.contract import BRISTOL, PlaneContract
from tests.memories.search.library import GLOBAL, document, ids, own, question, shared, somebody
from tests.memories.search.seeing import SeeingContract


class TestEmbeddedPlane(PlaneContract, SeeingContract):
    """The contract."""

    @pytest.fixture
    def plane(self, plane: EmbeddedPlane) -> SearchPlane:
        return plane


@pytest.fixture
def plane(index_dir: Path) -> Iterator[EmbeddedPlane]:
    made = EmbeddedPlane(index_dir, "test-encoder", cache_bytes=2**24)
    yield made
    made.close()


@pytest.fixture
def ada(plane: EmbeddedPlane) -> Principal:
    """A member with one fact in their part; the shared parts are empty."""
    ada = somebody()
    plane.rebuild(own(ada), [document(own(ada), BRISTOL)])
    for owner in (shared(ada), GLOBAL):
        plane.rebuild(owner, [])
    return ada


def found(plane: EmbeddedPlane, principal: Principal) -> set[UUID]:
    return ids(plane.candidates(principal, question(BRISTOL)).hits)


def test_each_owner_has_a_file_of_their_own_that_only_their_ids_name(tmp_path: Path) -> None:
    ada, bob = somebody(), somebody()
    paths = [path_of(tmp_path, owner) for owner in (own(ada), own(bob), shared(ada), shared(bob), GLOBAL)]
    assert len(set(paths)) == 5
    assert paths[0] == tmp_path / str(ada.tenant_id) / f"{ada.user_id}.sqlite3"


@pytest.mark.parametrize(
    "owner",
    [
        pytest.param(Owner("../elsewhere", uuid4()), id="a path for a tenant"),  # type: ignore[arg-type]  # an attack
        pytest.param(Owner(uuid4(), "../../etc/passwd"), id="a path for a user"),  # type: ignore[arg-type]  # an attack
        pytest.param(Owner(None, uuid4()), id="a user without a tenant"),
    ],
)
def test_what_is_no_owner_names_no_file(tmp_path: Path, owner: Owner) -> None:
    with pytest.raises(ValueError, match=r"UUID|tenant"):
        path_of(tmp_path, owner)


def test_foreign_files_in_the_folder_are_no_owners(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "readme.sqlite3").touch()
    assert list(owners_in(tmp_path)) == []


def test_a_deleted_folder_is_noticed_at_once_and_rebuilt(plane: EmbeddedPlane, ada: Principal) -> None:
    assert found(plane, ada)
    shutil.rmtree(plane.root)
    assert plane.candidates(ada, question(BRISTOL)).incomplete == (own(ada), shared(ada), GLOBAL)
    fact = document(own(ada), BRISTOL)
    plane.rebuild(own(ada), [fact])
    assert found(plane, ada) == {fact.id}


def test_a_write_to_a_missing_part_never_starts_an_incomplete_one(plane: EmbeddedPlane, ada: Principal) -> None:
    shutil.rmtree(plane.root)
    with pytest.raises(PartMissing):
        plane.upsert([document(own(ada), "Just this one")])
    with pytest.raises(PartMissing):
        plane.delete(own(ada), [Tombstone(Kind.SEMANTIC, uuid4(), 1)])
    assert own(ada) not in plane.owners()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"this is no database, but it is long enough to look at" * 100, id="other content"),
        pytest.param(None, id="overwritten in the middle"),
    ],
)
def test_a_damaged_file_is_missing_and_is_rebuilt(plane: EmbeddedPlane, ada: Principal, content: bytes | None) -> None:
    path = path_of(plane.root, own(ada))
    whole = path.read_bytes()
    plane.close()
    path.write_bytes(whole[:100] + b"\xff" * (len(whole) - 100) if content is None else content)
    assert plane.candidates(ada, question(BRISTOL)).incomplete == (own(ada),)
    assert plane.rebuild(own(ada), [document(own(ada), BRISTOL)]) == 1
    assert len(found(plane, ada)) == 1


def test_a_file_emptied_while_it_is_open_counts_as_missing_and_is_rebuilt(plane: EmbeddedPlane, ada: Principal) -> None:
    assert found(plane, ada)
    path_of(plane.root, own(ada)).write_bytes(b"")
    assert plane.candidates(ada, question(BRISTOL)).incomplete == (own(ada),)
    assert plane.rebuild(own(ada), [document(own(ada), BRISTOL)]) == 1
    assert len(found(plane, ada)) == 1


def test_a_file_with_vectors_of_another_encoder_is_searched_by_words_alone(
    plane: EmbeddedPlane, ada: Principal
) -> None:
    other = EmbeddedPlane(plane.root, "another-encoder", cache_bytes=2**24)
    added = replace(document(own(ada), BRISTOL), vector=bytes(8))
    other.upsert([added])
    answer = other.candidates(ada, question(BRISTOL))
    assert answer.by_words_alone and added.id in ids(answer.hits)
    assert all(hit.lexical and hit.dense is None for hit in answer.hits)
    assert other.encoder_of(own(ada)) == "test-encoder"
    assert not plane.candidates(ada, question(BRISTOL)).by_words_alone
    other.close()


def test_a_file_that_another_process_writes_is_seen(plane: EmbeddedPlane, ada: Principal) -> None:
    (before,) = found(plane, ada)
    elsewhere = EmbeddedPlane(plane.root, "test-encoder", cache_bytes=2**24)
    added = document(own(ada), BRISTOL)
    elsewhere.upsert([added])
    assert found(plane, ada) == {before, added.id}
    elsewhere.rebuild(own(ada), [added])
    assert found(plane, ada) == {added.id}
    elsewhere.close()


@pytest.mark.skipif(os.geteuid() == 0, reason="the administrator may write everything")
def test_a_read_only_folder_is_searched_but_not_written(plane: EmbeddedPlane, ada: Principal) -> None:
    path = path_of(plane.root, own(ada))
    path.chmod(stat.S_IRUSR)
    path.parent.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        with pytest.raises(SearchUnavailable):
            plane.upsert([document(own(ada), "new")])
        assert len(found(plane, ada)) == 1
    finally:
        path.parent.chmod(stat.S_IRWXU)


@pytest.mark.parametrize("code", [sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR])
def test_a_disk_that_fails_is_unavailable_and_keeps_the_file(
    plane: EmbeddedPlane, ada: Principal, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def failing(*_: Any) -> None:
        error = sqlite3.OperationalError("disk trouble")
        error.sqlite_errorcode, error.sqlite_errorname = code, "SQLITE_TROUBLE"
        raise error

    monkeypatch.setattr("memories.search.embedded.files.upsert", failing)
    with pytest.raises(SearchUnavailable, match="SQLITE_TROUBLE") as raised:
        plane.upsert([document(own(ada), "My secret")])
    assert "secret" not in str(raised.value)
    assert len(found(plane, ada)) == 1


def test_an_index_folder_that_is_a_file_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "index").touch()
    plane = EmbeddedPlane(tmp_path / "index", "test-encoder", cache_bytes=2**20)
    ada = somebody()
    with pytest.raises(SearchUnavailable):
        plane.rebuild(own(ada), [])
    with pytest.raises(SearchUnavailable):
        plane.candidates(ada, question(BRISTOL))


@pytest.mark.parametrize("archived", [False, True], ids=["current", "archived"])
def test_what_is_forgotten_is_in_no_byte_of_the_file(plane: EmbeddedPlane, ada: Principal, archived: bool) -> None:
    secret = document(own(ada), "The password is zanzibarquux, do not tell", status=Status.SUPERSEDED)
    plane.upsert([document(own(ada), f"Filler number {number}") for number in range(200)])
    plane.upsert([secret])
    plane.upsert([replace(secret, version=2, archived=archived)])
    plane.delete(own(ada), [Tombstone(Kind.SEMANTIC, secret.id, 3)])
    content = path_of(plane.root, own(ada)).read_bytes()
    assert b"zanzibarquux" not in content
    assert secret.vector not in content


def test_open_parts_stay_within_their_bounds(index_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part, "MAX_OPEN_PARTS", 4)
    plane = EmbeddedPlane(index_dir, "test-encoder", cache_bytes=2**24)
    members = [somebody() for _ in range(6)]
    for member in members:
        plane.rebuild(own(member), [document(own(member), BRISTOL)])
    with ThreadPoolExecutor(6) as pool:
        counts = list(pool.map(lambda member: len(found(plane, member)), members * 5))
    assert counts == [1] * 30
    assert len(plane._open._parts) <= 4
    plane.close()


def test_readers_and_writers_at_once_see_whole_states(plane: EmbeddedPlane, ada: Principal) -> None:
    (first,) = plane.stored(own(ada))
    growing = [document(own(ada), f"{BRISTOL} {number}") for number in range(40)]

    def write(number: int) -> int:
        plane.upsert([growing[number]])
        return 0

    def read(_: int) -> int:
        hits = plane.candidates(ada, question(BRISTOL)).hits
        assert first.id in ids(hits)
        return len(hits)

    with ThreadPoolExecutor(4) as pool:
        writes = [pool.submit(write, number) for number in range(40)]
        reads = [pool.submit(read, number) for number in range(40)]
        assert all(task.result() >= 0 for task in [*writes, *reads])
    assert len(found(plane, ada)) == 41


def test_a_snapshot_grows_by_what_changed(plane: EmbeddedPlane, ada: Principal) -> None:
    assert len(found(plane, ada)) == 1
    added = [document(own(ada), f"{BRISTOL} {number}") for number in range(100)]
    for document_ in added:
        plane.upsert([document_])
        assert document_.id in ids(plane.candidates(ada, question(BRISTOL, per_sub_query=200)).hits)
    plane.upsert([replace(added[0], version=2, task="elsewhere")])
    assert added[0].id not in ids(plane.candidates(ada, question(BRISTOL, per_sub_query=200)).hits)


def test_what_might_stand_in_a_missing_part_is_not_said_to_be_nowhere(plane: EmbeddedPlane, ada: Principal) -> None:
    plane.erase_owner(own(ada))
    assert plane.see(ada, Kind.SEMANTIC, uuid4()) == IndexLookup(None, incomplete=(own(ada),))


def in_lists(content: bytes) -> int:
    """The lists of this process that hold these bytes."""
    lists = [each for each in gc.get_objects() if type(each) is list]
    return sum(any(type(item) is bytes and item == content for item in each) for each in lists)


def test_what_another_process_removed_leaves_the_memory_when_anybody_searches(
    plane: EmbeddedPlane, ada: Principal, index_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = TurnDocument(uuid4().bytes, uuid4(), 1, "Ada", datetime(2026, 5, 1, tzinfo=UTC))
    said = document(own(ada), "We sold the boat", kind=Kind.EPISODIC, turn=turn)
    plane.upsert([said])
    found(plane, ada)
    assert in_lists(turn.pieces) == 1
    elsewhere = EmbeddedPlane(index_dir, "test-encoder", cache_bytes=2**24)
    elsewhere.delete(own(ada), [Tombstone(Kind.EPISODIC, said.id, 2)])
    monkeypatch.setattr(part, "CATCH_UP_SECONDS", 0.0)
    found(plane, somebody())
    assert in_lists(turn.pieces) == 0

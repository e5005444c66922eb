"""Comparing plane and database: each way to differ is found, and mended from the database."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from memories.models import Fact
from memories.search import outbox, search_plane
from memories.search.base import Tombstone
from memories.search.checking import IndexProblem, check, owners
from memories.search.embedded.part import path_of
from memories.search.outbox import rebuild_owner
from memories.services.facts.remember import remember_fact
from memories.types import Kind, Owner, Status
from tenants.principal import Principal
from tests.parts import about_the_embedded_plane

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada(principal: Principal) -> Owner:
    """Ada, with one fact that is indexed."""
    remember_fact(principal, text="Lives in Bristol")
    outbox.drain()
    return Owner(principal.tenant_id, principal.user_id)


def problems(owner: Owner) -> list[IndexProblem]:
    return [difference.problem for difference in check(owner).differences]


def test_a_drained_owner_agrees(ada: Owner) -> None:
    report = check(ada)
    assert (report.ok, report.rows, report.waiting) == (True, 1, 0)
    assert ada in owners()


def test_what_still_waits_is_no_difference(ada: Owner, principal: Principal) -> None:
    remember_fact(principal, text="Keeps bees")
    report = check(ada)
    assert (report.ok, report.rows, report.waiting) == (True, 2, 1)


def test_a_row_that_the_plane_lost_is_found(ada: Owner) -> None:
    fact = Fact.objects.get()
    search_plane().delete(ada, [Tombstone(Kind.SEMANTIC, fact.pk, 99)])
    search_plane().settle()
    assert problems(ada) == [IndexProblem.NOT_INDEXED]


def test_a_row_that_the_database_lost_is_found(ada: Owner) -> None:
    Fact.objects.all().delete()
    assert problems(ada) == [IndexProblem.NOT_IN_DATABASE]


def test_another_version_or_status_is_found(ada: Owner) -> None:
    Fact.objects.update(version=2)
    assert problems(ada) == [IndexProblem.OTHER_VERSION]
    Fact.objects.update(version=1, status=Status.STALE)
    assert problems(ada) == [IndexProblem.OTHER_STATUS]


@about_the_embedded_plane
def test_a_missing_part_is_found(ada: Owner, index_dir: Path) -> None:
    path_of(index_dir, ada).unlink()
    assert problems(ada) == [IndexProblem.PART_MISSING]


@about_the_embedded_plane
def test_a_rebuild_mends_everything(ada: Owner, principal: Principal, index_dir: Path) -> None:
    remember_fact(principal, text="Keeps bees")
    path_of(index_dir, ada).write_bytes(b"nonsense, and enough of it to be read as a header" * 4)
    assert problems(ada) == [IndexProblem.PART_MISSING]
    assert rebuild_owner(ada) == 2
    assert (check(ada).ok, outbox.backlog()) == (True, 0)


@pytest.mark.parametrize(
    ("places", "problem"), [([False, True], IndexProblem.TWICE), ([True], IndexProblem.OTHER_PLACE)]
)
def test_a_row_in_another_place_or_two_is_found(
    ada: Owner, monkeypatch: pytest.MonkeyPatch, places: list[bool], problem: IndexProblem
) -> None:
    """Which a move that broke off leaves on a plane with an index for each."""
    (state,) = search_plane().stored(ada)
    found = [replace(state, archived=archived) for archived in places]
    monkeypatch.setattr(type(search_plane()), "stored", lambda *_: iter(found))
    assert problems(ada) == [problem]

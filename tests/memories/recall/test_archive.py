"""Archived facts: out of the way of every ordinary recall, and there for whoever asks for the past."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memories.hygiene.ageing import Ending
from memories.models import OutboxEntry
from memories.recall.pipeline import recall
from memories.search import search_plane
from memories.search.outbox import drain
from memories.services.facts.remember import remember_fact
from memories.services.retention.collection import collect
from memories.types import Candidates, Status
from tenants.principal import Principal
from tests.memories.recall.conftest import LimitTail, texts

MARCH, MAY, JULY = (datetime(2025, month, 1, tzinfo=UTC) for month in (3, 5, 7))


@pytest.fixture(params=["embedded", "elasticsearch"])
def plane(request: pytest.FixtureRequest, db: None) -> str:
    """The search plane; before anybody is there, for a member's key is made with them."""
    if request.param == "elasticsearch":
        request.getfixturevalue("elasticsearch")
    return str(request.param)


@pytest.fixture
def moved(plane: str, principal: Principal) -> Principal:
    """Ada, who lived in Bristol from March and in Edinburgh since May; Bristol is archived."""
    remember_fact(principal, text="Lives in Bristol", key="home_city", learned_at=MARCH)
    remember_fact(principal, text="Lives in Edinburgh", key="home_city", learned_at=MAY)
    collected(principal)
    return principal


def collected(principal: Principal) -> None:
    """Have the collection archive what was superseded long ago, and the search plane know."""
    report = collect(apply=True, tenant_id=principal.tenant_id)
    assert {decision.ending for decision in report.decisions} == {Ending.ARCHIVED}
    delivered()


def delivered() -> None:
    """Everything is in the search plane, so that no recall finds a memory because it is on its way."""
    assert drain().failed == 0 and not OutboxEntry.objects.exists()


def test_an_archived_fact_is_in_no_ordinary_recall(moved: Principal) -> None:
    assert texts(recall(moved, "where do I live?")) == ["Lives in Edinburgh"]


def test_it_is_recalled_as_of_when_it_was_believed(moved: Principal) -> None:
    answer = recall(moved, "where do I live?", as_of=MARCH)
    (item,) = answer.items
    assert (item.text, item.status, item.until, answer.degraded) == ("Lives in Bristol", Status.SUPERSEDED, MAY, False)
    assert texts(recall(moved, "where do I live?", as_of=JULY)) == ["Lives in Edinburgh"]


def test_it_is_found_while_it_is_on_its_way(plane: str, principal: Principal) -> None:
    remember_fact(principal, text="Lives in Bristol", key="home_city", learned_at=MARCH)
    remember_fact(principal, text="Lives in Edinburgh", key="home_city", learned_at=MAY)
    drain()
    collect(apply=True, tenant_id=principal.tenant_id)
    assert OutboxEntry.objects.exists()
    assert texts(recall(principal, "where do I live?", as_of=MARCH)) == ["Lives in Bristol"]


def test_nobody_else_recalls_it(moved: Principal, other_member: Principal, other_tenant_member: Principal) -> None:
    for other in (other_member, other_tenant_member):
        for asked in ({"as_of": MARCH}, {"include_superseded": True}):
            assert texts(recall(other, "Lives in Bristol", **asked)) == []


def test_an_archive_that_cannot_be_searched_is_stood_in_for(moved: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a key from before there was one, or before the cluster was set up again."""
    nothing = Candidates((), without_archive=True)
    monkeypatch.setattr(type(search_plane()), "candidates", lambda *_: nothing)
    answer = recall(moved, "where do I live?", as_of=MARCH)
    assert (texts(answer), answer.degraded) == (["Lives in Bristol"], False)
    assert not OutboxEntry.objects.exists()


def test_of_an_owner_with_too_many_memories_for_that_it_is_said(
    moved: Principal, limit_tail: LimitTail, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        remember_fact(moved, text=f"Owns bulb {number}", learned_at=MARCH)
    drain()
    limit_tail(2)
    nothing = Candidates((), without_archive=True)
    monkeypatch.setattr(type(search_plane()), "candidates", lambda *_: nothing)
    answer = recall(moved, "do I live in Bristol?", as_of=MARCH)
    assert answer.degraded
    assert texts(answer)[0] == "Lives in Bristol"

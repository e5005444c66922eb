"""A plane that is lost or down costs quality, never an answer: the database serves, and says so."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from memories.models import OutboxEntry
from memories.recall import candidates
from memories.recall.pipeline import recall
from memories.search.embedded.part import path_of
from memories.search.outbox import drain
from memories.services.facts.remember import remember_fact
from memories.types import Kind, Owner
from tenants.principal import Principal
from tests.memories.recall.conftest import LimitTail, Say, texts
from tests.parts import about_the_embedded_plane

pytestmark = pytest.mark.django_db


@pytest.fixture
def remembered(principal: Principal, say: Say) -> Principal:
    """Ada, with a fact and thirty episodes, indexed."""
    say(*(f"Bulb number {number} is broken" for number in range(30)))
    remember_fact(principal, text="Lives in Edinburgh", key="home_city")
    drain()
    return principal


def test_a_plane_that_is_down_is_said_and_stood_in_for(remembered: Principal, plane_is_down: None) -> None:
    answer = recall(remembered, "where do I live?")
    assert answer.degraded
    assert texts(answer)[0] == "Lives in Edinburgh"


@pytest.fixture
def large(remembered: Principal, limit_tail: LimitTail, monkeypatch: pytest.MonkeyPatch) -> Principal:
    """Ada, with more memories than the database serves whole."""
    limit_tail(5)
    monkeypatch.setattr(candidates, "CANDIDATES_PER_SUB_QUERY", 3)
    return remembered


def test_of_a_large_owner_the_words_and_the_newest_are_served(large: Principal, say: Say, plane_is_down: None) -> None:
    say("Is it raining?")
    answer = recall(large, "Is bulb number 7 broken?", limit=30)
    assert answer.degraded
    assert texts(answer)[0] == "Bulb number 7 is broken"
    assert {"Lives in Edinburgh", "Is it raining?"} < set(texts(answer))


def test_what_waits_behind_the_tail_is_looked_for_in_the_database_and_that_is_said(large: Principal) -> None:
    for number in range(9):
        remember_fact(large, text=f"Owns lamp {number}")
    answer = recall(large, "Who owns lamp 0?", types=[Kind.SEMANTIC])
    assert answer.degraded
    assert texts(answer)[0] == "Owns lamp 0"
    drain()
    assert not recall(large, "Who owns lamp 0?").degraded


@about_the_embedded_plane
def test_a_deleted_index_folder_is_stood_in_for_and_rebuilt(remembered: Principal, index_dir: Path) -> None:
    shutil.rmtree(index_dir)
    answer = recall(remembered, "where do I live?")
    assert texts(answer)[0] == "Lives in Edinburgh"
    assert not answer.degraded, "a small owner is served whole"
    assert OutboxEntry.objects.count() == 1
    drain()
    assert path_of(index_dir, Owner(remembered.tenant_id, remembered.user_id)).exists()
    assert len(recall(remembered, "broken bulb", limit=40).items) == 31


@about_the_embedded_plane
def test_a_deleted_file_of_a_large_owner_is_never_silent(large: Principal, index_dir: Path) -> None:
    path_of(index_dir, Owner(large.tenant_id, large.user_id)).unlink()
    assert recall(large, "where do I live?").degraded
    drain()
    assert not recall(large, "where do I live?").degraded


@about_the_embedded_plane
def test_an_unusable_index_folder_never_fails_a_recall(principal: Principal, say: Say, index_dir: Path) -> None:
    index_dir.write_text("a file in its place")
    say("The hub blinks red")
    assert drain().failed > 0
    answer = recall(principal, "what blinks?")
    assert (texts(answer), answer.degraded) == (["The hub blinks red"], True)
    index_dir.unlink()
    OutboxEntry.objects.update(available_at=OutboxEntry.objects.get().created_at)
    assert drain().failed == 0
    assert not recall(principal, "what blinks?").degraded


def test_a_long_tail_is_scored_also_unencoded(principal: Principal, say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memories.recall.candidates.MAX_ENCODED", 2)
    say(*(f"Bulb number {number} is broken" for number in range(10)))
    answer = recall(principal, "broken bulb", limit=20)
    assert len(answer.items) == 10
    assert sum(item.signals["cosine"] > 0 for item in answer.items) == 2
    assert all(item.signals["coverage"] > 0.9 for item in answer.items)


def test_of_a_long_tail_what_shares_the_words_of_the_query_is_encoded(
    principal: Principal, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memories.recall.candidates.MAX_ENCODED", 1)
    others = [f"Box {number} is on a table" for number in range(40, 50)]
    say(*others[:5], "Box 31 is on shelf 7", *others[5:])
    best, *rest = recall(principal, "Box 31 is on shelf 7", limit=20).items
    assert best.text == "Box 31 is on shelf 7"
    assert best.signals["cosine"] > 0
    assert not any(item.signals["cosine"] for item in rest)

"""`as_of`: what was believed then, whatever is believed now."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memories.models import CatalogEntry
from memories.recall.pipeline import recall
from memories.search.outbox import drain
from memories.services.catalog import remember_catalog_entry
from memories.services.facts.remember import remember_fact
from memories.services.playbooks import remember_playbook
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import start_session
from tenants.principal import Principal
from tests.memories.recall.conftest import texts

pytestmark = pytest.mark.django_db

MARCH, MAY, JULY = (datetime(2025, month, 1, tzinfo=UTC) for month in (3, 5, 7))


@pytest.fixture
def moved(principal: Principal) -> Principal:
    """Ada, who lived in Bristol from March and lives in Edinburgh since May."""
    remember_fact(principal, text="Lives in Bristol", key="home_city", learned_at=MARCH)
    remember_fact(principal, text="Lives in Edinburgh", key="home_city", learned_at=MAY)
    drain()
    return principal


@pytest.mark.parametrize(
    ("then", "believed"),
    [
        pytest.param(MARCH - timedelta(days=1), [], id="before it was known"),
        pytest.param(MARCH, ["Lives in Bristol"], id="from when it was learned"),
        pytest.param(MAY - timedelta(seconds=1), ["Lives in Bristol"], id="until it was replaced"),
        pytest.param(MAY, ["Lives in Edinburgh"], id="from when it was replaced"),
        pytest.param(JULY, ["Lives in Edinburgh"], id="since"),
    ],
)
def test_facts_are_those_believed_then(moved: Principal, then: datetime, believed: list[str]) -> None:
    answer = recall(moved, "where do I live?", as_of=then)
    assert texts(answer) == believed
    assert answer.as_of == then


def test_with_superseded_ones_the_whole_past_comes_back(moved: Principal) -> None:
    answer = recall(moved, "where do I live?", as_of=JULY, include_superseded=True)
    assert set(texts(answer)) == {"Lives in Bristol", "Lives in Edinburgh"}


def test_episodes_are_those_that_had_happened(principal: Principal) -> None:
    session = start_session(principal).pk
    remember_episode(principal, session_id=session, text="The first bulb broke", happened_at=MARCH)
    remember_episode(principal, session_id=session, text="The second bulb broke", happened_at=JULY)
    drain()
    assert texts(recall(principal, "which bulb broke?", as_of=MAY)) == ["The first bulb broke"]


def test_playbooks_and_the_catalog_follow(principal: Principal, admin_principal: Principal) -> None:
    remember_playbook(principal, title="Reset the hub", steps=["Hold both buttons"], learned_at=JULY)
    remember_catalog_entry(admin_principal, title="Hub", text="Red means no network")
    CatalogEntry.objects.update(created_at=MARCH)
    drain()
    assert texts(recall(principal, "hub", as_of=MAY)) == ["Red means no network"]
    assert len(recall(principal, "hub", as_of=JULY).items) == 2


def test_it_works_before_the_index_knows(principal: Principal) -> None:
    remember_fact(principal, text="Lives in Bristol", key="home_city", learned_at=MARCH)
    remember_fact(principal, text="Lives in Edinburgh", key="home_city", learned_at=MAY)
    assert texts(recall(principal, "where do I live?", as_of=MARCH)) == ["Lives in Bristol"]

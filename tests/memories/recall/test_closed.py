"""A member who may not search now gets nothing from anywhere, and is told so; and what the rest makes of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pytest_django import Settings

from memories.agent.events import MemoriesRecalled, Notice, NoticeKind, TextDelta, TurnFinished
from memories.agent.loop import run_turn
from memories.errors import SearchForbidden
from memories.models import Episode, RecallTrace
from memories.recall.pipeline import recall
from memories.search.outbox import drain
from memories.services.facts.remember import remember_fact
from tenants.models import AuditEvent, Membership
from tenants.principal import Principal
from tenants.search_keys import revoke
from tests.memories.agent.conftest import dispose
from tests.memories.api.caller import caller_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("elasticsearch")]


@pytest.fixture
def closed(principal: Principal, membership: Membership) -> Principal:
    """Ada, whose key was revoked after a fact of hers was indexed."""
    remember_fact(principal, text="Plays the xylophone")
    drain()
    assert recall(principal, "xylophone", record=False).items
    revoke(membership)
    return principal


def test_recall_gives_nothing_and_leaves_a_mark(closed: Principal) -> None:
    with pytest.raises(SearchForbidden, match="revoked"):
        recall(closed, "xylophone")
    assert not RecallTrace.objects.exists()
    assert AuditEvent.objects.filter(action="search.refused", owner_id=closed.user_id).exists()


@pytest.mark.english
def test_a_turn_is_stored_and_answered_and_says_so(closed: Principal) -> None:
    events = list(run_turn(closed, text="What do I play?"))
    assert NoticeKind.CLOSED in [event.kind for event in events if isinstance(event, Notice)]
    assert not [event for event in events if isinstance(event, MemoriesRecalled)]
    assert "can't look into your memory" in "".join(event.text for event in events if isinstance(event, TextDelta))
    assert isinstance(events[-1], TurnFinished)
    assert Episode.objects.filter(text="What do I play?").exists()


@pytest.mark.english
def test_the_responder_forgets_a_fact_without_a_search(closed: Principal) -> None:
    events = list(run_turn(closed, text="Forget my xylophone"))
    assert "only you can" in "".join(event.text for event in events if isinstance(event, TextDelta))
    dispose(closed)
    assert remember_fact(closed, text="Plays the xylophone").result == "created"


def test_the_api_says_that_search_is_closed(closed: Principal, membership: Membership) -> None:
    answer = caller_of(membership).post("recall/", {"query": "xylophone"})
    assert (answer.status, answer.problem["type"].rpartition(":")[2]) == (503, "search-closed")
    assert "xylophone" not in answer.text


def test_others_are_not_concerned(closed: Principal, other_member: Principal) -> None:
    remember_fact(other_member, text="Plays the tuba")
    drain()
    assert [item.text for item in recall(other_member, "tuba").items] == ["Plays the tuba"]


def test_a_membership_that_is_not_ones_own_opens_nothing(principal: Principal, other_member: Principal) -> None:
    with pytest.raises(SearchForbidden):
        recall(replace(principal, membership_id=other_member.membership_id), "anything")


def test_a_cluster_that_is_away_degrades_and_does_not_close(principal: Principal, settings: Settings) -> None:
    remember_fact(principal, text="Plays the xylophone")
    drain()
    settings.ELASTICSEARCH_URLS = ("http://127.0.0.1:1",)
    answer = recall(principal, "xylophone")
    assert answer.degraded
    assert [item.text for item in answer.items] == ["Plays the xylophone"]

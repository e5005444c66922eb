"""Explaining a recall: the answer is the recall's own, every stage is kept, and asking why changes nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from memories.models import Fact, OutboxEntry, RecallTrace
from memories.recall import recording
from memories.recall.explaining import ConsideredCandidate, Explanation, Origin, explain
from memories.recall.pipeline import recall
from memories.recall.selection import Cut
from memories.search.outbox import drain
from memories.services.catalog import remember_catalog_entry
from memories.services.facts.remember import remember_fact
from memories.services.playbooks import remember_playbook
from memories.types import Kind, Status
from tenants.errors import Forbidden
from tenants.principal import Principal
from tests.memories.recall.conftest import Say

pytestmark = pytest.mark.django_db

NOW = datetime(2025, 8, 1, tzinfo=UTC)


@pytest.fixture
def full(principal: Principal, admin_principal: Principal, say: Say) -> Principal:
    """Ada, with something of every kind, part of it just written."""
    say("Where did you put the spare key?", "Under the blue pot", "Nice weather today", "The kettle is broken")
    say("I painted the pot blue", "My shoes are blue", "She sings well")
    remember_fact(principal, text="Lives in Bristol", key="home_city", learned_at=NOW - timedelta(days=90))
    remember_fact(principal, text="Lives in Edinburgh", key="home_city", learned_at=NOW - timedelta(days=30))
    remember_playbook(principal, title="Find the spare key", trigger="Locked out", steps=["Look under the pot"])
    remember_catalog_entry(admin_principal, title="Keys", text="A spare key costs four pounds.")
    drain()
    say("The spare key is gone again")
    return principal


def by_text(explained: Explanation, text: str) -> ConsideredCandidate:
    return next(each for each in explained.considered if each.memory and each.memory.text == text)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"limit": 2},
        {"types": [Kind.SEMANTIC, Kind.CATALOG]},
        {"include_superseded": True},
        {"as_of": NOW - timedelta(days=60)},
        {"token_budget": 12},
        {"threshold": 1.0},
    ],
    ids=str,
)
def test_it_agrees_with_the_recall_exactly(full: Principal, options: dict[str, Any]) -> None:
    for query in ("where is the spare key?", "where do I live?", "xyzzy", "which city in July 2025?"):
        answer = recall(full, query, now=NOW, record=False, **options)
        explained = explain(full, query, now=NOW, **options)
        assert explained.answer.items == answer.items
        given = [each for each in explained.considered if each.cut is Cut.NO]
        assert [(each.id, each.score, each.reasons) for each in given] == [
            (item.id, item.score, item.reasons) for item in answer.items
        ]
        ranks = [each.rank for each in explained.considered]
        assert ranks == list(range(1, len(ranks) + 1))
        assert sorted(each.fused_rank for each in explained.considered) == ranks


def test_nothing_is_recorded_and_no_use_is_counted(full: Principal) -> None:
    before = list(Fact.objects.order_by("pk").values_list("pk", "use_count", "last_used_at", "version"))
    waiting = OutboxEntry.objects.count()
    assert explain(full, "where do I live?").answer.items[0].text == "Lives in Edinburgh"
    recording.flush()
    assert list(Fact.objects.order_by("pk").values_list("pk", "use_count", "last_used_at", "version")) == before
    assert not RecallTrace.objects.exists() and OutboxEntry.objects.count() == waiting
    recall(full, "where do I live?")
    recording.flush()
    assert RecallTrace.objects.count() == 1


def test_each_candidate_says_where_it_comes_from(full: Principal, say: Say) -> None:
    explained = explain(full, "where is the spare key?", limit=30)
    question = by_text(explained, "Where did you put the spare key?")
    assert {Origin.WORDS, Origin.MEANING} <= set(question.origins)
    assert question.words is not None and question.meaning is not None and question.words.score > 0
    assert Origin.TAIL in by_text(explained, "The spare key is gone again").origins
    of_kind = [each for each in explained.considered if each.kind is Kind.EPISODIC and each.words]
    ranked = sorted(of_kind, key=lambda each: each.words.rank if each.words else 0)
    scores = [each.words.score for each in ranked if each.words]
    assert [each.words.rank for each in ranked if each.words] == list(range(1, len(ranked) + 1))
    assert scores == sorted(scores, reverse=True)


def test_what_came_by_context_names_the_hits_that_it_stands_beside(
    principal: Principal, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memories.recall.candidates.CANDIDATES_PER_SUB_QUERY", 1)
    asked, told, *_ = say("Where did you put the spare key?", "Under the blue pot", "Nice weather", "So warm")
    drain()
    explained = explain(principal, "Do you know where the spare key was put?")
    (beside,) = [each for each in explained.considered if each.id == told]
    assert beside.origins == (Origin.CONTEXT,) and beside.beside == (asked,)
    assert beside.words is None and "said just after" in beside.reasons
    assert explained.by_context == len(explained.considered) - explained.found


def test_each_cut_has_its_reason(principal: Principal, say: Say) -> None:
    say("The gate is blue", "Well, the gate is blue", "What colour is the gate?", "The gate squeaks", "The gate is old")
    drain()
    query = "What colour is the gate?"
    explained = explain(principal, query, limit=2)
    assert by_text(explained, query).cut is Cut.ASKED_BEFORE
    twin = next(each for each in explained.considered if each.cut is Cut.DUPLICATE)
    assert twin.memory is not None and "blue" in twin.memory.text
    assert twin.like in {item.id for item in explained.answer.items}
    assert Cut.RANK in {each.cut for each in explained.considered}
    assert Cut.BUDGET in {each.cut for each in explain(principal, query, token_budget=5).considered}
    beyond = explain(principal, query, threshold=100.0)
    assert {each.cut for each in beyond.considered} == {Cut.THRESHOLD} and beyond.answer.items == ()


def test_what_the_index_still_has_and_the_database_ended_is_said(full: Principal) -> None:
    ended = Fact.objects.get(text="Lives in Edinburgh")
    remember_fact(full, text="Lives in Leith", key="home_city", learned_at=NOW)
    explained = explain(full, "where do I live?")
    assert [(each.kind, each.id, each.status) for each in explained.unloaded] == [
        (Kind.SEMANTIC, ended.pk, Status.SUPERSEDED)
    ]


def test_without_the_search_plane_the_database_is_where_it_comes_from(full: Principal, plane_is_down: None) -> None:
    explained = explain(full, "where do I live?")
    assert explained.answer.degraded
    assert by_text(explained, "Lives in Edinburgh").origins == (Origin.DATABASE,)


def test_others_find_none_of_it(full: Principal, other_member: Principal, other_tenant_member: Principal) -> None:
    own = {"A spare key costs four pounds."}
    for who, shared in ((other_member, own), (other_tenant_member, set())):
        explained = explain(who, "where is the spare key?")
        assert {each.memory.text for each in explained.considered if each.memory} == shared
        assert explained.unloaded == ()


def test_it_needs_the_right_to_read(principal: Principal) -> None:
    with pytest.raises(Forbidden):
        explain(replace(principal, rights=frozenset()), "where?")


def test_what_must_not_be_stored_is_masked_in_the_question(principal: Principal) -> None:
    number = "4111 1111 " + "1111 1111"
    explained = explain(principal, f"is {number} my card?", now=timezone.now())
    assert "4111" not in explained.request.query and "4111" not in " ".join(explained.query.terms)

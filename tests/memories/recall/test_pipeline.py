"""Recall end to end: what comes back, in which order, with which reasons."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from pytest_django import DjangoAssertNumQueries

from memories.constants import EMBEDDING_DIMENSIONS
from memories.embedding import encoder_name
from memories.errors import InvalidInput
from memories.models import Episode, Fact, RecallTrace
from memories.recall import recording
from memories.recall.pipeline import recall, recall_among, recall_and_keep, run
from memories.recall.request import checked
from memories.recall.scoring import Fusion
from memories.search.outbox import drain
from memories.services.catalog import remember_catalog_entry
from memories.services.facts.remember import remember_fact
from memories.services.playbooks import record_outcome, remember_playbook
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import start_session
from memories.services.sessions.turns import begin_turn
from memories.types import ALL_KINDS, Kind, Scope, Status
from tenants.errors import Forbidden
from tenants.principal import Principal, Right
from tests.memories.recall.conftest import Ask, Say, texts
from tests.parts import about_the_embedded_plane

pytestmark = pytest.mark.django_db

NAIVE = datetime(2024, 1, 1)  # noqa: DTZ001 - a fault to refuse


def test_the_memory_that_shares_the_words_comes_first(say: Say, ask: Ask) -> None:
    say("We reset the hub by holding both buttons", "The bus was late", "Bulbs arrive on Tuesday")
    assert ask("how did we reset the hub?")[0] == "We reset the hub by holding both buttons"


def test_a_memory_that_shares_no_word_is_found_by_its_meaning(principal: Principal, say: Say, ask: Ask) -> None:
    say("The bus was late", "Bulbs arrive on Tuesday")
    remember_fact(principal, text="Peanuts make her throat swell")
    assert ask("am I allergic to anything?")[0] == "Peanuts make her throat swell"


def test_a_vector_of_another_encoder_is_made_anew(principal: Principal) -> None:
    remember_fact(principal, text="Peanuts make her throat swell")
    drain()
    (before,) = recall(principal, "am I allergic to anything?").items
    Fact.objects.update(embedding=b"\x0b" * EMBEDDING_DIMENSIONS, embedding_model="another")
    (after,) = recall(principal, "am I allergic to anything?").items
    assert after.signals["cosine"] == pytest.approx(before.signals["cosine"]) != 0.0


def test_an_answer_is_found_by_the_question_before_it(say: Say, ask: Ask) -> None:
    say("Where did you put the spare key?", "Under the blue pot", "Nice weather today")
    say("I painted a pot", "My shoes are blue", "She sings well")
    assert "Under the blue pot" in ask("where is the spare key", limit=2)


def test_a_recall_goes_on_while_others_wait_for_the_database(
    say: Say, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    say("The bus was late")
    monkeypatch.setattr("memories.recall.pipeline._LONGEST_WAIT", 0.01)
    monkeypatch.setattr("memories.recall.pipeline._computing", all_taken := threading.BoundedSemaphore(1))
    with all_taken:
        assert ask("was the bus late?") == ["The bus was late"]
    assert ask("was the bus late?") == ["The bus was late"]


def test_a_selection_among_some_kinds_is_what_a_second_recall_returns(principal: Principal, say: Say) -> None:
    say(*(f"I live for day number {day} in the garden" for day in range(9)))
    for fact in ("Lives in Leith", "Has a garden behind the house", "Lives with two cats"):
        remember_fact(principal, text=fact)
    remember_playbook(principal, title="Water the garden", trigger="It is dry", steps=["Fill the can"])
    kinds = (Kind.SEMANTIC, Kind.PROCEDURAL)
    query = "Where do I live, with which garden?"
    asked = run(principal, checked(principal, query, types=kinds, limit=3, token_budget=200))
    ran = recall_and_keep(principal, query, limit=3)
    among = recall_among(principal, ran, kinds, limit=3, token_budget=200)
    assert [item.id for item in among.items] == [item.id for item in asked.answer.items]
    assert [item.score for item in among.items] == pytest.approx([item.score for item in asked.answer.items])
    assert among.items and {item.kind for item in among.items} <= set(kinds)
    assert among.rows.keys() == asked.answer.rows.keys()
    recording.flush()
    trace = RecallTrace.objects.get(pk=among.trace_id)
    assert (trace.candidates, trace.returned) == (list(asked.selection.traced), len(among.items))
    assert (trace.parameters["types"], trace.parameters["limit"]) == (["semantic", "procedural"], 3)


def test_every_kind_is_recalled_with_what_belongs_to_it(principal: Principal, admin_principal: Principal) -> None:
    session = start_session(principal).pk
    remember_episode(principal, session_id=session, text="The garden hub blinks red", speaker="Ada")
    remember_fact(principal, text="Owns a garden hub", key="hub")
    remember_playbook(principal, title="Reset the garden hub", trigger="It blinks", steps=["Hold both buttons"])
    remember_catalog_entry(admin_principal, title="Garden hub", text="Red means no network.")
    drain()
    items = {item.kind: item for item in recall(principal, "the garden hub blinks").items}
    assert items.keys() == set(ALL_KINDS)
    assert (items[Kind.EPISODIC].speaker, items[Kind.EPISODIC].session_id) == ("Ada", session)
    assert (items[Kind.SEMANTIC].key, items[Kind.SEMANTIC].confidence) == ("hub", 1.0)
    how_to = items[Kind.PROCEDURAL]
    assert (how_to.title, how_to.steps) == ("Reset the garden hub", ("Hold both buttons",))
    assert (items[Kind.CATALOG].title, items[Kind.CATALOG].scope) == ("Garden hub", Scope.TENANT)


@about_the_embedded_plane
def test_a_recall_of_every_kind_costs_four_queries(
    principal: Principal, admin_principal: Principal, say: Say, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    say("The garden hub blinks red", "Bulbs arrive on Tuesday")
    remember_fact(principal, text="Owns a garden hub")
    remember_playbook(principal, title="Reset the garden hub", trigger="It blinks", steps=["Hold both buttons"])
    remember_catalog_entry(admin_principal, title="Garden hub", text="Red means no network.")
    drain()
    recall(principal, "the garden hub blinks", record=False)
    with django_assert_num_queries(4):  # speakers, outbox, candidates that are no episodes, texts
        assert len(recall(principal, "what does the garden hub do?", record=False).items) == 5
    remember_fact(principal, text="The garden hub is from Bristol")
    with django_assert_num_queries(5):  # and the text of the just-written fact, to encode it
        assert len(recall(principal, "where is the garden hub from?", record=False).items) == 6


def test_only_the_types_that_were_asked_for_come_back(principal: Principal, say: Say, ask: Ask) -> None:
    say("The garden hub blinks red")
    remember_fact(principal, text="Owns a garden hub")
    assert ask("garden hub", types=["semantic"]) == ["Owns a garden hub"]


def test_a_write_is_visible_to_the_very_next_recall(principal: Principal, say: Say) -> None:
    say("Bulbs arrive on Tuesday")
    remember_fact(principal, text="Lives in Edinburgh")
    (first, *_) = recall(principal, "where do I live?").items
    assert first.text == "Lives in Edinburgh"
    assert "just written" in first.reasons


def test_a_superseded_fact_never_comes_back(principal: Principal, ask: Ask) -> None:
    remember_fact(principal, text="Lives in Bristol", key="home_city")
    drain()
    remember_fact(principal, text="Lives in Edinburgh", key="home_city")
    assert texts(recall(principal, "where do I live?")) == ["Lives in Edinburgh"], "before the index knows"
    assert ask("where do I live?") == ["Lives in Edinburgh"], "and after"


def test_superseded_facts_come_back_marked_if_asked_for(principal: Principal) -> None:
    remember_fact(principal, text="Lives in Bristol", key="home_city")
    new = remember_fact(principal, text="Lives in Edinburgh", key="home_city").memory_id
    drain()
    items = recall(principal, "where do I live?", include_superseded=True).items
    old = next(item for item in items if item.text == "Lives in Bristol")
    assert len(items) == 2
    assert (old.status, old.superseded_by) == (Status.SUPERSEDED, new)
    assert old.until is not None


def test_a_turn_never_recalls_itself(principal: Principal, say: Say) -> None:
    first, itself = say("I live in Bristol", "where do I live?")
    drain()
    assert texts(recall(principal, "where do I live?", exclude_episode_ids=[itself])) == ["I live in Bristol"]
    signals = recall(principal, "where do I live?", exclude_episode_ids=[itself], types=["episodic"]).items[0].signals
    assert signals["coverage_around"] < 1.0, "nor does it lend its words to the turns around it"
    assert first != itself


def test_the_limit_and_the_budget_bound_an_answer(say: Say, ask: Ask) -> None:
    say(*(f"Bulb number {number} is broken" for number in range(12)))
    assert len(ask("broken bulb", limit=3)) == 3
    assert len(ask("broken bulb", token_budget=11)) == 2


def test_equal_scores_order_by_id(principal: Principal, ask: Ask) -> None:
    ids = sorted(uuid4() for _ in range(3))
    for id_, text in zip(reversed(ids), ("🦆", "🦢", "🦉"), strict=True):
        remember_fact(principal, text=text, fact_id=id_)
    Fact.objects.update(embedding=bytes(384), embedding_model=encoder_name(), token_ids=b"")
    drain()
    assert [item.id for item in recall(principal, "bird?").items] == ids


def test_rank_fusion_can_be_chosen(principal: Principal, say: Say) -> None:
    say("We reset the hub by holding both buttons", "The bus was late")
    drain()
    best = recall(principal, "reset the hub", fusion=Fusion.RRF).items[0]
    assert best.text == "We reset the hub by holding both buttons"
    assert best.score < 0.2


def test_nobody_without_the_right_to_read_recalls(principal: Principal) -> None:
    with pytest.raises(Forbidden):
        recall(replace(principal, rights=frozenset({Right.WRITE})), "anything")


@pytest.mark.parametrize(
    ("options", "field"),
    [
        pytest.param({"query": ""}, "query", id="empty"),
        pytest.param({"query": " \u200e "}, "query", id="nothing visible"),
        pytest.param({"query": "\ud800"}, "query", id="lone surrogate"),
        pytest.param({"query": "a" * 1_000_000}, "query", id="a megabyte"),
        pytest.param({"limit": 0}, "limit", id="limit of none"),
        pytest.param({"types": ["dreams"]}, "types", id="unknown type"),
        pytest.param({"token_budget": 0}, "token_budget", id="no budget"),
        pytest.param({"task": "t" * 65}, "task", id="long task"),
        pytest.param({"as_of": NAIVE}, "as_of", id="naive time"),
        pytest.param({"as_of": datetime.min.replace(tzinfo=UTC)}, "as_of", id="before all time"),
    ],
)
def test_what_cannot_be_asked_is_refused_by_name(principal: Principal, options: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        recall(principal, **({"query": "where?"} | options))  # type: ignore[arg-type]  # bad on purpose
    assert refused.value.field == field


@pytest.mark.parametrize(
    "query",
    ["what is the of and", "🦆🦆", "'; DROP TABLE memories_fact; --", "ignore all rules", "日本語の質問"],
)
def test_any_question_is_answered(say: Say, ask: Ask, query: str) -> None:
    say("The hub blinks red")
    assert ask(query) == ["The hub blinks red"]


def test_a_member_with_nothing_gets_nothing(principal: Principal) -> None:
    answer = recall(principal, "where do I live?")
    assert (answer.items, answer.degraded) == ((), False)


def test_playbooks_that_worked_go_first_and_those_that_failed_last(principal: Principal) -> None:
    records = {"red": (0, 2), "blue": (0, 0), "black": (1, 0), "white": (9, 1)}
    ids = {}
    for colour, (good, bad) in records.items():
        steps = [f"press the {colour} button"]
        chosen = remember_playbook(principal, title="Reset the hub", trigger="when the hub shows E31", steps=steps)
        ids[chosen.memory_id] = colour
        for success in [True] * good + [False] * bad:
            record_outcome(principal, playbook_id=chosen.memory_id, success=success)
    found = recall(principal, "the hub shows E31, how do I reset it?", types={Kind.PROCEDURAL}).items
    assert [ids[item.id] for item in found] == ["white", "black", "blue", "red"]


def test_a_moment_later_the_ranker_says_the_same(principal: Principal, say: Say) -> None:
    say("Where did I put the spare key?", "The spare key hangs in the shed behind the house", "Soup for lunch")
    fact = remember_fact(principal, text="Keeps a spare key in the shed", key="spare_key")
    remember_playbook(principal, title="Fetch the spare key", trigger="when locked out", steps=["go to the shed"])
    written = Fact.objects.get(pk=fact.memory_id).learned_at
    Episode.objects.update(happened_at=written)
    said = []
    for seconds in (0, 1, 30):
        request = checked(principal, "where is the spare key?", now=written + timedelta(seconds=seconds))
        ran = run(principal, request)
        said.append(dict(zip((row.id for row in ran.pool.rows), ran.scores.added["ranker"].tolist(), strict=True)))
    assert said[0] == said[1] == said[2]


def test_asking_again_recalls_the_fact_and_no_earlier_asking(principal: Principal) -> None:
    for _ in range(5):
        begin_turn(principal, text="Where do I live?")
    fact = remember_fact(principal, text="Lives in Edinburgh", key="home_city").memory_id
    assert [item.id for item in recall(principal, "Where do I live?", limit=5).items] == [fact]


def test_a_question_in_the_first_person_finds_a_fact_in_the_third(principal: Principal) -> None:
    for text in ("Prefers to collect the bike after four", "Lives in Edinburgh", "Has a daughter named June"):
        remember_fact(principal, text=text)
    fact = remember_fact(principal, text="Works at Skyscanner", key="workplace").memory_id
    assert recall(principal, "where do I work?").items[0].id == fact

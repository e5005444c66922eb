"""Without rules for any language: members write, recall by words, supersede by key, and forget in their own."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from pytest_django import Settings

from memories.consolidation.rules import NoExtractor, consolidation_extractor, content_words, same
from memories.models import ConsolidationRun, Episode, Fact, ReviewItem, RunState
from memories.recall.pipeline import recall
from memories.search.outbox import drain
from memories.services.consolidation.running import consolidate
from memories.services.erasure.forget import forget
from memories.services.facts.remember import remember_fact
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import start_session
from memories.types import Kind, WriteResult
from memories.words import words
from tenants.principal import Principal

pytestmark = pytest.mark.django_db


@dataclass(frozen=True)
class Tongue:
    """What somebody says in a language: a home and the next one, something else, and a question for each."""

    home: str
    moved: str
    other: str
    asks_home: str
    asks_other: str


GERMAN = Tongue(
    "Wohnt in Köln", "Wohnt in Münster", "Mag Käsespätzle mit Röstzwiebeln",
    asks_home="In welcher Stadt, Köln oder Münster?", asks_other="Wie waren die Käsespätzle?",
)  # fmt: skip
JAPANESE = Tongue(
    "京都に住んでいます", "札幌に住んでいます", "抹茶アイスクリームが好きです",
    asks_home="札幌ですか、京都ですか", asks_other="抹茶はどうですか",
)  # fmt: skip


@pytest.fixture(autouse=True)
def no_rules(settings: Settings) -> None:
    settings.MEMORYHUB_RULES = ""


@pytest.fixture(params=[pytest.param(GERMAN, id="German"), pytest.param(JAPANESE, id="Japanese")])
def tongue(request: pytest.FixtureRequest) -> Tongue:
    spoken: Tongue = request.param
    return spoken


def believed() -> set[str]:
    return set(Fact.objects.current().values_list("text", flat=True))


def found(principal: Principal, question: str) -> list[str]:
    drain()
    return [item.text for item in recall(principal, query=question).items]


def test_a_member_writes_and_recalls_by_words(principal: Principal, tongue: Tongue) -> None:
    remember_fact(principal, text=tongue.home, key="home_city")
    remember_fact(principal, text=tongue.other)
    recalled = found(principal, tongue.asks_other)
    assert recalled[0] == tongue.other
    assert [text for text in recalled if set(words(tongue.asks_other)) & set(words(text))] == [tongue.other]


def test_the_same_key_supersedes(principal: Principal, tongue: Tongue) -> None:
    first = remember_fact(principal, text=tongue.home, key="home_city")
    second = remember_fact(principal, text=tongue.moved, key="home_city")
    assert (second.result, second.superseded_ids) == (WriteResult.SUPERSEDED, (first.memory_id,))
    assert believed() == {tongue.moved}
    assert found(principal, tongue.asks_home)[0] == tongue.moved


def test_without_a_key_nothing_is_merged_or_ended(principal: Principal, tongue: Tongue) -> None:
    remember_fact(principal, text=tongue.home)
    outcome = remember_fact(principal, text=tongue.moved)
    assert outcome.result is WriteResult.CREATED
    assert believed() == {tongue.home, tongue.moved}
    assert not ReviewItem.objects.exists()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Wohnt in der Hauptstraße", "wohnt in der HAUPTSTRASSE."),
        ("Wohnt in Köln", "Wohnt  in Ko\u0308ln"),
        ("ﾊﾜｲに行きたい", "ハワイに行きたい"),
    ],
)
def test_the_same_words_merge_after_normalisation(principal: Principal, first: str, second: str) -> None:
    stored = remember_fact(principal, text=first)
    again = remember_fact(principal, text=second)
    assert (again.result, again.memory_id) == (WriteResult.MERGED, stored.memory_id)
    assert believed() == {first}


def test_english_paraphrases_and_opposites_stay_beside_each_other(principal: Principal) -> None:
    for text in ("Works at Acme", "Is employed at Acme", "Likes coffee", "Does not like coffee"):
        assert remember_fact(principal, text=text).result is WriteResult.CREATED
    assert Fact.objects.current().count() == 4
    assert not same("Works at Acme", "Is employed at Acme")


def test_forgetting_takes_the_fact_and_its_words(principal: Principal, tongue: Tongue) -> None:
    session = start_session(principal)
    said = remember_episode(principal, session_id=session.pk, text=tongue.other).memory_id
    kept = remember_fact(principal, text=tongue.home, key="home_city").memory_id
    fact = remember_fact(principal, text=tongue.other, supporting_episode_ids=[said]).memory_id
    forget(principal, kind=Kind.SEMANTIC, memory_id=fact, sources=True)
    assert list(Fact.objects.values_list("pk", flat=True)) == [kept]
    assert not Episode.objects.exists()
    assert tongue.other not in found(principal, tongue.asks_other)


def test_without_an_extractor_every_episode_keeps_waiting(principal: Principal, tongue: Tongue) -> None:
    session = start_session(principal)
    remember_episode(principal, session_id=session.pk, text=tongue.home)
    assert isinstance(consolidation_extractor(), NoExtractor)
    report = consolidate(principal)
    assert (report.episodes, report.waiting) == (0, 1)
    run = ConsolidationRun.objects.get()
    assert run.state == RunState.FAILED
    assert "neither a model (MEMORYHUB_MODEL) nor a rule set (MEMORYHUB_RULES)" in run.error
    assert not Fact.objects.exists()


def test_words_of_any_script() -> None:
    assert words("Größe: 42, ÉTÉ") == ["grösse", "42", "été"]
    assert words("東京都に住む Tokyo") == ["東京", "京都", "都に", "に住", "住む", "tokyo"]
    assert words("私") == ["私"]
    assert content_words("Er wohnt in Köln") == {"wohnt", "köln"}

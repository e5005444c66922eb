"""The lists of what is remembered: grouped, searched, paged, at a fixed cost."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from memories.chat.views.remembered import PAGE_SIZE
from memories.models import Episode
from memories.services.facts.remember import pin_fact, remember_fact
from memories.services.sessions.episodes import EpisodeDraft, remember_episodes
from memories.services.sessions.sessions import start_session
from memories.types import Kind, Source
from tenants.principal import Principal
from tests.memories.chat.lives import Life

pytestmark = pytest.mark.django_db


def _list(client: Client, kind: Kind, **query: str) -> str:
    return client.get(reverse("remember:list", kwargs={"kind": kind}), query).content.decode()


def _in_order(page: str, *words: str) -> bool:
    places = [page.index(word) for word in words]
    return places == sorted(places)


def test_pinned_facts_come_first_and_those_without_category_last(ada: Client, principal: Principal) -> None:
    remember_fact(principal, text="Drinks tea")
    remember_fact(principal, text="Works at night", category="work")
    remember_fact(principal, text="Has a cat", category="home")
    pinned = remember_fact(principal, text="Is allergic to nuts", category="work").memory_id
    pin_fact(principal, fact_id=pinned, pinned=True)
    page = _list(ada, Kind.SEMANTIC).partition("group-title")[2]
    assert _in_order(page, "Pinned", "allergic to nuts", "Home", "a cat", "Work", "at night", "Other", "tea")


def test_replaced_facts_are_in_a_list_of_their_own(ada: Client, life: Life) -> None:
    current, replaced = _list(ada, Kind.SEMANTIC), _list(ada, Kind.SEMANTIC, show="replaced")
    assert ("You live in Edinburgh" in current, "You live in Bristol" in current) == (True, False)
    assert _in_order(replaced, "You live in Bristol", "You live in Edinburgh")


def test_search_finds_every_word_and_keeps_the_tab(ada: Client, life: Life) -> None:
    assert "You <mark>live</mark> in <mark>Edinburgh</mark>" in _list(ada, Kind.SEMANTIC, q="edinburgh you LIVE")
    assert "Nothing matches" in _list(ada, Kind.SEMANTIC, q="edinburgh zebra")


def test_one_search_finds_every_kind_and_conversations(ada: Client, life: Life) -> None:
    page = ada.get(reverse("remember:home"), {"q": "edinburgh"}).content.decode()
    assert "You live in <mark>Edinburgh</mark>" in page
    assert re.findall(r'(All|Facts|Conversations) <span class="count">([1-9])', page)
    assert "Nothing matches" in ada.get(reverse("remember:home"), {"q": "zebra"}).content.decode()


def test_facts_are_narrowed_and_sorted(ada: Client, principal: Principal) -> None:
    for text, category in (("Drinks tea", "taste"), ("Has a cat", "home")):
        remember_fact(principal, text=text, category=category)
    remember_fact(principal, text="Works at night", category="work", source=Source.IMPORTED)
    shown = [_list(ada, Kind.SEMANTIC, **query) for query in ({"category": "home"}, {"source": "imported"})]
    assert [("Has a cat" in page, "Works at night" in page) for page in shown] == [(True, False), (False, True)]
    assert _in_order(_list(ada, Kind.SEMANTIC, sort="oldest"), "Drinks tea", "Has a cat", "Works at night")
    assert "Nothing matches" in _list(ada, Kind.SEMANTIC, show="sensitive")


def test_events_leave_out_questions_and_greetings_unless_asked(ada: Client, principal: Principal) -> None:
    session = start_session(principal).pk
    remember_episodes(principal, session_id=session, drafts=[EpisodeDraft("Hi there!"), EpisodeDraft("I like tea.")])
    Episode.objects.of(principal).filter(text="Hi there!").update(recallable=False)
    shown = [_list(ada, Kind.EPISODIC, show=show) for show in ("", "everything")]
    assert [("Hi there!" in page, "I like tea." in page) for page in shown] == [(False, True), (True, True)]


@pytest.mark.parametrize("query", ["%", "_", "'", '"><script>', "\x00", "x" * 10_000, "\u200f"])
def test_search_takes_anything(ada: Client, life: Life, query: str) -> None:
    response = ada.get(reverse("remember:list", kwargs={"kind": Kind.SEMANTIC}), {"q": query})
    assert response.status_code == 200
    assert "<script>" not in response.content.decode()


def test_long_lists_have_pages(ada: Client, principal: Principal) -> None:
    session = start_session(principal).pk
    remember_episodes(principal, session_id=session, drafts=[EpisodeDraft(f"Said {n}.") for n in range(PAGE_SIZE + 5)])
    assert "Page 1 of 2" in _list(ada, Kind.EPISODIC)
    assert _list(ada, Kind.EPISODIC, page="2").count('class="row row-episode"') == 5
    assert "Page 2 of 2" in _list(ada, Kind.EPISODIC, page="99")


def test_lists_cost_the_same_however_long(
    ada: Client, principal: Principal, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    session = start_session(principal).pk
    remember_episodes(principal, session_id=session, drafts=[EpisodeDraft(f"Said {n}.") for n in range(22)])
    for number in range(22):
        remember_fact(principal, text=f"Likes the number {number}")
    ada.get("/")
    for kind in (Kind.SEMANTIC, Kind.PROCEDURAL, Kind.EPISODIC, Kind.CATALOG):
        with django_assert_num_queries(10 if kind is Kind.CATALOG else 12 - (kind is Kind.PROCEDURAL)):
            _list(ada, kind)

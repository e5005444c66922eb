"""The lists of what is remembered: grouped, searched, paged, at a fixed cost."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from memories.chat.views.remembered import PAGE_SIZE
from memories.services.facts.remember import pin_fact, remember_fact
from memories.services.sessions.episodes import EpisodeDraft, remember_episodes
from memories.services.sessions.sessions import start_session
from memories.types import Kind
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
    page = _list(ada, Kind.SEMANTIC)
    assert _in_order(page, "Pinned", "allergic to nuts", "Home", "a cat", "Work", "at night", "Other", "tea")


def test_replaced_facts_are_in_a_list_of_their_own(ada: Client, life: Life) -> None:
    current, replaced = _list(ada, Kind.SEMANTIC), _list(ada, Kind.SEMANTIC, show="replaced")
    assert ("Lives in Edinburgh" in current, "Lives in Bristol" in current) == (True, False)
    assert _in_order(replaced, "Lives in Bristol", "Lives in Edinburgh")


def test_search_finds_every_word_and_keeps_the_tab(ada: Client, life: Life) -> None:
    assert "Lives in Edinburgh" in _list(ada, Kind.SEMANTIC, q="edinburgh LIVES")
    assert "Nothing found" in _list(ada, Kind.SEMANTIC, q="edinburgh zebra")


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
        with django_assert_num_queries(10 if kind in (Kind.SEMANTIC, Kind.EPISODIC) else 9):
            _list(ada, kind)

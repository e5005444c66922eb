"""All conversations: listed, renamed, forgotten."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from memories.models import Episode, Fact, Session
from memories.services.sessions.sessions import start_session
from tenants.principal import Principal
from tests.memories.chat.lives import Life

pytestmark = pytest.mark.django_db


def test_conversations_are_listed_at_a_fixed_cost(
    ada: Client, principal: Principal, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(20):
        start_session(principal, title=f"Talk {number}")
    ada.get("/")
    with django_assert_num_queries(CONVERSATIONS_QUERIES):
        page = ada.get(reverse("chat:conversations")).content.decode()
    assert page.count('class="row"') == 20


CONVERSATIONS_QUERIES = 5


def test_a_conversation_can_be_renamed(ada: Client, life: Life) -> None:
    page = ada.post(reverse("chat:rename", args=[life.session]), {"title": "Moving <b>house</b>"}, follow=True)
    assert "Moving &lt;b&gt;house&lt;/b&gt;" in page.content.decode()


@pytest.mark.parametrize(("title", "reason"), [("", "is empty"), ("x" * 300, "is too long"), ("a\x00", "NUL")])
def test_a_title_that_cannot_be_is_refused_with_a_reason(ada: Client, life: Life, title: str, reason: str) -> None:
    page = ada.post(reverse("chat:rename", args=[life.session]), {"title": title}, follow=True).content.decode()
    assert reason in page
    assert Session.objects.get(pk=life.session).title == "We left Bristol for Edinburgh"


def test_the_page_of_a_conversation_renames_and_deletes_in_place(ada: Client, life: Life) -> None:
    page = ada.get(reverse("chat:session", args=[life.session])).content.decode()
    assert reverse("chat:rename", args=[life.session]) in page
    assert "Delete this conversation?" in page
    assert ada.get(reverse("chat:forget", args=[life.session])).status_code == 405


@pytest.mark.parametrize(("query", "found"), [("bristol", 1), ("edinburgh it", 1), ("lisbon", 0), ("%", 0)])
def test_conversations_are_searched_by_title_and_message(ada: Client, life: Life, query: str, found: int) -> None:
    page = ada.get(reverse("chat:conversations"), {"q": query}).content.decode()
    assert page.count('class="row"') == found
    assert f"{found} conversation" in page


def test_facts_of_a_forgotten_conversation_stay_unless_asked(ada: Client, life: Life) -> None:
    page = ada.post(reverse("chat:forget", args=[life.session]), follow=True).content.decode()
    assert "Permanently deleted: the conversation and 1 memory from it." in page
    assert not Episode.objects.exists()
    assert Fact.objects.filter(pk=life.edinburgh).exists()


def test_facts_go_along_when_asked(ada: Client, life: Life) -> None:
    ada.post(reverse("chat:forget", args=[life.session]), {"cascade": "1"})
    assert not Fact.objects.filter(pk=life.edinburgh).exists()

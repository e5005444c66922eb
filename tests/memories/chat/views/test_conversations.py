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
def test_a_title_that_cannot_be_comes_back_with_a_reason(ada: Client, life: Life, title: str, reason: str) -> None:
    response = ada.post(reverse("chat:rename", args=[life.session]), {"title": title})
    assert (response.status_code, reason in response.content.decode()) == (400, True)


def test_forgetting_a_conversation_asks_first(ada: Client, life: Life) -> None:
    assert "goes for good" in ada.get(reverse("chat:forget", args=[life.session])).content.decode()
    assert Session.objects.filter(pk=life.session).exists()


def test_facts_of_a_forgotten_conversation_stay_unless_asked(ada: Client, life: Life) -> None:
    page = ada.post(reverse("chat:forget", args=[life.session]), follow=True).content.decode()
    assert "Forgotten for good: the conversation, and 1 memory from it." in page
    assert not Episode.objects.exists()
    assert Fact.objects.filter(pk=life.edinburgh).exists()


def test_facts_go_along_when_asked(ada: Client, life: Life) -> None:
    ada.post(reverse("chat:forget", args=[life.session]), {"cascade": "1"})
    assert not Fact.objects.filter(pk=life.edinburgh).exists()

"""The palette finds conversations, memories and pages of the member."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from tests.memories.chat.lives import Life

pytestmark = pytest.mark.django_db


def found(client: Client, query: str) -> str:
    return client.get(reverse("chat:find"), {"q": query}).content.decode()


def test_without_words_it_lists_the_latest_conversations_and_the_pages(ada: Client, life: Life) -> None:
    page = found(ada, "")
    assert reverse("chat:session", args=[life.session]) in page
    assert reverse("connect:home") in page
    assert "Lives in Edinburgh" not in page


def test_words_find_conversations_facts_and_how_tos(ada: Client, life: Life) -> None:
    assert reverse("chat:session", args=[life.session]) in found(ada, "edinburgh")
    assert "You live in Edinburgh" in found(ada, "edinburgh")
    assert "Reset the hub" in found(ada, "hub")
    assert reverse("connect:home") in found(ada, "connect")


def test_what_is_typed_is_shown_as_text(ada: Client) -> None:
    page = found(ada, "<b>zzz</b>")
    assert "Nothing matches" in page and "<b>zzz" not in page

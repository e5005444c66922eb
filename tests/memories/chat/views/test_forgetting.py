"""Forgetting asks first and says plainly what goes; afterwards it is gone from every page."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.test import Client
from django.urls import reverse

from memories.models import Episode, Fact
from memories.types import Kind
from tests.memories.chat.lives import Life

pytestmark = pytest.mark.django_db


def _address(kind: Kind, memory_id: UUID) -> str:
    return reverse("remember:forget", kwargs={"kind": kind, "memory_id": memory_id})


def test_the_page_names_what_goes_and_changes_nothing(ada: Client, life: Life) -> None:
    page = ada.get(_address(Kind.SEMANTIC, life.edinburgh)).content.decode()
    assert "This goes, and cannot come back" in page
    assert "Also forget the words that it came from" in page
    assert Fact.objects.filter(pk=life.edinburgh).exists()


def test_a_fact_goes_alone_unless_asked(ada: Client, life: Life) -> None:
    response = ada.post(_address(Kind.SEMANTIC, life.edinburgh), follow=True)
    assert "Forgotten for good: one fact." in response.content.decode()
    assert Episode.objects.filter(pk=life.episode).exists()
    assert not Fact.objects.filter(pk=life.edinburgh).exists()


def test_its_words_go_along_when_asked(ada: Client, life: Life) -> None:
    response = ada.post(_address(Kind.SEMANTIC, life.edinburgh), {"more": "1"}, follow=True)
    assert "one fact, and 1 memory with it." in response.content.decode()
    assert not Episode.objects.filter(pk=life.episode).exists()


def test_one_comes_back_to_where_one_was_but_not_to_what_is_gone(ada: Client, life: Life) -> None:
    chat = reverse("chat:session", args=[life.session])
    gone = reverse("remember:memory", kwargs={"kind": Kind.SEMANTIC, "memory_id": life.bristol})
    assert ada.post(_address(Kind.SEMANTIC, life.edinburgh), {"next": chat})["Location"] == chat
    assert ada.post(_address(Kind.SEMANTIC, life.bristol), {"next": gone})["Location"] == "/remember/facts/"

"""One memory's page, and correcting, retiring and pinning it by plain forms."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.test import Client
from django.urls import reverse

from memories.models import Fact, Playbook
from memories.services.facts.remember import remember_fact
from memories.types import Kind, Scope, Source, Status
from tenants.principal import Principal
from tests.memories.chat.lives import Life

pytestmark = pytest.mark.django_db


def _address(action: str, kind: Kind, memory_id: UUID) -> str:
    return reverse(f"remember:{action}", kwargs={"kind": kind, "memory_id": memory_id})


def test_a_fact_shows_history_words_and_uses(ada: Client, life: Life) -> None:
    page = ada.get(_address("memory", Kind.SEMANTIC, life.edinburgh)).content.decode()
    for words in ("Changed on", "We left Bristol for Edinburgh", "home city", "100%"):
        assert words in page
    assert "No answer was made from it yet." in page


def test_a_field_with_the_stored_words_of_a_fact_that_speaks_to_its_owner_says_so(ada: Client, life: Life) -> None:
    for address in (_address("memory", Kind.SEMANTIC, life.edinburgh), f"/chat/{life.session}/", "/remember/facts/"):
        page = ada.get(address).content.decode()
        assert "You live in Edinburgh</" in page and ">Lives in Edinburgh</textarea>" in page
        assert "Write as shown, or with “I”." in page


def test_a_correction_replaces_the_wording(ada: Client, life: Life) -> None:
    response = ada.post(_address("correct", Kind.SEMANTIC, life.edinburgh), {"text": "Lives in Leith"}, follow=True)
    old = Fact.objects.get(pk=life.edinburgh)
    assert (old.status, old.retracted) == (Status.SUPERSEDED, True)
    assert "The old wording stays in the history" in response.content.decode()
    assert "Lives in Leith" in response.content.decode()


def test_a_fact_without_a_source_message_says_why(ada: Client, principal: Principal, life: Life) -> None:
    for words, source, told in (
        ("Plays the cello", "user_stated", "you wrote this"),
        ("Sings", "imported", "this was imported"),
    ):
        fact = remember_fact(principal, text=words, source=Source(source)).memory_id
        assert f"No source message: {told}" in ada.get(_address("memory", Kind.SEMANTIC, fact)).content.decode()
    assert "No source message" not in ada.get(_address("memory", Kind.SEMANTIC, life.edinburgh)).content.decode()


@pytest.mark.parametrize("more", [{}, {"changed": "1"}])
def test_a_correction_in_the_first_person_is_stored_as_the_chat_stores_it(
    ada: Client, life: Life, more: dict[str, str]
) -> None:
    typed = {"text": "I live in Copenhagen", **more}
    page = ada.post(_address("correct", Kind.SEMANTIC, life.edinburgh), typed, follow=True).content.decode()
    assert Fact.objects.current().filter(text="Lives in Copenhagen").exists()
    assert "You live in Copenhagen</h1>" in page


def test_a_how_to_is_corrected_step_by_step(ada: Client, life: Life) -> None:
    ada.post(_address("correct", Kind.PROCEDURAL, life.howto), {"text": "Hold it\r\nCount to ten"})
    assert Playbook.objects.get(status=Status.ACTIVE).steps == ["Hold it", "Count to ten"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [("", "is empty"), ("lives in EDINBURGH.", "says the same"), ("x" * 9_000, "is too long"), ("a\x00", "NUL")],
)
def test_a_correction_that_cannot_be_comes_back_with_a_reason(ada: Client, life: Life, text: str, reason: str) -> None:
    response = ada.post(_address("correct", Kind.SEMANTIC, life.edinburgh), {"text": text})
    assert (response.status_code, reason in response.content.decode()) == (400, True)
    assert Fact.objects.get(pk=life.edinburgh).status == Status.ACTIVE


def test_what_was_replaced_is_corrected_where_it_stands_in_the_history(ada: Client, life: Life) -> None:
    form = ada.get(_address("memory", Kind.SEMANTIC, life.bristol)).content.decode()
    assert "the right one takes its place there" in form
    assert "Mark as outdated</summary>" not in form
    response = ada.post(_address("correct", Kind.SEMANTIC, life.bristol), {"text": "Lives in Bath"}, follow=True)
    assert "The old wording stays in the history" in response.content.decode()
    assert Fact.objects.get(text="Lives in Bath").superseded_by_id == life.edinburgh


def test_a_replacement_is_undone_from_the_history(ada: Client, life: Life) -> None:
    undo = _address("undo", Kind.SEMANTIC, life.bristol)
    page = ada.get(_address("memory", Kind.SEMANTIC, life.edinburgh)).content.decode()
    assert page.count(f'action="{undo}"') == 1
    page = ada.post(undo, follow=True).content.decode()
    assert "Undone. It is current again" in page and f'action="{undo}"' not in page
    back = Fact.objects.current().get()
    assert back.text == "Lives in Bristol"
    again = _address("undo", Kind.SEMANTIC, back.pk)
    assert f'action="{again}"' in page
    ada.post(again)
    assert Fact.objects.current().get().text == "Lives in Edinburgh"


def test_a_retired_how_to_comes_back(ada: Client, life: Life) -> None:
    ada.post(_address("retire", Kind.PROCEDURAL, life.howto))
    page = ada.post(_address("undo", Kind.PROCEDURAL, life.howto), follow=True).content.decode()
    assert "Undone. It is current again" in page
    back = Playbook.objects.current().get()
    assert back.success_count == 3
    page = ada.post(_address("undo", Kind.PROCEDURAL, back.pk), follow=True).content.decode()
    assert "Undone. It is outdated again" in page


def test_retiring_keeps_it_in_the_history(ada: Client, life: Life) -> None:
    page = ada.post(_address("retire", Kind.SEMANTIC, life.edinburgh), {"reason": "moved on"}, follow=True)
    assert "Marked as outdated. It stays in the history" in page.content.decode()
    assert "You marked it as outdated: moved on" in page.content.decode()


def test_pinning_and_unpinning(ada: Client, life: Life) -> None:
    for wanted in ("1", "0"):
        ada.post(_address("pin", Kind.SEMANTIC, life.edinburgh), {"pinned": wanted})
        assert Fact.objects.get(pk=life.edinburgh).pinned is (wanted == "1")


@pytest.mark.parametrize("action", ["correct", "retire", "pin", "undo", "forget"])
def test_members_cannot_change_what_is_shared(ada: Client, admin_principal: Principal, action: str) -> None:
    fact = remember_fact(admin_principal, text="We close in August", scope=Scope.TENANT).memory_id
    response = ada.post(_address(action, Kind.SEMANTIC, fact), {"text": "We never close", "pinned": "1"})
    assert response.status_code in (403, 404)
    assert Fact.objects.get().text == "We close in August"

"""Forgetting by page and by card: it says what goes, hides it at once, and can be undone for 30 seconds."""

from __future__ import annotations

import re
from uuid import UUID

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memories.agent.loop import run_turn
from memories.models import Episode, Fact, ForgetProposal, Playbook
from memories.services.facts.remember import remember_fact
from memories.services.playbooks import remember_playbook
from memories.types import Kind, Status
from tenants.principal import Principal
from tests.memories.agent.conftest import ScriptedModel, call, say
from tests.memories.chat.lives import Life

pytestmark = pytest.mark.django_db


def _address(kind: Kind, memory_id: UUID) -> str:
    return reverse("remember:forget", kwargs={"kind": kind, "memory_id": memory_id})


@pytest.fixture
def asked(principal: Principal) -> ForgetProposal:
    """A proposal of the agent, in a conversation."""
    fact = remember_fact(principal, text="Plays the cello").memory_id
    model = ScriptedModel(call("forget_memory", memory_ids=[fact]), say("This would go."))
    list(run_turn(principal, text="Forget the cello", model=model))
    return ForgetProposal.objects.of(principal).get()


def test_the_page_names_what_goes_and_changes_nothing(ada: Client, life: Life) -> None:
    page = ada.get(_address(Kind.SEMANTIC, life.edinburgh)).content.decode()
    dialog = page.partition("Delete this fact?")[2]
    assert "We left Bristol for Edinburgh" in dialog and dialog.count("<time") == 2
    assert Fact.objects.filter(pk=life.edinburgh).exists()


def test_the_page_forgets_a_fact_with_its_words_and_offers_the_undo(ada: Client, life: Life) -> None:
    page = ada.post(_address(Kind.SEMANTIC, life.edinburgh), follow=True).content.decode()
    assert "Deleted: 1 fact and 1 event." in page
    assert Fact.objects.get(pk=life.edinburgh).status == Episode.objects.get().status == Status.EVICTED
    (undo,) = re.findall(r'action="(/chat/forgetting/[^"]+/undo/)"', page)
    assert "Brought back: 1 fact and 1 event." in ada.post(undo, {"next": "/"}, follow=True).content.decode()
    assert Fact.objects.get(pk=life.edinburgh).status == Episode.objects.get().status == Status.ACTIVE


def test_one_comes_back_to_where_one_was_but_not_to_what_is_gone(ada: Client, life: Life) -> None:
    chat = reverse("chat:session", args=[life.session])
    gone = reverse("remember:memory", kwargs={"kind": Kind.SEMANTIC, "memory_id": life.bristol})
    assert ada.post(_address(Kind.SEMANTIC, life.edinburgh), {"next": chat})["Location"] == chat
    assert ada.post(_address(Kind.SEMANTIC, life.bristol), {"next": gone})["Location"] == "/remember/facts/"


@pytest.mark.parametrize(
    ("decisions", "words"),
    [
        ((), "This will be deleted"),
        (("keep",), "Nothing was deleted."),
        (("confirm",), "Deleted: 1 fact and 1 event. That includes this exchange."),
        (("confirm", "undo"), "Undone. Everything is back."),
    ],
)
def test_the_card_says_how_it_stands(
    ada: Client, asked: ForgetProposal, decisions: tuple[str, ...], words: str
) -> None:
    for decision in decisions:
        answer = ada.post(reverse(f"chat:forget-{decision}", args=[asked.pk]))
        assert answer["Location"] == f"/chat/{asked.session_id}/#turn-1"
    assert words in ada.get(f"/chat/{asked.session_id}/").content.decode()


def test_the_card_and_the_dialog_tell_what_goes_to_its_owner(ada: Client, asked: ForgetProposal) -> None:
    fact = Fact.objects.get()
    for address in (reverse("chat:forgetting", args=[asked.pk]), _address(Kind.SEMANTIC, fact.pk)):
        assert ">You play the cello</span>" in ada.get(address).content.decode()


def test_a_script_gets_the_card_back_and_a_refusal_in_words(ada: Client, asked: ForgetProposal) -> None:
    address, headers = reverse("chat:forget-confirm", args=[asked.pk]), {"Accept": "application/json"}
    assert "Undo" in ada.post(address, headers=headers).json()["html"]
    again = ada.post(address, headers=headers)
    assert (again.status_code, again.json()["message"]) == (409, "This proposal is confirmed already.")


def test_a_card_that_is_opened_late_finds_it_erased(ada: Client, principal: Principal, asked: ForgetProposal) -> None:
    ada.post(reverse("chat:forget-confirm", args=[asked.pk]))
    ForgetProposal.objects.of(principal).update(erase_at=timezone.now())
    page = ada.get(f"/chat/{asked.session_id}/").content.decode()
    assert "Permanently deleted: 1 fact and 1 event. That includes this exchange." in page and "cello" not in page
    assert not Fact.objects.exists()


def test_the_offline_chat_shows_the_card_in_its_stream(ada: Client, principal: Principal) -> None:
    remember_fact(principal, text="Plays the cello")
    frames = b"".join(ada.post("/chat/send/", {"message": "Forget the cello"}, headers={"Accept": "text/event-stream"}))
    assert b"event: forget_proposed" in frames and b"data-forget-card" in frames


def test_an_agents_how_to_waits_for_the_member(ada: Client, principal: Principal) -> None:
    book = remember_playbook(principal, title="Brew tea", steps=["Boil water", "Wait"], proposed=True).memory_id
    address = reverse("remember:memory", kwargs={"kind": Kind.PROCEDURAL, "memory_id": book})
    assert "suggested by your agent" in ada.get(address).content.decode()
    ada.post(reverse("remember:accept", kwargs={"kind": Kind.PROCEDURAL, "memory_id": book}))
    assert "suggested by your agent" not in ada.get(address).content.decode()
    assert not Playbook.objects.get().proposed

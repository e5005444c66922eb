"""What a member does in a list: add, edit in place, and change or delete what is selected."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from memories.models import Fact, ForgetProposal, Playbook
from memories.services.facts.remember import remember_fact
from memories.types import Kind, Scope, Status
from tenants.principal import Principal
from tests.memories.chat.lives import Life, live

pytestmark = pytest.mark.django_db


def _post(client: Client, name: str, kind: Kind = Kind.SEMANTIC, **form: object) -> Any:
    return client.post(reverse(f"remember:{name}", kwargs={"kind": kind}), form, follow=True)


def test_a_sentence_becomes_the_facts_that_it_states(ada: Client, principal: Principal) -> None:
    remember_fact(principal, text="Lives in Bristol", key="home_city")
    page = _post(ada, "add", text=["I live in Leeds.", "I live in a house that my aunt built", ""]).content.decode()
    current = set(Fact.objects.of(principal).current().values_list("text", flat=True))
    assert {"Lives in Leeds", "I live in a house that my aunt built"} == current
    assert "You live in Leeds" in page and "Saved 2 memories." in page


def test_a_how_to_is_added_step_by_step(ada: Client, principal: Principal) -> None:
    _post(ada, "add", Kind.PROCEDURAL, title="Clean the chain", trigger="After rain", steps="Wipe it\r\n\r\nOil it")
    assert Playbook.objects.of(principal).get().steps == ["Wipe it", "Oil it"]


@pytest.mark.parametrize(
    ("kind", "form", "why"),
    [(Kind.SEMANTIC, {"text": " "}, "The fact is empty"), (Kind.PROCEDURAL, {"title": "Cook"}, "steps")],
)
def test_what_cannot_be_added_comes_back(ada: Client, kind: Kind, form: dict[str, str], why: str) -> None:
    response = _post(ada, "add", kind, **form)
    assert response.status_code == 400
    assert why in response.content.decode() and form.get("title", "") in response.content.decode()


def test_selected_facts_are_outdated_together_and_undone(ada: Client, principal: Principal) -> None:
    ids = [remember_fact(principal, text=text).memory_id for text in ("Drinks tea", "Has a cat")]
    page = _post(ada, "change", action="retire", ids=ids).content.decode()
    assert "Marked 2 as outdated." in page and not Fact.objects.of(principal).current()
    assert "Undone." in _post(ada, "change", action="undo", ids=ids).content.decode()
    assert set(Fact.objects.of(principal).current().values_list("text", flat=True)) == {"Drinks tea", "Has a cat"}


def test_deleting_asks_in_the_list_and_can_be_undone(ada: Client, life: Life) -> None:
    asked = _post(ada, "change", action="delete", ids=[life.edinburgh])
    assert 'role="dialog" aria-modal="true"' in asked.content.decode()
    proposal = ForgetProposal.objects.unscoped("the test").latest("created_at")
    assert Fact.objects.get(pk=life.edinburgh).status == Status.ACTIVE
    there = reverse("remember:list", kwargs={"kind": Kind.SEMANTIC})
    page = ada.post(reverse("chat:forget-confirm", args=[proposal.pk]), {"next": there}, follow=True)
    assert "Deleted: 1 fact" in page.content.decode()
    assert Fact.objects.get(pk=life.edinburgh).status == Status.EVICTED


@pytest.mark.parametrize("action", ["delete", "retire", "pin", "unpin", "undo"])
def test_nobody_changes_what_is_another_s_or_shared(
    ada: Client, other_member: Principal, admin_principal: Principal, action: str
) -> None:
    theirs = live(other_member).edinburgh
    shared = remember_fact(admin_principal, text="We close in August", scope=Scope.TENANT).memory_id
    before = list(Fact.objects.unscoped("the test").order_by("pk").values())
    statuses = [_post(ada, "change", action=action, ids=[each]).status_code for each in (theirs, uuid.uuid4(), "x")]
    assert statuses == [404, 404, 404]
    assert _post(ada, "change", action=action, ids=[shared]).status_code == 403
    assert list(Fact.objects.unscoped("the test").order_by("pk").values()) == before


def test_the_dialog_of_another_member_is_not_shown(ada: Client, other_member: Principal) -> None:
    theirs = live(other_member, "The safe opens with a very long word").proposal
    page = ada.get(reverse("remember:list", kwargs={"kind": Kind.SEMANTIC}), {"forget": str(theirs)}).content.decode()
    assert 'role="dialog" aria-modal="true"' not in page and "safe opens" not in page

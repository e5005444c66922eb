"""The frame of every page: what does not work, which organisations there are, and how to change between them."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from memories.services.facts.remember import remember_fact
from tenants.models import Membership
from tests.factories import make_tenant, own_principal

pytestmark = pytest.mark.django_db


def test_a_search_index_that_does_not_answer_is_said_on_every_page(ada: Client, plane_is_down: None) -> None:
    for address in ("/", reverse("remember:home"), reverse("chat:conversations")):
        page = ada.get(address, follow=True).content.decode()
        assert "Search does not answer." in page
        assert "nothing is lost" in page


def test_who_belongs_to_several_organisations_can_switch(ada: Client, membership: Membership) -> None:
    other = Membership.objects.create(tenant=make_tenant("Zephyr Clinic"), user=membership.user)
    remember_fact(own_principal(other), text="Is on call on Sundays")
    facts = reverse("remember:list", kwargs={"kind": "semantic"})
    assert "Zephyr Clinic" in ada.get("/").content.decode()
    assert "on call" not in ada.get(facts).content.decode()
    ada.post(reverse("tenants:switch"), {"tenant": str(other.tenant_id)})
    assert "on call" in ada.get(facts).content.decode()


def test_a_page_that_is_not_found_keeps_the_navigation(ada: Client) -> None:
    page = ada.get("/nowhere/")
    assert page.status_code == 404
    assert reverse("remember:home") in page.content.decode()


def test_signing_out_is_a_form(ada: Client) -> None:
    assert f'action="{reverse("logout")}"' in ada.get("/").content.decode()
    ada.post(reverse("logout"))
    assert ada.get("/")["Location"].startswith(reverse("login"))


@pytest.mark.parametrize(("name", "password"), [("nobody", "x"), ("", "")])
def test_a_failed_sign_in_does_not_say_which_half_was_wrong(client: Client, name: str, password: str) -> None:
    page = client.post(reverse("login"), {"username": name, "password": password}).content.decode()
    assert 'role="alert"' in page
    assert "does not exist" not in page

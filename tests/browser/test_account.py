"""The account page in a browser: switches, a temporary chat, an import, and everything deleted and brought back."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from memories.models import Episode, Fact, Session
from memories.services.admin_requests import note_question
from memories.services.facts.remember import remember_fact
from tenants.models import Membership
from tenants.principals import reading_principal
from tests.browser.conftest import OpenPage
from tests.browser.staff_pages import faults_of
from tests.browser.talking import ask
from tests.factories import make_membership, own_principal

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def photographed(page: Page, name: str) -> None:
    """Keep a picture if a folder for them is named."""
    if folder := os.environ.get("MEMORYHUB_PICTURES"):
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


@pytest.mark.parametrize(("dark", "phone"), [(False, False), (True, True)])
def test_the_pages_are_readable_everywhere(open_page: OpenPage, member: Membership, dark: bool, phone: bool) -> None:
    for name, role in (("Tamsin Ferrar", "support"), ("Colm Byrne", "auditor")):
        staff = make_membership(member.tenant, role, name)
        note_question(reading_principal(member, staff=staff.user, purpose="Ticket 4711: a wrong answer"), "Where?")
    remember_fact(own_principal(member), text="Lives in Leeds")
    page = open_page(dark=dark, phone=phone)
    faults = []
    for path in ("/account/", "/account/delete/", "/account/import/", "/?temporary=1", "/"):
        page.goto(path)
        photographed(page, f"{path.strip('/?').replace('/', '-') or 'chat'}-{'phone' if phone else 'desk'}")
        faults += faults_of(page, path)
    assert faults == []


def test_memory_is_paused_with_a_switch_and_the_chat_says_so(open_page: OpenPage, member: Membership) -> None:
    page = open_page("/account/")
    page.get_by_role("switch", name="Learn and store").uncheck()
    page.locator("#memory form").first.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Memory is paused: nothing new")).to_be_visible()
    page.goto("/")
    expect(page.get_by_role("link", name="Memory is paused")).to_be_visible()
    ask(page, "I live in Leeds.")
    assert not Episode.objects.of(own_principal(member)).exists()


def test_a_temporary_chat_is_held_and_ended_in_the_page(open_page: OpenPage, member: Membership) -> None:
    page = open_page()
    page.get_by_role("link", name="Temporary chat").click()
    expect(page.get_by_role("heading", name="A chat off the record")).to_be_visible()
    ask(page, "I live in Leeds.")
    ask(page, "Where do I live?")
    expect(page.get_by_role("heading", name="Temporary chat")).to_be_visible()
    session = Session.objects.of(own_principal(member)).get()
    assert session.temporary and not Fact.objects.of(own_principal(member)).exists()
    photographed(page, "temporary-running")
    page.get_by_role("button", name="End and delete").click()
    expect(page.get_by_text("The temporary chat is deleted.")).to_be_visible()
    assert not Session.objects.of(own_principal(member)).exists()


def test_three_things_to_tell_become_facts(open_page: OpenPage, member: Membership) -> None:
    page = open_page()
    page.get_by_role("button", name="I live in").click()
    page.keyboard.type("Leeds")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("Leeds").last).to_be_visible()
    page.wait_for_selector("[data-usage]")
    assert "Leeds" in Fact.objects.of(own_principal(member)).get().text


def test_an_export_of_chatgpt_is_checked_then_imported(open_page: OpenPage, member: Membership, tmp_path: Path) -> None:
    content = {"content_type": "text", "parts": ["I live in Leeds."]}
    message = {"author": {"role": "user"}, "content": content, "create_time": 1_700_000_000}
    mapping = {"n1": {"id": "n1", "parent": None, "message": message}}
    conversation = {"id": "c1", "title": "Home", "create_time": 1_700_000_000, "current_node": "n1", "mapping": mapping}
    file = tmp_path / "conversations.json"
    file.write_text(json.dumps([conversation]))
    page = open_page("/account/import/")
    page.locator("input[type=file]").set_input_files(file)
    page.get_by_role("button", name="Check the file").click()
    expect(page.get_by_text("This would come:")).to_be_visible()
    photographed(page, "import-checked")
    assert not Episode.objects.of(own_principal(member)).exists()
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_text("Imported:")).to_be_visible()
    assert Episode.objects.of(own_principal(member)).count() == 1


def test_everything_is_deleted_by_word_and_undone_in_time(open_page: OpenPage, member: Membership) -> None:
    remember_fact(own_principal(member), text="Lives in Leeds")
    page = open_page("/account/delete/")
    page.get_by_label("Type “delete everything”").fill("delete everything")
    page.get_by_role("button", name="Delete everything").click()
    expect(page.get_by_text("Your memory is about to be deleted: 1 fact.")).to_be_visible()
    photographed(page, "deletion-pending")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Undone. Everything is back.")).to_be_visible()
    assert Fact.objects.of(own_principal(member)).count() == 1

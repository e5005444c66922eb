"""What somebody typed, selected, or had the cursor in outlasts what they do beside it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from memories.models import Session
from memories.services.facts.remember import remember_fact
from memories.services.feedback import give_feedback
from tenants.models import Membership
from tests.browser.conftest import OpenPage, SitDown
from tests.browser.workshop import Workshop, tell_ada
from tests.factories import own_principal

pytestmark = [pytest.mark.browser, pytest.mark.english, pytest.mark.django_db(transaction=True)]


def test_a_note_stays_typed_while_the_case_is_saved_and_a_correction_sent(
    sit_down: SitDown, workshop: Workshop
) -> None:
    tell_ada(workshop)
    session = Session.objects.of(workshop.own).latest("last_turn_at")
    give_feedback(workshop.own, session_id=session.pk, turn=1, verdict="down", note="")
    page = sit_down(workshop.support)
    page.goto(f"/admin/memories/membermemory/{workshop.ada.pk}/conversations/{session.pk}/1/")
    note, ticket = page.get_by_label("Note (staff only)"), page.get_by_label("Ticket")
    note.fill("Ada called back.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("The case is saved.")).to_be_visible()
    expect(note).to_have_value("Ada called back.")
    ticket.fill("HD-42")
    page.get_by_text("Propose a correction").click()
    page.get_by_label("What it should say").fill("Collects the bike at noon")
    page.get_by_role("button", name="Send to the member").click()
    expect(page.get_by_label("State")).to_have_value("waiting")
    expect(note).to_have_value("Ada called back.")
    expect(ticket).to_have_value("HD-42")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(note).to_have_value("")


def test_escape_from_the_search_leads_back_to_the_message(open_page: OpenPage) -> None:
    page = open_page()
    page.get_by_label("Message", exact=True).fill("I play the")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_label("Message", exact=True)).to_be_focused()


def test_the_card_of_a_deletion_keeps_the_focus(open_page: OpenPage, member: Membership) -> None:
    remember_fact(own_principal(member), text="Plays the cello")
    page = open_page()
    page.get_by_label("Message", exact=True).fill("Forget the cello")
    page.keyboard.press("Enter")
    card = page.locator("[data-forget-card]")
    for button in ("Delete", "Undo"):
        card.get_by_role("button", name=button, exact=True).press("Enter")
    expect(card).to_contain_text("Undone.")
    expect(card).to_be_focused()


def test_cancel_of_a_deletion_keeps_the_selection_and_the_focus(open_page: OpenPage, member: Membership) -> None:
    for words in ("Plays the cello", "Lives in Leeds"):
        remember_fact(own_principal(member), text=words)
    page = open_page("/remember/facts/")
    page.get_by_role("checkbox", name="cello").check()
    _delete(page).press("Enter")
    cancel = page.get_by_role("button", name="Cancel", exact=True)
    expect(cancel).to_be_focused()
    cancel.press("Enter")
    expect(page.get_by_role("dialog", name="Delete")).to_have_count(0)
    expect(page.get_by_role("checkbox", name="cello")).to_be_checked()
    expect(page.get_by_text("1 selected")).to_be_visible()
    expect(_delete(page)).to_be_focused()


def test_a_fact_is_edited_in_place_with_the_cursor_in_its_field(open_page: OpenPage, member: Membership) -> None:
    remember_fact(own_principal(member), text="Lives in Leeds")
    page = open_page("/remember/facts/")
    edit, field = page.locator(".row-edit > summary"), page.locator(".row-edit textarea")
    edit.press("Enter")
    expect(field).to_be_focused()
    field.fill("I live in")
    page.get_by_role("button", name="Cancel", exact=True).press("Enter")
    expect(edit).to_be_focused()
    expect(field).to_have_value("Lives in Leeds")
    expect(field).to_be_hidden()


def test_enter_saves_a_fact_and_its_notice_is_closed(open_page: OpenPage, member: Membership) -> None:
    remember_fact(own_principal(member), text="Lives in Leeds")
    page = open_page("/remember/facts/")
    page.get_by_role("button", name="Add a fact").click()
    page.get_by_role("dialog", name="Add a fact").get_by_role("textbox").fill("I play the cello")
    page.keyboard.press("Enter")
    notice = page.get_by_role("status").filter(has_text="Saved 1 memory.")
    notice.get_by_role("button", name="Close").click()
    expect(notice).to_have_count(0)


def test_on_a_phone_a_toast_stands_between_the_answer_and_the_message(open_page: OpenPage) -> None:
    page = open_page(phone=True)
    page.get_by_label("Message", exact=True).fill("I play the cello.")
    page.get_by_role("button", name="Send").click()
    toast = page.locator("[data-toasts] .toast")
    expect(toast).to_contain_text("cello")
    answers, box, composer = (
        page.locator(each).bounding_box() for each in ("[data-transcript]", "[data-toasts] .toast", "[data-composer]")
    )
    assert answers and box and composer
    assert answers["y"] + answers["height"] <= box["y"] and box["y"] + box["height"] <= composer["y"]
    page.get_by_label("Message", exact=True).fill("Thanks")
    page.get_by_role("button", name="Send").click()
    expect(toast).to_have_count(0)


def _delete(page: Page) -> Locator:
    return page.locator("#bulk").get_by_role("button", name="Delete", exact=True)

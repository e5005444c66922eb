"""By keyboard alone, on a phone, in the dark: everything stays in reach."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from memories.services.facts.remember import remember_fact
from tenants.models import Membership
from tests.browser.conftest import AT_HOME, PHONE, Browse, OpenPage
from tests.browser.staff_pages import unfit_in
from tests.browser.talking import ask
from tests.factories import own_principal

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_slash_searches_j_and_k_walk_and_escape_leaves(open_page: OpenPage, member: Membership) -> None:
    for text in ("Has a cat", "Drinks tea"):
        remember_fact(own_principal(member), text=text)
    page = open_page("/remember/facts/")
    page.keyboard.press("j")
    expect(page.locator(":focus")).to_contain_text("You drink tea")
    page.keyboard.press("j")
    expect(page.locator(":focus")).to_contain_text("You have a cat")
    page.keyboard.press("k")
    expect(page.locator(":focus")).to_contain_text("You drink tea")
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("jn/")
    expect(page.get_by_role("searchbox")).to_have_value("jn/")
    page.keyboard.press("Escape")
    expect(page.get_by_role("searchbox")).not_to_be_focused()


def test_n_begins_a_new_chat_and_slash_goes_to_the_search(open_page: OpenPage) -> None:
    page = open_page()
    ask(page, "I live in Bristol.")
    page.get_by_label("Message", exact=True).press("Escape")
    page.keyboard.press("n")
    page.wait_for_url(AT_HOME)
    expect(page.get_by_label("Message", exact=True)).to_be_focused()
    page.get_by_label("Message", exact=True).press("Escape")
    page.keyboard.press("/")
    page.wait_for_url("**/remember/facts/#search")
    expect(page.get_by_role("searchbox")).to_be_focused()


def test_shift_enter_makes_a_line_and_enter_sends(open_page: OpenPage) -> None:
    page = open_page()
    message = page.get_by_label("Message", exact=True)
    message.press_sequentially("one")
    message.press("Shift+Enter")
    message.press_sequentially("two")
    message.press("Enter")
    expect(page.locator("#turn-1 .said .words")).to_have_text("one\ntwo", use_inner_text=True)
    expect(message).to_be_focused()
    expect(message).to_have_value("")


def test_on_a_phone_sessions_are_a_drawer_and_the_memories_a_sheet(open_page: OpenPage) -> None:
    page = open_page(phone=True)
    drawer, sheet = page.locator("#sessions"), page.locator("#answer")
    expect(drawer).to_be_hidden()
    page.get_by_label("Message", exact=True).fill("I live in Bristol.")
    page.get_by_role("button", name="Send").click()
    page.locator("#turn-1 [data-usage]").click()
    expect(sheet).to_be_visible()
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    page.get_by_role("button", name="Conversations").click()
    expect(drawer.get_by_role("link", name="I live in Bristol.")).to_be_visible()
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()


def test_on_a_phone_a_temporary_chat_is_ended_within_the_screen(open_page: OpenPage) -> None:
    page = open_page("/?temporary=1", phone=True)
    page.get_by_label("Message", exact=True).fill("Where do I live?")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#turn-1 [data-usage]")).to_be_visible()
    box = page.get_by_role("button", name="End and delete").bounding_box()
    assert box is not None and box["x"] + box["width"] <= PHONE["width"]
    expect(page.locator(".offline")).to_have_text("Offline: no model is connected.")


def test_on_a_phone_the_box_of_a_passkey_stands_below_its_label(open_page: OpenPage) -> None:
    page = open_page("/account/security/webauthn/add/", phone=True)
    label, box = (
        page.get_by_text("Passwordless", exact=True).bounding_box(),
        page.get_by_role("checkbox").bounding_box(),
    )
    assert label is not None and box is not None
    assert abs(box["x"] - label["x"]) < 8 and box["width"] < 32


def test_only_the_panes_of_the_chat_scroll_and_never_the_page(open_page: OpenPage, member: Membership) -> None:
    for number in range(8):
        remember_fact(own_principal(member), text=f"Keeps {'many ' * 20} spare bulbs in box {number}")
    page = open_page()
    ask(page, "Where do I keep spare bulbs?")
    page.locator("#answer").get_by_text("Also looked at").click()
    assert page.locator("#answer .pane-body").evaluate("pane => pane.scrollHeight > pane.clientHeight")
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")


def test_on_a_phone_the_tabs_scroll_in_one_row_and_the_chosen_one_is_in_sight(open_page: OpenPage) -> None:
    page = open_page("/remember/settle/", phone=True)
    tabs = page.get_by_role("navigation", name="Kinds of memory")
    assert tabs.evaluate("tabs => new Set([...tabs.children].map(tab => tab.offsetTop)).size") == 1
    expect(tabs.get_by_role("link", name="To settle")).to_be_in_viewport(ratio=0.9)
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_what_does_not_fit_is_found(browse: Browse) -> None:
    page = browse(phone=True)
    narrow = "width: 40px; overflow: hidden; white-space: nowrap"
    page.set_content(
        f"""<meta name="viewport" content="width=device-width">
        <p style="width: 600px">wide</p> <p style="{narrow}">words that are cut</p> <p style="{narrow}">fit</p>
        <p style="{narrow}" title="told">words that are told</p> <input size="3" placeholder="Search everything">"""
    )
    wide, words, placeholder = unfit_in(page, "here")
    assert (wide, "that are cut" in words, "Search" in placeholder) == ("here: wider than the window", True, True)

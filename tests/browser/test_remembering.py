"""The story of the product: what is said once is known later, and nothing is overwritten silently."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenPage
from tests.browser.talking import ask

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_new_home_is_known_in_a_new_session_and_the_old_one_is_history(open_page: OpenPage) -> None:
    page = open_page()
    ask(page, "I live in Bristol.")
    moved = ask(page, "I moved to Edinburgh.")
    expect(moved.locator("[data-usage]")).to_contain_text("replaced 1")
    expect(page.get_by_role("complementary", name="In this answer")).to_contain_text("Edinburgh")

    page.keyboard.press("Escape")
    page.get_by_role("link", name="New chat").click()
    expect(page.locator("[data-turns] > li")).to_have_count(0)
    answer = ask(page, "Where do I live?")
    expect(answer.locator(".answer .words")).to_contain_text("Edinburgh")

    page.goto("/remember/facts/?show=replaced")
    old = page.locator(".row", has_text="Bristol")
    expect(old.locator(".is-superseded")).to_contain_text("Bristol")
    old.locator("[data-item]").click()
    expect(page.get_by_role("heading", name="History")).to_be_visible()
    expect(page.locator(".state").first).to_contain_text("Edinburgh")
    expect(page.locator(".state").last).to_contain_text("Bristol")


def test_it_works_without_scripts(open_page: OpenPage) -> None:
    page = open_page(scripts=False)
    page.locator("#message").fill("Remember that I am allergic to peanuts.")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#turn-1 .said")).to_contain_text("allergic to peanuts")
    expect(page.locator("#turn-1 .answer .words")).not_to_be_empty()
    page.goto("/remember/facts/")
    page.locator("[data-item]", has_text="peanuts").click()
    page.get_by_role("link", name="Delete", exact=True).click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("Deleted: 1 fact")


def test_two_tabs_of_one_conversation_keep_both_turns(open_page: OpenPage) -> None:
    page = open_page()
    ask(page, "I live in Bristol.")
    other = page.context.new_page()
    other.goto(page.url)
    ask(page, "I like rain.")
    ask(other, "I like fog.")
    expect(other.locator("[data-turns] .said")).to_contain_text(["Bristol", "rain", "fog"])
    page.reload()
    expect(page.locator("[data-turns] .said")).to_contain_text(["Bristol", "rain", "fog"])


def test_a_replacement_is_undone_in_the_history(open_page: OpenPage) -> None:
    page = open_page()
    ask(page, "I live in Bristol.")
    ask(page, "I moved to Edinburgh.")
    page.goto("/remember/facts/")
    page.locator("[data-item]", has_text="Edinburgh").first.click()
    page.get_by_role("button", name="Undo and restore").click()
    expect(page.locator(".notice-success")).to_contain_text("Undone. It is current again")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Bristol")
    expect(page.locator(".state")).to_have_count(3)
    expect(page.get_by_role("button", name="Undo and restore")).to_have_count(0)
    page.get_by_role("button", name="Undo the restoring").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Edinburgh")

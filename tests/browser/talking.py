"""What a person does in the chat, and waits for."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect


def say(page: Page, words: str) -> Locator:
    """Type and press Enter; the turn that appears."""
    page.get_by_label("Message", exact=True).fill(words)
    page.get_by_label("Message", exact=True).press("Enter")
    return page.locator("[data-turns] > li").last


def ask(page: Page, words: str) -> Locator:
    """Say it and wait for the whole answer; the turn."""
    say(page, words)
    turn = page.locator("[data-turns] > li:not([aria-busy])").last
    expect(turn.locator("[data-usage]")).to_be_visible()
    expect(page.locator("[data-turns] > li[aria-busy]")).to_have_count(0)
    return turn

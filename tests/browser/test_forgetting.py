"""Forgetting in the chat: a card that is decided in place, and undone while its seconds run."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from memories.models import Fact, ForgetProposal
from memories.services.erasure import proposals
from memories.services.facts.remember import remember_fact
from tenants.models import Membership
from tests.browser.conftest import OpenPage
from tests.factories import own_principal

pytestmark = [pytest.mark.browser, pytest.mark.english]

SAID = "I'm allergic to peanuts and my sister's birthday is 12 May"


def picture(page: Page, name: str) -> None:
    """Keep a picture, where the environment names a folder for it."""
    if folder := os.environ.get("MEMORYHUB_PICTURES"):
        page.screenshot(path=Path(folder) / f"forget-{name}.png")


@pytest.mark.parametrize("how", [{}, {"phone": True, "dark": True}], ids=["desktop", "phone"])
def test_the_card_is_decided_in_place_and_undone(open_page: OpenPage, how: dict[str, bool]) -> None:
    page = open_page(**how)
    name = "phone" if how else "desktop"
    for words in (SAID, "Forget that I am allergic to peanuts"):
        page.get_by_label("Message", exact=True).fill(words)
        page.get_by_role("button", name="Send").click()
        expect(page.locator("[data-turns] > li:not([aria-busy])").last.locator(".said")).to_contain_text(words)
    card = page.locator("[data-forget-card]")
    expect(card).to_contain_text("Learned from the same words, and stays")
    expect(card).to_contain_text("Your sister's birthday is 12 May")
    picture(page, f"{name}-asked")
    card.get_by_role("button", name="Delete", exact=True).click()
    expect(card).to_contain_text("Time to undo it:")
    expect(page.get_by_role("button", name="Undo")).to_have_count(1)
    picture(page, f"{name}-forgotten")
    assert not Fact.objects.current().filter(text__contains="peanuts").exists()
    card.get_by_role("button", name="Undo").click()
    expect(card).to_contain_text("Undone. Everything is back.")
    assert Fact.objects.current().filter(text__contains="peanuts").exists()
    picture(page, f"{name}-undone")


def test_the_card_works_without_scripts_and_so_does_the_page(open_page: OpenPage) -> None:
    page = open_page(scripts=False)
    page.locator("#message").fill("I play the cello.")
    page.get_by_role("button", name="Send").click()
    page.locator("#message").fill("Forget the cello")
    page.get_by_role("button", name="Send").click()
    page.locator("[data-forget-card]").get_by_role("button", name="Cancel", exact=True).click()
    expect(page.locator("[data-forget-card]")).to_contain_text("Nothing was deleted.")
    page.goto("/remember/facts/")
    page.locator("[data-item]", has_text="cello").click()
    page.get_by_role("link", name="Delete", exact=True).click()
    picture(page, "page-asked")
    page.get_by_role("button", name="Delete", exact=True).click()
    picture(page, "page-undo")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("status")).to_have_text("Brought back: 1 fact and 1 event.")
    expect(page.locator("[data-item]", has_text="cello")).to_be_visible()
    assert ForgetProposal.objects.unscoped("the test").count() == 2


def test_the_notice_counts_the_seconds_of_the_undo_and_says_when_they_are_over(
    open_page: OpenPage, member: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposals, "UNDO_FOR", timedelta(0))
    remember_fact(own_principal(member), text="Plays the cello")
    page = open_page("/remember/facts/")
    page.clock.install()
    page.locator("[data-item]", has_text="cello").click()
    page.get_by_role("link", name="Delete", exact=True).click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_role("timer")).to_have_text("30 seconds")
    page.clock.run_for(4_000)
    expect(page.get_by_role("timer")).to_have_text("27 seconds")
    page.clock.run_for(28_000)
    expect(page.get_by_role("status")).to_have_text("Permanently deleted: 1 fact.")
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)

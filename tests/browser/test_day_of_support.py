"""A day of support: why an answer was wrong, who changed the fact and from which words.

Ada complains: she was told to collect her bike before eight on Friday, and never said that she could.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SitDown
from tests.browser.workshop import AFTERNOONS, ASKED, MISHEARD, MORNINGS, TOM, Workshop, tell_ada

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def page(sit_down: SitDown, workshop: Workshop) -> Page:
    """Tamsin's, who signed in after Ada's story."""
    tell_ada(workshop)
    return sit_down(workshop.support)


def test_support_finds_why_an_answer_was_wrong_and_who_changed_the_fact(page: Page) -> None:
    page.get_by_role("link", name="Admin").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("What needs attention")
    _find_ada(page)
    _see_what_the_answer_was_given(page)
    _ask_again_and_see_what_lost(page)
    _follow_the_fact_to_its_history(page)
    _see_what_was_believed_before(page)


def _find_ada(page: Page) -> None:
    """By the keyboard alone."""
    page.get_by_role("link", name="Members' memory").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Ada Fenwick")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("ada fen")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Colm Brady")).to_have_count(0)
    page.get_by_role("link", name="Ada Fenwick").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="Facts").get_by_role("listitem")).to_have_count(3)


def _see_what_the_answer_was_given(page: Page) -> None:
    page.get_by_role("link", name="Conversations").click()
    page.get_by_role("link", name=ASKED).click()
    page.get_by_role("link", name="Turn 1").click()
    expect(page.get_by_role("region", name="The answer")).to_contain_text("Before eight on Friday")
    calls = page.get_by_role("region", name="Recall and tool calls")
    expect(calls).to_contain_text("Automatic recall, added to the prompt")
    given = calls.locator(".given > li").filter(has_text=MISHEARD)
    expect(given.get_by_text("made from it", exact=True)).to_be_visible()


def _ask_again_and_see_what_lost(page: Page) -> None:
    """With what is superseded: the afternoons lost to the newer fact, and are below a limit of one."""
    page.get_by_role("button", name="Ask again now").click()
    given = page.get_by_role("row").filter(has_text="given out")
    expect(given.filter(has_text=MISHEARD)).to_be_visible()
    expect(page.get_by_role("row").filter(has_text=AFTERNOONS)).to_have_count(0)
    page.get_by_label("Limit").fill("1")
    page.get_by_label("include superseded").check()
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(given).to_have_count(1)
    lost = page.get_by_role("region", name="What came up, and why").get_by_role("row").filter(has_text=AFTERNOONS)
    expect(lost).to_contain_text("no longer believed")
    expect(lost).to_contain_text("below the limit")


def _follow_the_fact_to_its_history(page: Page) -> None:
    page.get_by_role("link", name=MISHEARD).first.click()
    expect(page.get_by_role("region", name="Source")).to_contain_text(TOM)
    expect(page.get_by_role("region", name="Answers made from it")).to_contain_text(ASKED)
    page.get_by_role("link", name="the whole chain").click()
    here = page.locator(".history-state[aria-current]")
    expect(here).to_contain_text("The agent of Ada Fenwick wrote it down")
    expect(here).to_contain_text("said in chat")
    expect(here.get_by_role("blockquote")).to_contain_text(TOM)
    before = page.get_by_role("listitem").filter(has_text="The agent of Ada Fenwick replaced it")
    expect(before.filter(has_text=AFTERNOONS).get_by_role("time").first).to_be_visible()
    page.get_by_role("link", name="Open in the inspector").click()


def _see_what_was_believed_before(page: Page) -> None:
    """The slider, by the keyboard: two steps of a tenth of its length, which is 12 days."""
    page.get_by_role("link", name="As of").click()
    facts = page.get_by_role("region", name="Facts")
    expect(facts).to_contain_text(MISHEARD)
    page.get_by_role("slider", name="Time").focus()
    page.keyboard.press("PageDown")
    page.keyboard.press("PageDown")
    page.wait_for_url("**at=**")
    expect(facts).to_contain_text(AFTERNOONS)
    expect(facts).to_contain_text(re.compile(f"replaced .* by {MISHEARD}"))
    page.get_by_role("slider", name="Time").focus()
    page.keyboard.press("Home")
    page.keyboard.press("PageUp")
    expect(facts).to_contain_text(MORNINGS)
    expect(facts).to_contain_text(re.compile(f"replaced .* by {AFTERNOONS}"))

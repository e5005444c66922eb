"""Changes told in the chat, seen: what was replaced, what ended, what never was; wide and on a phone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from memories.services.facts.remember import remember_fact
from tenants.models import Membership
from tests.browser.conftest import OpenPage
from tests.factories import own_principal
from tests.memories.services.reviewing import current

pytestmark = pytest.mark.browser

KNOWN = {
    "Lives in Bristol": "home_city",
    "Lives in Clifton": "neighbourhood",
    "Address is Flat 3, 14 Royal York Crescent, above the observatory": "address",
    "Allergic to peanuts": "allergy_peanut",
}


@pytest.mark.parametrize("phone", [False, True], ids=["wide", "phone"])
def test_all_that_a_move_replaced_is_listed_with_what_took_its_place(
    open_page: OpenPage, member: Membership, phone: bool
) -> None:
    for text, key in KNOWN.items():
        remember_fact(own_principal(member), text=text, key=key)
    page = open_page("/", phone=phone)
    page.get_by_label("Message", exact=True).fill("we left Bristol, in Edinburgh now")
    page.get_by_role("button", name="Send").click()
    turn = page.locator("#turn-1")
    for named in ("Edinburgh", "Bristol", "Clifton", "Flat 3, 14 Royal York Crescent"):
        expect(turn.get_by_role("article", name="memoryhub")).to_contain_text(named)
    expect(turn.locator("[data-usage]")).to_contain_text("saved 1 · replaced 3")
    assert current(own_principal(member)) == ["Allergic to peanuts", "Lives in Edinburgh"]
    if phone:
        turn.locator("[data-usage]").click()
    replaced = page.locator(".card:has(.is-superseded)")
    expect(replaced).to_have_count(3)
    for card in replaced.all():
        expect(card).to_contain_text("Now: You live in Edinburgh")
        expect(card).to_be_visible()  # on a phone the sheet slides in
        box = card.bounding_box()
        assert box is not None and box["x"] >= 0
        assert box["x"] + box["width"] <= page.evaluate("innerWidth")
    words = replaced.first.locator(".is-superseded")
    words.hover()
    expect(words).to_have_css("text-decoration-line", re.compile("line-through"))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

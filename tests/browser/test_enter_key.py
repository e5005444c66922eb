"""Enter in a field never erases, evicts or releases: that takes a press of the button, with scripts and without."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from memories.models import ErasureRequest, LegalHold, ReviewDecision, ReviewItem
from memories.services.erasure.requests import place_hold
from tenants.models import User
from tenants.principal import SYSTEM, Principal
from tests.browser.conftest import OpenPage
from tests.memories.services.reviewing import proposed, say

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

REVIEWS = "/admin/memories/reviewitem/"


@pytest.fixture
def item(owner: Principal) -> ReviewItem:
    return proposed(owner, say(owner, "The gate of the old flat is blue"))


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_enter_decides_nothing_and_a_press_does(
    open_page: OpenPage, owner: Principal, item: ReviewItem, scripts: bool
) -> None:
    hold = place_hold(SYSTEM, tenant_id=owner.tenant_id, reason="An order of a court")
    page = open_page(f"{REVIEWS}{item.pk}/change/", scripts=scripts)
    _enter(page, {"Reason": "Nobody needs it"})
    assert page.locator(".review-forms").get_by_role("button").all_inner_texts() == ["Keep it", "Evict it"]
    page.get_by_role("button", name="Evict it").click()
    expect(page.get_by_text("Decided:")).to_be_visible()
    page.goto(f"/admin/memories/legalhold/{hold.pk}/")
    _enter(page, {"Why it ends": "It was lifted"})
    page.goto(f"/admin/memories/membermemory/{owner.membership_id}/erasure/")
    _enter(page, {"Reason": "A letter", "to confirm": User.objects.get(pk=owner.user_id).username})
    assert ReviewItem.objects.get().decision == ReviewDecision.EVICT
    assert LegalHold.objects.get().released_at is None and not ErasureRequest.objects.exists()


def _enter(page: Page, words: dict[str, str]) -> None:
    """Fill in, and press Enter in the last field: the page stays, and so do the words."""
    for label, text in words.items():
        page.get_by_label(label).fill(text)
    page.get_by_label(label).press("Enter")
    page.wait_for_timeout(300)  # in which a form that was sent would have emptied the fields
    expect(page.get_by_label(label)).to_have_value(text)

"""An administrator works the queue of reviews, with a mouse, on a phone, in the light and in the dark."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from memories.models import ReviewItem
from tenants.principal import Principal
from tests.browser.conftest import OpenPage
from tests.browser.staff_pages import faults_of
from tests.memories.services.reviewing import FOUR, THREE, asked, current, proposed, say, two_widths

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

LIST = "/admin/memories/reviewitem/"


@pytest.fixture
def item(owner: Principal) -> ReviewItem:
    proposed(owner, say(owner, "The gate of the old flat is blue"))
    return asked(owner, *two_widths(owner))


def test_a_contradiction_is_decided_and_undone_and_an_eviction_in_the_list(
    open_page: OpenPage, owner: Principal, item: ReviewItem
) -> None:
    page = open_page(LIST)
    page.get_by_role("link", name="Which one holds?").click()
    expect(page.locator("mark")).to_have_text(["three", "four"])
    page.get_by_role("radio", name="The older one").check()
    page.get_by_role("button", name="Keep it").click()
    expect(page.get_by_role("status")).to_contain_text("One fact was kept")
    assert THREE in current(owner) and FOUR not in current(owner)
    page.locator("#undo").get_by_role("button", name="Undo").click()
    expect(page.get_by_role("status")).to_contain_text("all is as it was")
    page.goto(f"{LIST}?kind=eviction")
    page.locator(".action-select").check()
    page.get_by_role("button", name="Evict the chosen memories").click()
    expect(page.get_by_role("status")).to_contain_text("1 of the chosen reviews: evicted.")
    assert current(owner) == [FOUR, THREE]


@pytest.mark.parametrize(("dark", "phone"), [(False, False), (True, True)])
def test_axe_finds_nothing_serious_and_nothing_is_cut_off(
    open_page: OpenPage, item: ReviewItem, dark: bool, phone: bool
) -> None:
    page = open_page(f"{LIST}{item.pk}/change/", dark=dark, phone=phone)
    found = []
    for address in (page.url, LIST + str(ReviewItem.objects.exclude(pk=item.pk).get().pk) + "/change/"):
        page.goto(address)
        found += faults_of(page, address)
    assert found == []

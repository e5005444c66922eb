"""A member settles what I remember, with a mouse, a keyboard, on a phone and without scripts; axe finds nothing."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from memories.models import ReviewItem
from tenants.models import Membership
from tests.browser.conftest import OpenPage
from tests.browser.staff_pages import serious_in
from tests.factories import own_principal
from tests.memories.services.reviewing import FOUR, THREE, asked, current, proposed, say, two_widths

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def item(member: Membership) -> ReviewItem:
    owner = own_principal(member)
    proposed(owner, say(owner, "The gate code of the old flat was painted blue"))
    return asked(owner, *two_widths(owner))


def test_two_facts_are_settled_and_unsettled(open_page: OpenPage, member: Membership, item: ReviewItem) -> None:
    page = open_page("/remember/facts/")
    page.get_by_role("link", name="To settle").click()
    page.get_by_role("link", name="These two facts contradict each other").click()
    expect(page.locator("mark")).to_have_text(["three", "four"])
    page.locator(".side", has_text=THREE).get_by_role("button", name="This one is right").click()
    expect(page.locator(".notice-success")).to_contain_text("The other one is in the history.")
    assert current(own_principal(member))[-1] == THREE
    assert FOUR not in current(own_principal(member))
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".notice-success")).to_contain_text("Undone")
    page.get_by_text("Neither, let me rewrite it").click()
    page.get_by_label("What should it say?").fill("The shed measures three and a half metres across")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".notice-success")).to_contain_text("Your wording replaced both")
    page.get_by_role("link", name="Next decision").click()
    page.get_by_role("button", name="Delete after 30 days").click()
    expect(page.locator(".notice-success")).to_contain_text("It is not recalled any more")
    assert current(own_principal(member)) == ["The shed measures three and a half metres across"]


@pytest.mark.parametrize("phone", [False, True])
def test_a_contradiction_is_settled_and_undone_above_the_facts(
    open_page: OpenPage, member: Membership, item: ReviewItem, phone: bool
) -> None:
    page = open_page("/remember/facts/", phone=phone, dark=phone)
    page.get_by_role("listitem").filter(has_text=THREE).get_by_role("button", name="This one is right").click()
    toast = page.locator("[data-toast-box]")
    expect(toast).to_contain_text("The other one is in the history.")
    assert FOUR not in current(own_principal(member))
    expect(page.get_by_role("link", name="1 question needs your decision")).to_be_visible()
    toast.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("button", name="This one is right")).to_have_count(2)
    assert FOUR in current(own_principal(member))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_it_is_settled_on_a_phone_without_scripts(open_page: OpenPage, member: Membership, item: ReviewItem) -> None:
    page = open_page(f"/remember/settle/{item.pk}/", phone=True, scripts=False)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("button", name="Both are true").tap()
    expect(page.locator(".notice-success")).to_contain_text("Both are true")
    assert len(current(own_principal(member))) == 3


@pytest.mark.parametrize(("dark", "phone"), [(False, False), (True, True)])
def test_axe_finds_nothing_serious(open_page: OpenPage, item: ReviewItem, dark: bool, phone: bool) -> None:
    page = open_page("/remember/settle/", dark=dark, phone=phone)
    found = serious_in(page)
    for address in ("/remember/facts/", f"/remember/facts/{item.first_id}/", f"/remember/settle/{item.pk}/"):
        page.goto(address)
        found += serious_in(page)
    page.get_by_text("Neither, let me rewrite it").click()
    found += serious_in(page)
    page.get_by_role("button", name="Both are true").click()
    expect(page.locator(".notice-success")).to_be_visible()
    found += serious_in(page)
    page.goto("/remember/settle/")
    assert found + serious_in(page) == []

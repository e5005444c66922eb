"""The frame of the admin: one theme with the rest of the site, and everything in reach of a keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from memories.models import ThresholdProposal
from tenants.models import Membership, User
from tests.browser.conftest import AT_HOME, PHONE, OpenPage

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def _staff(member: Membership) -> None:
    """Mara administers her tenant."""
    Membership.objects.filter(pk=member.pk).update(role="admin")
    User.objects.filter(pk=member.user_id).update(is_staff=True)


def background(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))


def choose(page: Page, theme: str) -> None:
    page.locator("[popovertarget=account]").click()
    page.get_by_role("button", name=theme, exact=True).click()
    expect(page.locator("[name=theme]", has_text=theme)).to_have_attribute("aria-pressed", "true")


@pytest.mark.parametrize("scripts", [True, False])
def test_a_theme_chosen_anywhere_holds_everywhere(open_page: OpenPage, scripts: bool) -> None:
    page = open_page("/admin/", dark=True, scripts=scripts)
    page.goto("/")
    choose(page, "Light")
    page.goto("/admin/")
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    light = background(page)
    choose(page, "Dark")
    page.goto("/")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.goto("/admin/tenants/tenant/")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert background(page) != light
    choose(page, "System")
    page.goto("/")
    assert page.locator("html").get_attribute("data-theme") is None


def test_the_sidebar_is_a_drawer_on_a_phone(open_page: OpenPage) -> None:
    page = open_page("/admin/", phone=True)
    entry = page.get_by_role("link", name="Audit log").first
    expect(page.locator("#side")).to_be_hidden()
    page.get_by_role("button", name="Pages of the admin").press("Enter")
    expect(entry).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#side")).to_be_hidden()


def test_the_account_menu_and_filters_are_worked_by_keyboard(open_page: OpenPage) -> None:
    page = open_page("/admin/tenants/membership/")
    page.get_by_role("button", name="Filters").press("Enter")
    expect(page.locator("#changelist-filter")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#changelist-filter")).to_be_hidden()
    page.locator("[popovertarget=account]").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    page.get_by_role("link", name="Chat", exact=True).press("Enter")
    page.wait_for_url(AT_HOME)


def test_without_scripts_links_and_filters_open_and_the_list_fits(open_page: OpenPage) -> None:
    page = open_page("/admin/tenants/membership/", phone=True, scripts=False)
    page.get_by_role("button", name="Filters").tap()
    expect(page.locator("#changelist-filter").get_by_role("link", name="auditor")).to_be_visible()
    assert page.locator("#result_list").evaluate("list => list.clientWidth") > PHONE["width"] * 0.8
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Pages of the admin").tap()
    page.get_by_role("link", name="Audit log").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Audit log")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_on_a_phone_no_heading_of_the_values_of_a_threshold_breaks_within_a_word(
    open_page: OpenPage, member: Membership
) -> None:
    User.objects.filter(pk=member.user_id).update(language="de")
    evidence = {"used": 1960, "ignored": 1000, "values": [{"value": 0.25, "kept": 1960, "cut": 830}]}
    proposal = ThresholdProposal.objects.create(tenant=member.tenant, value=0.25, reason="x", evidence=evidence)
    page = open_page(f"/admin/memories/thresholdproposal/{proposal.pk}/change/", phone=True)
    lines = "th => { const words = new Range(); words.selectNodeContents(th); return words.getClientRects().length }"
    assert page.locator(".readonly th").first.evaluate(lines) == 1
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]

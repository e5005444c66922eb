"""The page of metrics in a real browser: read by everybody, on a desk and on a phone, in the light and in the dark."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe

from tenants.models import Membership
from tests.browser.conftest import OpenPage
from tests.memories.staff.test_metrics_page import PAGE, go_wrong

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize(("dark", "phone"), [(False, False), (True, True)])
def test_it_fits_and_axe_finds_nothing(open_page: OpenPage, platform: Membership, dark: bool, phone: bool) -> None:
    go_wrong(platform)
    page = open_page(PAGE, dark=dark, phone=phone)
    page.get_by_text("alerts quiet").click()
    page.locator("figure summary").first.click()
    assert page.locator("figure table").first.is_visible()
    assert page.locator(".chart-numbers").first.is_visible()  # a single sample, which is too short for a line
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    found = Axe().run(page, context=".metrics-page").response["violations"]
    assert [(each["id"], [node["html"][:160] for node in each["nodes"]]) for each in found] == []

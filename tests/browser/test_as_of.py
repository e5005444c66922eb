"""The slider of "As of": it says its time, and the memory of that time is shown; without scripts by a button."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from tenants.models import Membership
from tests.browser.conftest import OpenPage
from tests.factories import own_principal
from tests.memories.services.reviewing import say
from tests.memories.staff.looking import page_of

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def address(platform: Membership) -> str:
    """The page of Mara, who is of the platform's staff and moved ten days ago."""
    mara, now = own_principal(platform), timezone.now()
    old = say(mara, "Lives in Lund", key="home_city", learned_at=now - timedelta(days=100))
    say(mara, "Lives in Ystad", key="home_city", learned_at=now - timedelta(days=10), supersedes_ids=[old.pk])
    return page_of("as_of", platform)


def test_a_time_that_is_picked_is_shown(open_page: OpenPage, address: str) -> None:
    page = open_page(address)
    page.get_by_label("Exact time").fill(f"{timezone.localtime() - timedelta(days=30):%Y-%m-%dT12:00}")
    page.wait_for_url(re.compile("at="))
    expect(page.get_by_role("heading", name=re.compile("^Memory on"))).to_be_visible()
    expect(page.get_by_role("link", name="Lives in Lund")).to_be_visible()


@pytest.mark.parametrize("scripts", [True, False])
def test_the_slider_shows_the_memory_of_its_time(open_page: OpenPage, address: str, scripts: bool) -> None:
    page = open_page(address, scripts=scripts)
    expect(page.get_by_text("Lives in Ystad")).to_be_visible()
    page.get_by_label("Time", exact=True).focus()
    page.keyboard.press("PageDown")
    page.keyboard.press("PageDown")
    if not scripts:
        page.get_by_role("button", name="Show this time").click()
    page.wait_for_url(re.compile(r"\?at="))
    expect(page.get_by_role("link", name="Lives in Lund")).to_be_visible()
    expect(page.get_by_role("link", name="Lives in Ystad")).to_be_visible()  # what took its place
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

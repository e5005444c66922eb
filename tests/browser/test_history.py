"""The page of a chain in a browser: the graph by keyboard, the timeline, a proof, on a desk and on a phone."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tenants.models import Membership, User
from tests.browser.conftest import OpenPage, sign_in
from tests.browser.staff_pages import faults_of
from tests.factories import make_membership, own_principal
from tests.memories.five import BOTH, live_five

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def auditor(member: Membership) -> Membership:
    """Hanna, who audits where Mara is a member."""
    membership = make_membership(member.tenant, role="auditor", name="Hanna Berg")
    User.objects.filter(pk=membership.user_id).update(is_staff=True)
    return membership


@pytest.mark.parametrize(("phone", "dark"), [(False, False), (True, True)])
def test_a_chain_is_followed_by_keyboard_and_proven(
    open_page: OpenPage, member: Membership, auditor: Membership, phone: bool, dark: bool
) -> None:
    five = live_five(own_principal(member))
    page = open_page(phone=phone, dark=dark)
    page.context.clear_cookies()
    sign_in(page, auditor)
    address = f"/admin/memories/history/semantic/{five.both}/"
    page.goto(f"/admin/memories/history/?member={member.user_id}")
    page.get_by_role("link", name="Lives on a boat in Swansea").click()
    page.goto(address)
    assert faults_of(page, address) == []

    graph = page.get_by_role("group", name="States of this chain and the lines between them")
    nodes = graph.get_by_role("link")
    expect(nodes).to_have_count(5)
    expect(graph.locator("path.joint")).to_have_count(5)
    nodes.last.focus()
    page.keyboard.press("Enter")
    assert page.url.endswith(f"#state-{five.back}")
    expect(page.locator(f"#state-{five.back}")).to_contain_text(BOTH)
    expect(page.locator(".history-timeline > li")).to_have_count(5)
    expect(page.locator(".history-timeline > [aria-current]")).to_contain_text("this state")
    expect(page.get_by_role("button", name="Copy")).to_be_visible()

    for badge in ("Audit log", "Supersession"):
        page.get_by_role("button", name=f"Verify now: {badge}").click()
        told = page.get_by_role("region", name=f"{badge}: verification")
        expect(told).to_contain_text("verified")
        expect(told).to_contain_text("UTC")

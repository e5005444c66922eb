"""What opens when support asks as a member is accessible, on a phone in the dark."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from memories.models import Session
from memories.search.outbox import drain
from memories.services.sessions.episodes import EpisodeDraft, remember_episodes
from memories.services.sessions.sessions import start_session
from tenants.models import Membership
from tests.browser.conftest import OpenPage
from tests.browser.staff_pages import faults_of
from tests.factories import make_membership, own_principal
from tests.memories.staff.looking import page_of, talk

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def owner(support: Membership) -> Membership:
    """Another member of Mara's tenant, whom Mara supports; they talked, and said where a key is."""
    owner = make_membership(support.tenant, name="Joel Ekström")
    principal = own_principal(owner)
    talk(principal)
    said = ("Where did you put the spare key?", "Under the blue pot", "The key is spare", "The tea is cold")
    drafts = [EpisodeDraft(text) for text in said]
    remember_episodes(principal, session_id=start_session(principal, title="Keys").pk, drafts=drafts)
    drain()
    return owner


def test_what_opens_has_nothing_serious_for_axe(open_page: OpenPage, owner: Membership) -> None:
    session = Session.objects.exclude(title="Keys").get()
    page = open_page(page_of("ask", owner), dark=True, phone=True)
    page.get_by_label("Question").fill("where is the spare key?")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator(".funnel")).to_be_visible()
    found = []
    for address in ("", page_of("turn", owner, session.pk, 2)):
        if address:
            page.goto(address)
        for summary in page.locator(".staff summary").all():
            summary.click()
        found += faults_of(page, address)
    assert found == []

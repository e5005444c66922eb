"""Support asks as a member and follows an answer back to what it came from, with a mouse and on a phone in the dark."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from memories.models import Session
from memories.search.outbox import drain
from memories.services.sessions.episodes import EpisodeDraft, remember_episodes
from memories.services.sessions.sessions import start_session
from tenants.models import Membership, User
from tests.browser.conftest import OpenPage
from tests.browser.staff_pages import faults_of
from tests.factories import make_membership, own_principal
from tests.memories.staff.looking import page_of, talk

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def owner(member: Membership) -> Membership:
    """Another member of Mara's tenant, whom Mara supports; they talked, and said where a key is."""
    Membership.objects.filter(pk=member.pk).update(role="support")
    User.objects.filter(pk=member.user_id).update(is_staff=True)
    owner = make_membership(member.tenant, name="Joel Ekström")
    principal = own_principal(owner)
    talk(principal)
    said = ("Where did you put the spare key?", "Under the blue pot", "The key is spare", "The tea is cold")
    drafts = [EpisodeDraft(text) for text in said]
    remember_episodes(principal, session_id=start_session(principal, title="Keys").pk, drafts=drafts)
    drain()
    return owner


def test_support_asks_and_follows_an_answer(open_page: OpenPage, owner: Membership) -> None:
    page = open_page(page_of("ask", owner))
    page.get_by_label("Question").fill("where is the spare key?")
    page.get_by_label("Limit").fill("2")
    page.get_by_label("Question").press("Enter")
    expect(page.get_by_role("heading", name="2 given out of")).to_be_visible()
    assert "spare" not in page.url
    first = page.locator("#candidate-1")
    expect(first).to_contain_text("given out")
    expect(page.locator("#candidate-3")).to_contain_text("below the limit")
    page.get_by_text("Both sub-queries").click()
    expect(page.get_by_role("region", name="Both sub-queries")).to_contain_text("same words")
    page.get_by_role("link", name="Conversations").click()
    page.get_by_role("link", name="Where do I live?").click()
    page.get_by_role("link", name="Turn 1").click()
    expect(page.get_by_text("made for the agent and injected").first).to_be_visible()
    page.get_by_text("How this recall came to its answer").first.click()
    expect(page.locator("table.candidates").first).to_contain_text("Lives in Bristol")
    page.locator(".given li", has_text="Lives in Bristol").first.get_by_role("link", name="answers").click()
    page.get_by_role("link", name="I moved to Edinburgh last week").click()
    expect(page.get_by_role("heading", name="What this turn changed")).to_be_visible()
    expect(page.get_by_role("link", name="Lives in Edinburgh").first).to_be_visible()
    page.get_by_role("button", name="Ask this again now").click()
    expect(page.get_by_label("Question")).to_have_value("I moved to Edinburgh last week")
    expect(page.get_by_role("heading", name="given out of")).to_be_visible()


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

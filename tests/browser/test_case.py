"""From a complaint to a case: a thumbs down, the reason, a correction that the member accepts with one tap, closed."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from memories.models import Fact, ReviewItem, Session
from memories.services.feedback import give_feedback
from tests.browser.conftest import SitDown
from tests.browser.staff_pages import faults_of
from tests.browser.workshop import AFTERNOONS, MISHEARD, Workshop, tell_ada

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

RIGHT = "Collects the bike after four on weekdays, Fridays too"
TOLD = "You collect the bike after four on weekdays, Fridays too"


@pytest.fixture
def complaint(workshop: Workshop) -> Session:
    """Ada's conversation, whose answer she gave a thumbs down."""
    tell_ada(workshop)
    session = Session.objects.of(workshop.own).latest("last_turn_at")
    give_feedback(workshop.own, session_id=session.pk, turn=1, verdict="down", note="I never said Friday.")
    return session


def test_a_complaint_becomes_a_correction_that_the_member_accepts(
    sit_down: SitDown, workshop: Workshop, complaint: Session
) -> None:
    staff = sit_down(workshop.support)
    _find_the_case(staff)
    _see_why_the_right_fact_did_not_come(staff)
    _propose_the_correction(staff)
    _accept(sit_down(workshop.ada, phone=True))
    staff.reload()
    case = staff.get_by_role("region", name="Case", exact=True)
    expect(case.get_by_text("accepted")).to_be_visible()
    expect(case.get_by_label("State")).to_have_value("closed")


def _find_the_case(page: Page) -> None:
    page.goto("/admin/")
    page.get_by_role("link", name="Cases", exact=True).first.click()
    assert not faults_of(page, "the queue of cases")
    page.get_by_role("link", name="Ada Fenwick, turn 1").click()
    expect(page.get_by_role("region", name="Sources in words")).to_contain_text(f"made from “{MISHEARD}”")
    expect(page.get_by_role("region", name="Case", exact=True)).to_contain_text("I never said Friday.")


def _see_why_the_right_fact_did_not_come(page: Page) -> None:
    page.get_by_label("A memory that should have been recalled").fill("after four")
    page.get_by_role("button", name="Explain").click()
    page.get_by_role("region", name="Why not this one?").get_by_role("link", name=AFTERNOONS).click()
    explained = page.get_by_role("status").filter(has_text=AFTERNOONS)
    expect(explained).to_contain_text("Only current memories are recalled")
    case = page.get_by_role("region", name="Case", exact=True)
    expect(case.get_by_label("What it should say")).to_have_value(AFTERNOONS)
    case.get_by_label("Fact", exact=True).select_option(label=MISHEARD)
    assert not faults_of(page, "a turn with its case")


def _propose_the_correction(page: Page) -> None:
    case = page.get_by_role("region", name="Case", exact=True)
    case.get_by_label("Ticket").fill("HD-42")
    case.get_by_role("button", name="Save").click()
    case.get_by_label("Fact", exact=True).select_option(label=MISHEARD)
    case.get_by_label("What it should say").fill(RIGHT)
    case.get_by_label("Reason for the member").fill("You told us on the phone.")
    case.get_by_role("button", name="Send to the member").click()
    expect(case.get_by_label("State")).to_have_value("waiting")
    expect(case.get_by_label("Ticket")).to_have_value("HD-42")


def _accept(page: Page) -> None:
    """In the chat, with one tap; "What I remember" has it too."""
    page.goto("/remember/settle/")
    page.get_by_role("link", name="Support proposes a correction").click()
    expect(page.get_by_role("region", name="Proposed correction")).to_contain_text(TOLD)
    assert not faults_of(page, "a proposed correction")
    page.get_by_role("link", name="Chat", exact=True).click()
    expect(page.get_by_role("region", name="Proposed correction")).to_contain_text(TOLD)
    assert not faults_of(page, "a proposed correction in the chat")
    page.get_by_role("button", name="Accept").click()
    expect(page.get_by_text("You accepted the correction.")).to_be_visible()


@pytest.mark.parametrize("phone", [False, True])
def test_the_first_memory_stands_near_the_top_and_one_page_has_both(
    sit_down: SitDown, workshop: Workshop, complaint: Session, phone: bool
) -> None:
    page = sit_down(workshop.support, phone=phone)
    page.goto(f"/admin/memories/membermemory/{workshop.ada.pk}/change/")
    top = page.locator(".memory-row").first.bounding_box()
    assert top is not None and top["y"] <= (400 if phone else 300)
    page.get_by_role("link", name="Side by side").click()
    expect(page.get_by_role("region", name="Conversation")).to_contain_text("When am I to collect the bike?")
    expect(page.get_by_role("region", name="Memory", exact=True)).to_contain_text(MISHEARD)
    assert not faults_of(page, "the live page")


def test_a_proposed_correction_stands_in_line_with_the_message_and_can_be_declined(
    sit_down: SitDown, workshop: Workshop, complaint: Session
) -> None:
    fact = Fact.objects.current().get(text=MISHEARD)
    ReviewItem.objects.create(
        kind="correction", first=fact, proposed=RIGHT, tenant=workshop.tenant, user_id=workshop.ada.user_id
    )
    page = sit_down(workshop.ada)
    box, composer = (page.locator(each).bounding_box() for each in (".chat-correction-box", ".composer-box"))
    assert box and composer and (box["x"], box["width"]) == (composer["x"], composer["width"])
    page.get_by_role("button", name="Keep it as it is").click()
    expect(page.get_by_text("Kept, and confirmed.")).to_be_visible()

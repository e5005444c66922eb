"""Support looks at a memory while it changes: what is new comes by itself, and nothing that one does is lost."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import Page, expect

from memories.agent.loop import run_turn
from memories.recall import recording
from memories.search.outbox import drain
from memories.services.erasure.forget import forget
from memories.services.facts.remember import remember_fact
from memories.services.playbooks import remember_playbook
from memories.types import Kind
from tenants.models import Membership
from tenants.principal import Principal
from tests.browser.conftest import OpenPage
from tests.browser.staff_pages import faults_of
from tests.factories import make_membership, own_principal
from tests.parts import eventually

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SECONDS = 2.0
MANY = 12


@pytest.fixture
def joel(support: Membership) -> Principal:
    """Another member of Mara's tenant, whom Mara supports."""
    joel = own_principal(make_membership(support.tenant, name="Joel Ekström"))
    for number in range(MANY):
        remember_fact(joel, text=f"Shelf {number} holds the jars of year {2000 + number}", key=f"shelf_{number}")
    remember_playbook(joel, title="Cool the kiln", steps=["Wait a night", "Open the lid"])
    drain()
    return joel


def inspector(principal: Principal) -> str:
    return f"/admin/memories/membermemory/{principal.membership_id}/change/"


def seconds_until(page: Page, text: str) -> float:
    """How long it takes from now until it can be read."""
    began = time.monotonic()
    expect(page.get_by_text(text).first).to_be_visible()
    return time.monotonic() - began


def test_whatever_changes_elsewhere_is_there_within_two_seconds(open_page: OpenPage, joel: Principal) -> None:
    page = open_page(inspector(joel))
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    changes: dict[str, Callable[[], object]] = {
        "Moved to a barn near Lund": lambda: remember_fact(joel, text="Moved to a barn near Lund", key="home"),
        "I bought a second kiln": lambda: list(run_turn(joel, text="I bought a second kiln")),
        "Sweep the flue": lambda: remember_playbook(joel, title="Sweep the flue", steps=["Brush"]),
    }
    took = []
    for text, change in changes.items():
        change()
        took.append(seconds_until(page, text))
    recording.flush()
    assert sorted(took)[1] < SECONDS, took


def test_focus_scroll_and_what_is_open_stay_and_it_is_said(open_page: OpenPage, joel: Principal) -> None:
    page = open_page(inspector(joel))
    page.get_by_text("2 steps").click()
    row = page.get_by_role("link", name="Shelf 3 holds")
    row.focus()
    page.mouse.wheel(0, 300)
    assert eventually(lambda: bool(page.evaluate("scrollY > 0")))  # the page's policy forbids to wait within it
    page.evaluate("document.activeElement.marked = true")
    before = row.bounding_box()
    remember_fact(joel, text="Shelf 11 is empty now", key="shelf_11")
    expect(page.get_by_role("status")).to_contain_text("1 fact")
    expect(page.get_by_text("Shelf 11 is empty now").first).to_be_attached()
    assert page.evaluate("document.activeElement.marked") is True
    assert page.get_by_text("Wait a night").is_visible()
    after = row.bounding_box()
    assert before is not None and after is not None and abs(before["y"] - after["y"]) < 2
    old = page.get_by_role("link", name="Shelf 11 holds")
    assert "is-superseded" in (old.get_attribute("class") or "")


def test_a_page_that_nobody_looks_at_asks_nothing(open_page: OpenPage, joel: Principal) -> None:
    page = open_page(inspector(joel))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/pulse/" in request.url else None)
    hide = """(hidden) => {
        Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
    }"""
    page.evaluate(hide, True)
    expect(page.get_by_text("Paused")).to_be_visible()
    asked.clear()
    remember_fact(joel, text="Moved to a barn near Lund", key="home")
    page.wait_for_timeout(1600)
    assert asked == [] and page.get_by_text("Moved to a barn").count() == 0
    page.evaluate(hide, False)
    expect(page.get_by_text("Moved to a barn near Lund").first).to_be_visible()


def test_what_is_forgotten_leaves_the_screen(open_page: OpenPage, joel: Principal) -> None:
    fact = remember_fact(joel, text="Hides the key under the pot").memory_id
    page = open_page(f"/admin/memories/membermemory/{joel.membership_id}/memory/{fact}/")
    expect(page.get_by_text("Hides the key under the pot").first).to_be_visible()
    forget(joel, kind=Kind.SEMANTIC, memory_id=fact)
    expect(page.get_by_role("status")).to_contain_text("not there any more")
    assert "under the pot" not in page.content()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda: Membership.objects.filter(role="support").update(role="auditor"), "may not see this any more"),
        (lambda: Session.objects.all().delete(), "Signed out"),
    ],
    ids=["another role", "signed out"],
)
def test_who_may_not_see_it_any_more_does_not(
    open_page: OpenPage, joel: Principal, change: Callable[[], object], said: str
) -> None:
    page = open_page(inspector(joel))
    expect(page.get_by_text("Shelf 3 holds").first).to_be_visible()
    change()
    expect(page.get_by_role("status")).to_contain_text(said)
    assert "Shelf 3" not in page.content()


def test_it_is_worked_by_keyboard(open_page: OpenPage, joel: Principal) -> None:
    page = open_page(inspector(joel))
    page.keyboard.press("/")
    page.keyboard.type("shelf 7")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=shelf+7**")
    page.locator("body").press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="In the index")).to_be_visible()


def test_axe_finds_nothing_serious_in_what_opens_either(open_page: OpenPage, joel: Principal) -> None:
    remember_fact(joel, text="Shelf 11 is empty now", key="shelf_11")
    page = open_page(inspector(joel), dark=True, phone=True)
    page.get_by_text("2 steps").click()
    found = faults_of(page, "inspector")
    page.get_by_role("link", name="Shelf 11 holds").click()
    page.get_by_text("Full record").click()
    assert found + faults_of(page, "record") == []

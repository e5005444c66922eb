"""A day of an auditor: who looked, an export of the events, and a forged payload.

Support has looked into the memory in the morning, so the audit log records that, too.
"""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Page, expect

from tenants.models import AuditEvent, AuditPayload
from tests.audit import audit_unguarded
from tests.browser.conftest import SitDown
from tests.browser.workshop import Workshop
from tests.memories.five import WRONG, Five, live_five

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

Save = Callable[[Page, str], Path]


@pytest.fixture
def five(workshop: Workshop) -> Five:
    lived = live_five(workshop.own)
    tamsin = Client()
    tamsin.force_login(workshop.support.user)
    looked = tamsin.get(reverse("staff:record", args=[workshop.ada.pk, lived.wrong]))
    assert looked.status_code == 200
    return lived


@pytest.fixture
def page(sit_down: SitDown, workshop: Workshop, five: Five) -> Page:
    """Colm's, who signed in and is in the admin."""
    page = sit_down(workshop.auditor)
    page.get_by_role("link", name="Admin").click()
    expect(page.get_by_role("region", name="Last 7 days")).to_contain_text("Looks at memories")
    return page


@pytest.fixture
def save(tmp_path: Path) -> Save:
    """`save(page, button)` presses a button that downloads a file; the file."""

    def saved(page: Page, button: str) -> Path:
        with page.expect_download() as download:
            page.get_by_role("button", name=button).click()
        path = tmp_path / download.value.suggested_filename
        download.value.save_as(path)
        return path

    return saved


def test_an_auditor_finds_who_looked_and_takes_the_day_along(page: Page, workshop: Workshop, save: Save) -> None:
    page.get_by_role("link", name="Audit log", exact=True).click()
    events = page.get_by_role("region", name="Events").get_by_role("listitem")
    page.get_by_label("Member", exact=True).fill("ada")
    page.get_by_label("Actor type").select_option("staff")
    page.get_by_label("Action", exact=True).select_option("memory.read")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(events.filter(has_text="Tamsin Cole").first).to_contain_text("of Ada Fenwick")
    expect(events.filter(has_text="superseded")).to_have_count(0)
    page.get_by_label("Actor type").select_option("any")
    page.get_by_label("Action", exact=True).select_option("fact.*")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(events.filter(has_text="fact.superseded")).to_have_count(4)
    _read_one_event(page)
    told = verified(save(page, "Export these events"))
    assert "audit events were taken again and fit" in told
    assert AuditEvent.objects.filter(action="audit.exported", actor_id=workshop.auditor.user_id).count() == 1


def test_a_forged_payload_is_named_on_the_page(page: Page, five: Five) -> None:
    event = AuditEvent.objects.get(target_id=five.flat, action="fact.superseded")
    with audit_unguarded():
        AuditPayload.objects.filter(event=event).update(document='{"after":null,"before":null,"reason":"forged"}')
    _open_the_chain(page)
    page.get_by_role("button", name="Verify now: Audit log").click()
    trail = page.get_by_role("region", name="Audit log: verification")
    expect(trail).to_contain_text(f"First bad event: {event.sequence} {event.pk}. The payload was changed.")
    expect(page.get_by_text("verification fails here")).to_be_visible()
    trail.get_by_role("link", name=str(event.sequence)).click()
    expect(page.get_by_role("alert").filter(has_text="The payload was changed")).to_have_count(2)


def verified(archive: Path) -> str:
    """What the command says of a file that is what was signed."""
    told = StringIO()
    call_command("verify_export", str(archive), stdout=told)
    assert told.getvalue().startswith("Genuine")
    return told.getvalue()


def _open_the_chain(page: Page) -> None:
    """By the keyboard: the histories of Ada, of which the mistake is one."""
    page.get_by_role("link", name="History of facts", exact=True).click()
    expect(page.get_by_role("link", name="History of facts", exact=True)).to_have_attribute("aria-current", "page")
    expect(page.get_by_text("Select a member to see the text")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("boat")
    page.get_by_label("Member", exact=True).focus()
    page.keyboard.type("ada")
    page.keyboard.press("Enter")
    page.get_by_role("link", name=WRONG).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("History of a fact")


def _read_one_event(page: Page) -> None:
    """What it said before and after; that it was read is an event, too."""
    events = page.get_by_role("region", name="Events").get_by_role("listitem")
    events.filter(has_text="fact.superseded").last.locator(".audit-when").click()
    expect(page.get_by_role("heading", name="Before and after")).to_be_visible()
    expect(page.get_by_role("table")).to_contain_text("superseded")
    expect(page.get_by_text("moved")).to_be_visible()
    page.go_back()

"""A day of an administrator: a member is held by the law, then erased by two people, and the receipt verifies."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from playwright.sync_api import Page, expect

from memories.models import Episode, Fact, MemoryPolicy
from memories.services.erasure import stages
from memoryhub.worker import JobThread
from tests.browser.conftest import SitDown
from tests.browser.workshop import AFTERNOONS, Workshop
from tests.memories.services.reviewing import say

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# An erasure that met somebody else's lock goes on after 15 seconds.
TO_THE_END = 45_000


@pytest.fixture
def eraser() -> Iterator[None]:
    """A thread that erases what was approved, as the worker process does."""
    thread = JobThread("erasure", stages.carry_out_due, pause=1.0)
    thread.start()
    yield
    thread.stop()
    thread.join()


@pytest.mark.usefixtures("eraser")
def test_a_member_is_held_then_erased_by_two_and_the_receipt_verifies(
    sit_down: SitDown, workshop: Workshop, tmp_path: Path
) -> None:
    MemoryPolicy.objects.create(tenant=workshop.tenant, erasure_delay_hours=0)
    say(workshop.own, AFTERNOONS, key="appointment_times")
    page = _open_ada(_at_the_desk(sit_down, workshop), "Erase or hold")
    _hold(page)
    _ask_for_the_erasure(page)
    other = _at_the_desk(sit_down, workshop, second=True)
    _approve(other)
    _release(page)
    # The page of whoever approved follows by itself.
    expect(other.get_by_role("region", name="How it stands")).to_contain_text("Is done", timeout=TO_THE_END)
    assert not Fact.objects.filter(user=workshop.ada.user_id).exists()
    assert not Episode.objects.filter(user=workshop.ada.user_id).exists()
    expect(other.get_by_text(f"of erased member {str(workshop.ada.user_id)[:8]}")).to_be_visible()
    _check_the_receipt(other, tmp_path)
    page.get_by_role("link", name="Audit log", exact=True).click()
    told = page.get_by_role("region", name="Events")
    asked = ("Hollis Grant placed a legal hold on", "Hollis Grant asked for an erasure of")
    for did in (*asked, "Marit Solberg approved an erasure of", "The system finished an erasure of"):
        sentence = f"{did} erased member {str(workshop.ada.user_id)[:8]}"
        expect(told.get_by_role("listitem").filter(has_text=sentence)).to_have_count(1)


def _at_the_desk(sit_down: SitDown, workshop: Workshop, *, second: bool = False) -> Page:
    """Hollis, or Marit, signed in and in the admin."""
    page = sit_down(workshop.second if second else workshop.admin)
    page.get_by_role("link", name="Admin").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("What needs attention")
    return page


def _open_ada(page: Page, tab: str) -> Page:
    page.get_by_role("link", name="Members' memory").click()
    page.get_by_role("link", name="Ada Fenwick").click()
    page.get_by_role("navigation", name="Member").get_by_role("link", name=tab).click()
    return page


def _hold(page: Page) -> None:
    page.get_by_label("Why nothing may be erased or expire").fill("A claim after a crash")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("From now on nothing of this member is erased or expires.")


def _ask_for_the_erasure(page: Page) -> None:
    page.get_by_label("Reason").fill("Asked for in a letter")
    page.get_by_label("Write ada to confirm").fill("ada")
    page.get_by_role("button", name="Request the erasure").click()
    stands = page.get_by_role("region", name="How it stands")
    expect(stands).to_contain_text("Waits for a second person to approve it.")
    expect(stands).to_contain_text("A legal hold is in force: nothing is erased until it is released.")
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)


def _approve(page: Page) -> None:
    """The other one finds it on her first page; while the hold is in force nothing is erased."""
    needs = page.get_by_role("region", name="What needs attention")
    expect(needs).to_contain_text("1 erasure needs a second approval.")
    needs.get_by_role("link", name="Decide").click()
    page.get_by_role("button", name="Approve: erase for good").click()
    expect(page.get_by_role("region", name="How it stands")).to_contain_text("Is stopped by a legal hold")
    assert Fact.objects.filter(text=AFTERNOONS).exists()


def _release(page: Page) -> None:
    page.get_by_role("link", name="Legal holds").last.click()
    page.locator("#result_list tbody a").click()
    page.get_by_label("Why it ends").fill("The claim was withdrawn")
    page.get_by_role("button", name="Release it").click()
    expect(page.get_by_role("status")).to_contain_text("The hold is released.")


def _check_the_receipt(page: Page, folder: Path) -> None:
    receipt = page.get_by_role("region", name="Receipt")
    expect(receipt.get_by_role("row").filter(has_text="facts").first).to_contain_text("1")
    address = page.url
    receipt.get_by_role("button", name="Verify it now").click()
    expect(page.get_by_role("status").first).to_contain_text("The receipt holds")
    assert page.url == address
    with page.expect_download() as download:
        receipt.get_by_role("link", name="Download it, signed").click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    told = StringIO()
    call_command("erasure", "verify", str(path), stdout=told)
    assert "The receipt holds: nothing is left." in told.getvalue()
    body = json.dumps(json.loads(path.read_text())["receipt"], sort_keys=True, separators=(",", ":")).encode()
    expect(receipt).to_contain_text(hashlib.sha256(body).hexdigest())
    assert AFTERNOONS not in path.read_text() and "Fenwick" not in path.read_text()

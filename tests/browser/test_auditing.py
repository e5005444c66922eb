"""An auditor's report, certificate and check of a file, in a browser; axe finds nothing serious on the pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from memories.services.tenant_checks import run_due
from tests.browser.conftest import SitDown
from tests.browser.staff_pages import faults_of, unfit_in
from tests.browser.workshop import Workshop
from tests.memories.five import live_five

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def page(sit_down: SitDown, workshop: Workshop) -> Page:
    """The auditor's, in the audit log."""
    live_five(workshop.own)
    page = sit_down(workshop.auditor)
    page.get_by_role("link", name="Admin").click()
    page.get_by_role("link", name="Audit log", exact=True).click()
    return page


def tab(page: Page, name: str) -> None:
    page.get_by_role("navigation", name="Audit", exact=True).get_by_role("link", name=name).click()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert not faults_of(page, name)


def save(page: Page, press: str, folder: Path, role: str = "button") -> Path:
    with page.expect_download() as download:
        page.get_by_role(role, name=press).click()  # type: ignore[arg-type]  # a role
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def test_a_report_a_certificate_and_its_check(page: Page, workshop: Workshop, tmp_path: Path) -> None:
    tab(page, "Superseded")
    page.get_by_label("From", exact=True).fill("1 March 2020")
    page.get_by_label("To (inclusive)", exact=True).fill("15/11/2090")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("table").first).to_contain_text("replaced")
    assert not faults_of(page, "compared")
    tab(page, "Reports")
    page.get_by_label("To (inclusive)", exact=True).fill("someday")
    page.get_by_role("button", name="Make the report").click()
    expect(page.get_by_role("alert")).to_contain_text("Give a day such as")
    page.get_by_label("To (inclusive)", exact=True).fill("15/11/2090")
    page.get_by_role("button", name="Make the report").click()
    expect(page.get_by_role("region", name="Supersessions")).to_contain_text("superseded")
    assert not faults_of(page, "report")
    assert save(page, "Download PDF", tmp_path, role="link").read_bytes().startswith(b"%PDF-")
    tab(page, "Verification")
    page.get_by_role("button", name="Verify").click()
    expect(page.get_by_text("Waiting for the worker to start")).to_be_visible()
    run_due()
    expect(page.get_by_text("intact", exact=True)).to_be_visible()
    assert not faults_of(page, "certificate")
    certificate = save(page, "Download the certificate", tmp_path)
    tab(page, "Check a file")
    page.get_by_label("Zip file").set_input_files(certificate)
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_text("genuine", exact=True)).to_be_visible()
    expect(page.get_by_text("certificate: intact")).to_be_visible()
    assert not faults_of(page, "checked")


def test_the_longest_action_fits_its_filter(page: Page) -> None:
    actions = page.get_by_label("Action", exact=True)
    names = actions.locator("option").all_inner_texts()
    actions.select_option(label=max(names, key=len))
    assert not unfit_in(page, "the audit log with a filter")


def test_a_view_is_saved_and_opened(page: Page) -> None:
    page.get_by_label("Action", exact=True).select_option("fact.superseded")
    page.get_by_role("button", name="Show", exact=True).click()
    page.get_by_text("Save this view").click()
    page.get_by_label("Name", exact=True).fill("Ends of facts")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("link", name="Show all").first.click()
    page.get_by_role("link", name="Ends of facts").click()
    expect(page.get_by_label("Action", exact=True)).to_have_value("fact.superseded")
    assert not faults_of(page, "saved views")
    page.get_by_role("button", name="Delete the view Ends of facts").click()
    expect(page.get_by_role("link", name="Ends of facts")).to_have_count(0)


def test_the_start_of_the_next_report_fits_its_field_on_a_phone(sit_down: SitDown, workshop: Workshop) -> None:
    page = sit_down(workshop.auditor, phone=True)
    page.goto("/admin/memories/audit/reports/")
    page.get_by_role("button", name="Make the report").click()
    expect(page.get_by_role("link", name="Download PDF")).to_be_visible()
    page.goto("/admin/memories/audit/reports/")
    since = page.get_by_label("From", exact=True)
    expect(since).to_have_value(re.compile(r" \d\d:\d\d:\d\d UTC$"))
    assert since.evaluate("field => field.scrollWidth - field.clientWidth") <= 0

"""Walks through what people do most, in Chromium: presses, fields and seconds, before and now; and a large upload.

A link, a button, a key and a field count one each, and a field counts with whatever is typed into it. Before are the
counts of the review of all pages of 22 November 2026 (commit 4e8fbe1), which were made as these are, and for operators
and administrators those of its forms. A script walks through the demo, so the seconds are those of the pages and not
of a reader. A walk fails if its end is not reached.
"""

from __future__ import annotations

import json
import re
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from pathlib import Path

import django

django.setup()

import pytest  # noqa: E402 - after the set-up
from django.core.management import call_command  # noqa: E402
from django.utils import timezone  # noqa: E402
from playwright.sync_api import Browser, Page, expect, sync_playwright  # noqa: E402

from memories.demo.story import PASSWORD  # noqa: E402
from memories.services.tenant_checks import run_due  # noqa: E402
from tests.browser.conftest import DESKTOP, FLAGS, chromium_path  # noqa: E402
from tests.browser.hand import Hand  # noqa: E402
from tests.browser.photographing import served  # noqa: E402
from tests.browser.pictured import make_pictured  # noqa: E402
from tests.unguarded import pass_tests  # noqa: E402

PEOPLE = 1_000


@dataclass(frozen=True, slots=True)
class Journey:
    """A task, who does it from where, what it took before, and the way through it.

    `made` None: there was no way. `seconds` None: not measured. `walk` may return seconds that are not the task's.
    """

    who: str
    task: str
    start: str
    made: int | None
    seconds: float | None
    walk: Callable[[Hand], float | None]


@dataclass(frozen=True, slots=True)
class Walked:
    """What a journey took before and takes now."""

    who: str
    task: str
    made_before: int | None
    seconds_before: float | None
    made: int
    seconds: float


def run(options: Namespace, folder: str) -> int:
    """Seed, serve, walk and print; the exit status is 1 if a task takes more presses and fields than before."""
    if (path := chromium_path()) is None:
        sys.stderr.write("Skipped the journeys: Chromium is not installed.\n")
        return 0
    call_command("migrate", verbosity=0)
    pass_tests(pytest.MonkeyPatch())
    make_pictured()
    with served() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        walked = list(_walked(browser, address))
        uploaded = _upload(_signed_in(browser, address, "hollis"), Path(folder) / "people.csv")
        browser.close()
    if options.json:
        sys.stdout.write(json.dumps({"journeys": list(map(asdict, walked)), "upload": uploaded}))
    else:
        _print(walked, uploaded)
    return int(any(each.made_before is not None and each.made > each.made_before for each in walked))


def _print(walked: list[Walked], uploaded: dict[str, float]) -> None:
    lines = ["| who | task | before | | now | |", "|---|---|---:|---:|---:|---:|"]
    for each in walked:
        before = "" if each.seconds_before is None else f"{each.seconds_before:.1f} s"
        made = "impossible" if each.made_before is None else each.made_before
        lines.append(f"| {each.who} | {each.task} | {made} | {before} | {each.made} | {each.seconds:.1f} s |")
    both = [each for each in walked if each.made_before is not None]
    sums = sum(each.made_before or 0 for each in both), sum(each.made for each in both)
    lines.append(f"| | **all that were possible** | **{sums[0]}** | | **{sums[1]}** | |")
    steps = ", ".join(f"{step} in {seconds:.1f} s" for step, seconds in uploaded.items())
    sys.stdout.write("\n".join([*lines, "", f"A file of {PEOPLE:,} people: {steps}.", ""]))


def _walked(browser: Browser, address: str) -> Iterator[Walked]:
    pages: dict[str, Page] = {}
    for each in JOURNEYS:
        page = pages[each.who] = pages.get(each.who) or _signed_in(browser, address, each.who)
        page.goto(each.start)
        if each.start == CONVERSATIONS:
            page.locator("main a[href^='/chat/']").first.click()
            page.wait_for_url(re.compile(r"/chat/[0-9a-f-]{36}/"))
        hand, began = Hand(page), time.monotonic()
        try:
            began += each.walk(hand) or 0.0
        except Exception as error:
            raise RuntimeError(f"{each.task}: not reached, at {page.url}.") from error
        yield Walked(each.who, each.task, each.made, each.seconds, hand.made, time.monotonic() - began)


def _signed_in(browser: Browser, address: str, who: str) -> Page:
    page = browser.new_context(base_url=address, viewport=DESKTOP, reduced_motion="reduce").new_page()  # type: ignore[arg-type]  # a dict is what the protocol takes
    Hand(page).sign_in(who, PASSWORD)
    page.wait_for_url(lambda url: "/login/" not in url)
    return page


def _upload(page: Page, file: Path) -> dict[str, float]:
    rows = (f"Person {number},p{number}@quill-lane.example,E{number}," for number in range(PEOPLE))
    file.write_text("\n".join(["name,email,user_id,role", *rows]))
    page.set_default_timeout(300_000)
    page.goto("/admin/tenants/membership/import/")
    page.get_by_label("CSV file").set_input_files(file)
    took = {}
    for step, button, end in (
        ("checked", "Check the file", "What this file would do"),
        ("imported and invited", f"Import {PEOPLE} rows", "invitations to hand on"),
    ):
        began = time.monotonic()
        page.get_by_role("button", name=button).click()
        expect(page.get_by_role("heading", name=end)).to_be_visible(timeout=300_000)
        took[step] = time.monotonic() - began
    return took


# Members


def _edit(hand: Hand) -> None:
    row = hand.page.locator(".rows .row").first
    row.hover()
    hand.take(row.locator(".row-edit summary"))
    hand.fill("What should it say?", "Has a bicycle with three wheels.", within=row)
    hand.press("Save", within=row)
    expect(hand.page.get_by_text("bicycle with three wheels").first).to_be_visible()


def _pin(hand: Hand) -> None:
    row = hand.page.locator(".rows .row", has=hand.page.get_by_role("button", name="Pin", exact=True)).first
    row.hover()
    hand.press("Pin", within=row)
    expect(hand.page.get_by_text("Pinned. Always included.")).to_be_visible()


def _forget(hand: Hand) -> None:
    row = hand.page.locator(".rows .row").last
    row.hover()
    hand.press("Delete", within=row)
    hand.press("Delete", within=hand.page.get_by_role("dialog", name=re.compile("^Delete ")))
    expect(hand.page.get_by_text("You can undo it for")).to_be_visible()


def _find(hand: Hand) -> None:
    _key(hand, "Control+k")
    hand.page.keyboard.type("gear")
    hand.made += 1
    found = hand.page.locator("#palette")
    for group in ("Conversations", "What I remember"):
        expect(found.get_by_role("region", name=group).get_by_role("link").first).to_be_visible()


def _key(hand: Hand, key: str) -> None:
    hand.page.keyboard.press(key)
    hand.made += 1


def _settle(hand: Hand) -> None:
    hand.press("This one is right")
    expect(hand.page.get_by_text("Decided. The other one is in the history.")).to_be_visible()


def _export(hand: Hand) -> None:
    with hand.page.expect_download():
        hand.press("Export to read (HTML)")


def _rename(hand: Hand) -> None:
    hand.fill("Title", "Gears", exact=True)
    _key(hand, "Enter")
    expect(hand.page.get_by_role("heading", name="Gears")).to_be_visible()


# Staff


def _member(hand: Hand, name: str = "Noor Rahimi") -> None:
    hand.press(name, within=hand.page.get_by_role("region", name="Latest conversations"))
    expect(hand.page.get_by_role("region", name="Facts")).to_be_visible()


def _turn(hand: Hand) -> None:
    hand.press("Cases")
    hand.take(hand.page.get_by_role("link", name=re.compile("^Noor Rahimi, turn")).first)
    expect(hand.page.get_by_role("region", name="Sources in words")).to_be_visible()


def _as_of(hand: Hand) -> None:
    _member(hand)
    hand.press("As of")
    hand.page.get_by_label("Exact time").fill(f"{_day_of_last_month()}T12:00")
    hand.made += 1
    expect(hand.page.get_by_role("heading", name=re.compile("^Memory on"))).to_be_visible()


def _day_of_last_month() -> date:
    return timezone.localdate().replace(day=1) - timedelta(days=1)


def _live(hand: Hand) -> float:
    """Another browser chats meanwhile; how long that took does not count."""
    _member(hand, "Ada Fenwick")
    began = time.monotonic()
    context = hand.page.context
    chat = context.browser.new_context(base_url=hand.page.url).new_page()  # type: ignore[union-attr]  # it has one
    ada = Hand(chat)
    ada.sign_in("ada", PASSWORD)
    ada.fill("Message", "My dog is called Biscuit", exact=True)
    ada.press("Send")
    expect(chat.locator("[data-turns] .answer")).to_contain_text("Biscuit")
    aside = time.monotonic() - began
    expect(
        hand.page.get_by_role("region", name="Facts").get_by_role("link", name=re.compile("Biscuit"))
    ).to_be_visible()
    return aside


def _chain(hand: Hand) -> None:
    _member(hand, "Ada Fenwick")
    hand.press("history")
    expect(hand.page.get_by_role("heading", level=1, name="History of a fact")).to_be_visible()


def _looks(hand: Hand) -> None:
    hand.take(hand.page.get_by_role("link", name=re.compile(r"^Noor Rahimi \d+ Looks at memories")))
    expect(hand.page.get_by_role("region", name="Events").get_by_role("listitem").first).to_be_visible()


def _superseded(hand: Hand) -> None:
    hand.press("Audit log")
    hand.press("Superseded")
    expect(hand.page.get_by_label("From", exact=True)).to_have_value(f"{_day_of_last_month():%Y-%m}")
    expect(hand.page.get_by_text("Each difference has its reason below")).to_be_visible()


def _event(hand: Hand) -> None:
    hand.take(hand.page.locator(".audit-when").first)
    expect(hand.page.get_by_role("heading", name="Before and after")).to_be_visible()


def _verified(hand: Hand) -> None:
    expect(hand.page.get_by_text("verified", exact=True).first).to_be_visible()


def _events_exported(hand: Hand) -> None:
    with hand.page.expect_download():
        hand.press("Export these events")


def _certificate(hand: Hand) -> None:
    hand.press("Verify Quill Lane Cycles")
    run_due()
    with hand.page.expect_download(timeout=120_000):
        hand.press("Download the certificate")


# Administrators


def _tenant(hand: Hand) -> None:
    hand.make_tenant("Acme", "ines@acme.example")
    expect(hand.page.locator("pre code")).to_be_visible()


def _person(hand: Hand) -> None:
    hand.press("Invitations")
    hand.press("New invitation")
    hand.fill("Email", "bob@quill-lane.example")
    hand.press("Save")
    expect(hand.page.locator("pre code")).to_be_visible()


def _token(hand: Hand) -> None:
    hand.press("API tokens")
    hand.press("New backend key")
    hand.fill("Name", "till")
    hand.take(hand.page.get_by_role("checkbox", name=re.compile("^memory:read")))
    hand.press("Create the token")
    expect(hand.page.get_by_text("This is a backend key")).to_be_visible()


def _password(hand: Hand) -> None:
    hand.take(hand.page.get_by_role("button", name=re.compile("Account of Noor Rahimi")))
    hand.press("Account")
    hand.press("Password")
    hand.fill("Current Password", PASSWORD)
    for label in ("New Password", "New Password (again)"):
        hand.fill(label, "four-wheels-and-a-trailer", exact=True)
    hand.press("Change Password")
    expect(hand.page.get_by_text("Password successfully changed.")).to_be_visible()


def _forgotten(hand: Hand) -> None:
    hand.press("Users")
    hand.take(hand.page.get_by_role("link", name=re.compile("^ada")).first)
    hand.press("link to set a password")
    hand.press("Make the link")
    expect(hand.page.locator("pre code")).to_be_visible()


FACTS, ADMIN, LOG = "/remember/facts/", "/admin/", "/admin/tenants/auditevent/?member=noor"
CONVERSATIONS = "/chat/all/"  # of which the newest is opened first
JOURNEYS = (
    Journey("noor", "edit a fact", FACTS, 4, 1.0, _edit),
    Journey("noor", "pin a fact", FACTS, 1, 0.5, _pin),
    Journey("ada", "delete a fact", FACTS, 3, 0.9, _forget),
    Journey("noor", "find a word everywhere (before: in one kind)", FACTS, 3, 0.4, _find),
    Journey("ada", "settle a contradiction", FACTS, 3, None, _settle),
    Journey("noor", "export everything, to read (before: JSON lines alone)", "/account/", 1, 1.1, _export),
    Journey("noor", "rename a conversation", CONVERSATIONS, 4, 1.5, _rename),
    Journey("tamsin", "find a member", ADMIN, 2, 1.2, _member),
    Journey("tamsin", "the turn with the wrong answer, and its sources", ADMIN, 6, 2.0, _turn),
    Journey("tamsin", "what was believed on a day", ADMIN, 5, 1.6, _as_of),
    Journey("tamsin", "see a memory appear while the member chats", ADMIN, 2, 1.3, _live),
    Journey("tamsin", "follow a chain to its beginning", ADMIN, 4, 1.6, _chain),
    Journey("colm", "who looked at a member's memory", ADMIN, 3, None, _looks),
    Journey("colm", "what was superseded in a month (before: two answers)", ADMIN, 7, None, _superseded),
    Journey("colm", "read an event", LOG, 1, None, _event),
    Journey("colm", "whether a member's chain verifies", LOG, 1, 0.5, _verified),
    Journey("colm", "export events, signed", LOG, 1, None, _events_exported),
    Journey("colm", "prove the whole organisation (before: member by member)", ADMIN, 12, None, _certificate),
    Journey("operator", "make a tenant and its first administrator", ADMIN, 12, None, _tenant),
    Journey("hollis", "add a member", ADMIN, 6, None, _person),
    Journey("hollis", "make an API token", ADMIN, 6, None, _token),
    Journey("hollis", "help somebody who forgot the password", ADMIN, None, None, _forgotten),
    Journey("noor", "change the own password", "/", None, None, _password),
)

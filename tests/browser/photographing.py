"""Taking the pictures of `tests/browser/pictures.py`: which pages, of whom, and how they are looked at."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, Page, sync_playwright

from memories.demo.story import PASSWORD
from tenants.principal import Role
from tests.browser.conftest import FLAGS, chromium_path
from tests.browser.pictured import make_pictured
from tests.memories.staff.isolation.addresses import reversed_name
from tests.memories.staff.isolation.cases import MODELS, PAGES
from tests.ports import free_port

WIDE, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
TALLEST = 1600
# Charts and sliders are drawn by scripts; a page that is live never is idle.
SETTLED_MS = 400
# Also taken dark, and on a phone.
OTHERWISE = ("index", "membermemory_change", "membermemory_turn", "membermemory_asked", "history_chain", "auditevent")
# Who is shown at a page that several roles may open.
SUPPORT, AUDITOR, ADMIN, PLATFORM = "tamsin", "colm", "hollis", "operator"
# Histories are open to support, too, but shown as an auditor sees them.
_OF_AUDITORS = ("staff:histories", "staff:history")
# Pictures of staff pages whose name is not `membermemory_` and the name of the page.
_PICTURES = {
    "staff:inspector": "membermemory_change",
    "staff:histories": "history",
    "staff:history": "history_chain",
    "staff:broken_chains": "history_broken",
    "staff:erasure_request": "erasurerequest_change",
    "staff:hold_tenant": "legalhold_place",
    "staff:legal_hold": "legalhold_change",
    "staff:review": "reviewitem_change",
    "staff:metrics": "metricsample",
    "staff:cases": "supportcase",
    "staff:superseded": "audit_superseded",
    "staff:audit_reports": "audit_reports",
    "staff:audit_report": "audit_report",
    "staff:tenant_checks": "audit_checks",
    "staff:tenant_check": "audit_check",
    "staff:check_file": "audit_file",
}

# What is downloaded cannot be looked at.
_FILES = ("staff:audit_report_pdf",)


@dataclass(frozen=True, slots=True)
class Shot:
    """A page, who looks at it, and what they do there first."""

    name: str
    address: str
    who: str
    first: Callable[[Page], object] = lambda _: None


def photograph(folder: Path) -> None:
    """Seed the database, which is empty, serve it, and take every picture."""
    call_command("migrate", verbosity=0)
    shots = shots_of(make_pictured())
    folder.mkdir(parents=True, exist_ok=True)
    with served() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        take(browser, address, shots, folder)
        browser.close()


@contextmanager
def served() -> Iterator[str]:
    """The site, as `manage.py serve` serves it."""
    port = free_port()
    root = Path(__file__).parents[2]
    with subprocess.Popen([sys.executable, root / "manage.py", "serve", f"--port={port}"], cwd=root) as server:  # noqa: S603
        try:
            _wait_for(f"http://127.0.0.1:{port}/login/")
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()


def _wait_for(address: str) -> None:
    for _ in range(120):
        try:
            with urllib.request.urlopen(address, timeout=5):  # noqa: S310 - our own server
                return
        except OSError:
            time.sleep(0.5)
    raise RuntimeError("The site did not start.")


def shots_of(ids: Mapping[str, Any]) -> list[Shot]:
    """Every page of the table, and some as they are once somebody has done something there."""

    def who(name: str, roles: tuple[Role, ...]) -> str:
        if name in _OF_AUDITORS:
            return AUDITOR
        by_role = ((Role.SUPPORT, SUPPORT), (Role.AUDITOR, AUDITOR), (Role.ADMIN, ADMIN))
        return next((person for role, person in by_role if role in roles), PLATFORM)

    def at(name: str, *takes: str) -> str:
        return reverse(reversed_name(name), args=[ids[each] for each in takes])

    found = [
        Shot(_short(name), at(name, *page.takes), who(name, page.roles))
        for name, page in PAGES.items()
        if page.method == "GET" and page.opens == HTTPStatus.OK and name not in _FILES
    ]
    for name, model in MODELS.items():
        found += [
            Shot(_short(f"{name}_changelist"), at(f"{name}_changelist"), ADMIN),
            Shot(_short(f"{name}_change"), at(f"{name}_change", model.row), ADMIN),
        ]
    moments = _moments(at)
    found += [each for each in moments if each.name != "auditevent_of_staff"]
    by_name = {each.name: each for each in found}
    # The audit log before all these pages were looked at, and after that.
    return sorted(by_name.values(), key=lambda each: each.name not in ("auditevent", "history")) + [
        each for each in moments if each.name not in by_name
    ]


def _moments(at: Callable[..., str]) -> list[Shot]:
    histories, audit_log = at("staff:histories"), at("tenants_auditevent_changelist")
    turn = at("staff:turn", "member", "session", "turn")
    then = f"?at={timezone.localdate() - timedelta(days=200)}"
    return [
        Shot("dashboard_auditor", "/admin/", AUDITOR),
        Shot("dashboard_admin", "/admin/", ADMIN),
        Shot("dashboard_platform", "/admin/", PLATFORM),
        Shot("membermemory_searched", at("staff:inspector", "member") + "?q=brakes", SUPPORT),
        Shot("membermemory_record", at("staff:record", "member", "used"), SUPPORT),
        Shot("membermemory_uses", at("staff:uses", "member", "used"), SUPPORT),
        Shot("membermemory_record_playbook", at("staff:record", "member", "playbook"), SUPPORT),
        Shot("membermemory_as_of_then", at("staff:as_of", "member") + then, SUPPORT),
        Shot("membermemory_case", at("staff:turn", "complainer", "case_session", "case_turn"), SUPPORT),
        Shot("membermemory_asked", turn, SUPPORT, _ask_again),
        Shot("history_of_member", f"{histories}?member=ada", AUDITOR),
        Shot("auditevent_of_staff", f"{audit_log}?member=ada&actor_kind=staff", AUDITOR),
    ]


def _ask_again(page: Page) -> None:
    page.get_by_role("button", name="Ask again now").click()


def _short(name: str) -> str:
    """The name of the picture: `staff:as_of` is `membermemory_as_of`, a list has the name of its model."""
    if name.startswith("staff:"):
        return _PICTURES.get(name, name.replace("staff:", "membermemory_"))
    return name.removeprefix("memories_").removeprefix("tenants_").removesuffix("_changelist")


def take(browser: Browser, address: str, shots: list[Shot], folder: Path) -> None:
    only = set(filter(None, os.environ.get("ONLY", "").split(",")))
    for look, name in (("light", ""), ("dark", "-dark"), ("phone", "-phone")):
        wanted = [each for each in shots if look == "light" or each.name in OTHERWISE]
        wanted = [each for each in wanted if not only or each.name in only]
        pages: dict[str, Page] = {}
        for shot in wanted:
            if shot.who not in pages:
                pages[shot.who] = _signed_in(browser, address, shot.who, look)
            _picture(pages[shot.who], shot, folder / f"{shot.name}{name}.png")
        for page in pages.values():
            page.context.close()


def _signed_in(browser: Browser, address: str, who: str, look: str) -> Page:
    context = browser.new_context(
        base_url=address,
        viewport=PHONE if look == "phone" else WIDE,  # type: ignore[arg-type]  # a dict is what the protocol takes
        device_scale_factor=2 if look == "phone" else 1,
        is_mobile=look == "phone",
        color_scheme="dark" if look == "dark" else "light",
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.goto("/login/")
    page.get_by_label("Name").fill(who)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda url: "/login/" not in url)  # members go on to their chat, operators to the admin
    return page


def _picture(page: Page, shot: Shot, path: Path) -> None:
    """What answers with a part of a page, or with a file, has none."""
    answer = page.goto(shot.address)
    if answer is None or not answer.ok:
        raise RuntimeError(f"{shot.name}: {shot.address} answered {answer.status if answer else 'nothing'}.")
    if not page.evaluate("!!document.doctype"):
        return
    shot.first(page)
    page.wait_for_load_state("load")
    page.wait_for_timeout(SETTLED_MS)
    size = page.viewport_size or WIDE
    # The window grows with the page, so that what sticks to its edges is at those of the picture.
    tall = page.evaluate("document.documentElement.scrollHeight")
    page.set_viewport_size({"width": size["width"], "height": max(size["height"], min(TALLEST, tall))})
    page.screenshot(path=path)
    page.set_viewport_size({"width": size["width"], "height": size["height"]})
    sys.stdout.write(f"{path}\n")

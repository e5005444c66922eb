"""A real Chromium with a live, threaded server of the site.

Without Chromium these tests are skipped; with MEMORYHUB_REQUIRE_SERVICES=1 they fail.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIHandler
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from memoryhub.middleware import admitting
from tenants.models import Membership, User
from tenants.principal import Principal
from tests.browser.workshop import Workshop, make_workshop
from tests.factories import PASSWORD, make_membership, make_tenant, own_principal
from tests.parts import missing_part

Browse = Callable[..., Page]
OpenPage = Callable[..., Page]
SitDown = Callable[..., Page]

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run", "--no-default-browser-check",
]  # fmt: skip
AT_HOME = re.compile(r"^https?://[^/]+/$")
# Milliseconds; long, because the machine may be busy and a passing test does not wait.
PATIENCE = 60_000
PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1440, "height": 900}


def chromium_path() -> str | None:
    """The path of Chromium, or None."""
    found = (shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))
    return os.environ.get("MEMORYHUB_CHROMIUM") or next(filter(None, found), None)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for all tests of a process."""
    path = chromium_path()
    if path is None:
        missing_part("Chromium is not installed: apt-get install chromium, or name it in MEMORYHUB_CHROMIUM.")
    with sync_playwright() as playwright, pytest.MonkeyPatch.context() as patch:
        # Playwright keeps an event loop in this thread, which would make Django refuse database access.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        expect.set_options(timeout=PATIENCE)
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def member(transactional_db: None) -> Membership:
    """Mara, a member."""
    return make_membership(make_tenant("Northwind Studio"), name="Mara Lindqvist")


@pytest.fixture
def owner(member: Membership) -> Principal:
    """Another member of Mara's tenant; makes Mara an administrator."""
    Membership.objects.filter(pk=member.pk).update(role="admin")
    User.objects.filter(pk=member.user_id).update(is_staff=True)
    return own_principal(make_membership(member.tenant, name="Joel Ekström"))


@pytest.fixture(autouse=True, scope="session")
def _front() -> Iterator[None]:
    """The test server refuses what the web server refuses before Django reads it (`memoryhub/wsgi.py`)."""
    handle = WSGIHandler.__call__

    def admitted(self: WSGIHandler, environ: dict[str, Any], start_response: Any) -> Any:
        return admitting(partial(handle, self))(environ, start_response)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WSGIHandler, "__call__", admitted)
        yield


@pytest.fixture
def browse(chromium: Browser, live_server: LiveServer) -> Iterator[Browse]:
    """`browse(phone=False, dark=False, scripts=True)` opens a page in a new browser context, not signed in."""
    contexts: list[BrowserContext] = []

    def opened(*, phone: bool = False, dark: bool = False, scripts: bool = True) -> Page:
        context = chromium.new_context(
            base_url=live_server.url,
            viewport=PHONE if phone else DESKTOP,  # type: ignore[arg-type]  # the protocol takes a dict
            has_touch=phone,
            is_mobile=phone,
            color_scheme="dark" if dark else "light",
            java_script_enabled=scripts,
            reduced_motion="reduce",
        )
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        return context.new_page()

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture
def open_page(browse: Browse, member: Membership) -> Iterator[OpenPage]:
    """`open_page(path="/", phone=False, dark=False, scripts=True)` opens Mara's page; fails if it logs an error."""
    errors: list[str] = []

    def opened(path: str = "/", **how: bool) -> Page:
        page = browse(**how)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda line: errors.append(line.text) if "Content Security Policy" in line.text else None)
        sign_in(page, member)
        if path != "/":
            page.goto(path)
        return page

    yield opened
    assert errors == []


@pytest.fixture
def sit_down(browse: Browse) -> Iterator[SitDown]:
    """`sit_down(membership)` signs staff in by the form and returns the page; fails if its console has errors."""
    errors: list[str] = []

    def seated(membership: Membership, **how: bool) -> Page:
        page = browse(**how)
        page.on("pageerror", lambda error: errors.append(f"{page.url}: {error}"))
        page.on("console", lambda line: errors.append(f"{page.url}: {line.text}") if line.type == "error" else None)
        sign_in(page, membership)
        return page

    yield seated
    assert errors == []


def sign_in(page: Page, member: Membership) -> None:
    """Sign in by the form."""
    page.goto("/login/")
    page.get_by_label("Name").fill(member.user.get_username())
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(AT_HOME)


@pytest.fixture
def support(member: Membership) -> Membership:
    """Mara, who supports her tenant."""
    Membership.objects.filter(pk=member.pk).update(role="support")
    User.objects.filter(pk=member.user_id).update(is_staff=True)
    return member


@pytest.fixture
def platform(member: Membership) -> Membership:
    """Mara, of the platform's staff."""
    User.objects.filter(pk=member.user_id).update(is_staff=True, is_superuser=True)
    return member


@pytest.fixture
def workshop(transactional_db: None) -> Workshop:
    """Quill Lane Cycles, where nobody said anything yet."""
    return make_workshop()


@pytest.fixture
def model_at(settings: Settings) -> Callable[[str], None]:
    """`model_at(base_url)` configures a language model at this URL."""

    def configured(base_url: str) -> None:
        settings.MEMORYHUB_MODEL = "test-model"
        settings.OPENAI_BASE_URL = base_url
        settings.OPENAI_API_KEY = "sk-test-0123456789-never-to-be-seen"

    return configured

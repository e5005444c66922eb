"""Somebody at a page, who finds things by what is written on them, and whose presses and filled fields are counted."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Locator, Page

from tests.factories import PASSWORD


class Hand:
    """`made` is the number of links and buttons pressed, and of fields filled."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.made = 0

    def press(self, name: str, *, within: Locator | None = None) -> None:
        """Press a button or follow a link."""
        place = within or self.page
        button = place.get_by_role("button", name=name, exact=True)
        self.take(button.or_(place.get_by_role("link", name=name, exact=True)).locator("visible=true").first)

    def take(self, what: Locator) -> None:
        """Press something that has no name of its own."""
        what.click()
        self.made += 1

    def fill(self, label: str, words: str, *, exact: bool = False, within: Locator | None = None) -> None:
        """Type into a field."""
        field = (within or self.page).get_by_label(label, exact=exact).first
        field.clear()
        field.press_sequentially(words)
        self.made += 1

    def choose_file(self, label: str, file: Path) -> None:
        """Choose a file."""
        self.page.get_by_label(label).set_input_files(file)
        self.made += 1

    def sign_in(self, name: str, password: str = PASSWORD) -> None:
        """Sign in by the form."""
        self.page.goto("/login/")
        self.fill("Username", name)
        self.fill("Password", password)
        self.press("Sign in")

    def make_tenant(self, name: str, email: str) -> None:
        """From the first page of the admin: make a tenant, and the invitation of its first administrator."""
        self.press("Tenants")
        self.press("New tenant")
        self.fill("Name", name)
        self.press("Save")
        self.fill("Email", email)
        self.press("Save")

    def join(self, link: str, password: str = PASSWORD) -> None:
        """Make the account of an invitation, with the e-mail address as the username."""
        self.page.goto(link)
        self.fill("Password", password, exact=True)
        self.fill("Password again", password)
        self.press("Make the account")

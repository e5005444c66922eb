"""A company's first day: the operator makes a tenant, its first administrator comes by invitation and is safe."""

from __future__ import annotations

import re
import time

import pytest
from allauth.mfa.totp.internal.auth import hotp_value
from playwright.sync_api import Page, expect

from tenants.models import Membership, User
from tests.browser.conftest import Browse
from tests.browser.staff_pages import serious_in
from tests.factories import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def sign_in(page: Page, name: str) -> None:
    page.goto("/login/")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()


def code_of(secret: str, step: int = 0) -> str:
    return f"{hotp_value(secret, int(time.time()) // 30 + step):06}"


def test_a_company_gets_in(browse: Browse) -> None:
    User.objects.create_superuser("operator", password=PASSWORD)
    operator = browse()
    sign_in(operator, "operator")
    operator.wait_for_url("**/admin/")
    operator.goto("/admin/tenants/tenant/add/")
    operator.get_by_label("Name").press_sequentially("Acme Works")
    expect(operator.get_by_label("Slug")).to_have_value("acme-works")
    operator.get_by_role("button", name="Save", exact=True).click()
    operator.get_by_label("Email").fill("ines@acme.example")
    operator.get_by_role("button", name="Save", exact=True).click()
    link = operator.locator("pre code").inner_text()

    ines = browse()
    ines.goto(link)
    expect(ines.get_by_role("heading", level=1)).to_have_text("Join Acme Works")
    assert serious_in(ines) == []
    ines.get_by_label("Your name").fill("Ines")
    ines.get_by_label("Password", exact=True).fill(PASSWORD)
    ines.get_by_label("Password again").fill(PASSWORD)
    ines.get_by_role("button", name="Make the account").click()
    ines.wait_for_url(re.compile(r"^https?://[^/]+/$"))
    assert Membership.objects.get(user__username="ines@acme.example").role == "admin"

    ines.goto("/account/security/")
    assert serious_in(ines) == []
    ines.get_by_role("link", name="Set up").click()
    expect(ines.locator("img.qr")).to_be_visible()
    assert serious_in(ines) == []
    secret = ines.get_by_label("Authenticator secret").input_value()
    ines.get_by_label("Authenticator code").fill(code_of(secret, -1))
    ines.get_by_role("button", name="Activate").click()
    expect(ines.get_by_role("heading", level=1)).to_have_text("Recovery Codes")

    phone = browse(phone=True)
    sign_in(phone, "ines@acme.example")
    expect(phone.get_by_role("heading", level=1)).to_have_text("Two-Factor Authentication")
    assert serious_in(phone) == []
    phone.get_by_label("Code").fill(code_of(secret))
    phone.get_by_role("button", name="Sign in", exact=False).first.click()
    phone.wait_for_url(re.compile(r"^https?://[^/]+/$"))

    ines.goto("/account/sessions/")
    expect(ines.locator(".session")).to_have_count(2)
    assert serious_in(ines) == []
    ines.get_by_role("button", name="Sign out everywhere else").click()
    expect(ines.locator(".session")).to_have_count(1)
    phone.goto("/")
    expect(phone.get_by_role("heading", level=1)).to_have_text("Sign in")

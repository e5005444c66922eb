"""A company's first day: an operator makes a tenant, its administrator sets it up, and its people come and chat."""

from __future__ import annotations

import re
import time
from ipaddress import ip_network
from pathlib import Path

import pytest
from allauth.mfa.totp.internal.auth import hotp_value
from django.core.management import call_command
from playwright.sync_api import Page, expect
from pytest_django import Settings

from tenants.models import ApiToken, Membership, User
from tests.browser.conftest import AT_HOME, Browse
from tests.browser.hand import Hand
from tests.browser.staff_pages import serious_in
from tests.factories import PASSWORD
from tests.openai_server import Say, openai_server

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


def test_operator_to_chatting_member_takes_under_ten_minutes_and_forty_clicks(
    browse: Browse, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MEMORYHUB_WEBHOOK_NETWORKS = (ip_network("127.0.0.0/8"),)
    monkeypatch.setenv("MEMORYHUB_OPERATOR_PASSWORD", PASSWORD)
    call_command("operator", "create", "operator")
    began = time.monotonic()
    operator, ines, member = Hand(browse()), Hand(browse()), Hand(browse(phone=True))
    link = make_tenant_and_invite(operator)
    with openai_server(Say(["Hello from the model."])) as server:
        ada = set_up(ines, link, server.base_url, tmp_path / "people.csv")
        member.join(ada)
        member.page.wait_for_url(AT_HOME)
        member.fill("Message", "I live in Bristol.", exact=True)
        member.press("Send")
        expect(member.page.locator("[data-turns] .answer")).to_contain_text("Hello from the model.")
    assert operator.made <= 9 and ines.made <= 21 and member.made <= 5
    assert time.monotonic() - began < 600


def make_tenant_and_invite(hand: Hand) -> str:
    """The link for the first administrator."""
    hand.sign_in("operator")
    hand.make_tenant("Acme", "ines@acme.example")
    return hand.page.locator("pre code").inner_text()


def set_up(hand: Hand, link: str, model: str, file: Path) -> str:
    """The whole checklist; the link for the first of the people."""
    hand.join(link)
    hand.press("Admin")
    expect(hand.page.get_by_role("heading", name="First steps")).to_be_visible()
    assert serious_in(hand.page) == []
    hand.press("Upload a file")
    file.write_text("name,email,role\nAda,ada@acme.example,\nBob,bob@acme.example,support\n")
    hand.choose_file("CSV file", file)
    hand.press("Check the file")
    assert serious_in(hand.page) == []
    hand.press("Import 2 rows")
    assert serious_in(hand.page) == []
    invitation = hand.page.locator("td code").first.inner_text()
    hand.press("Admin")
    hand.press("Connect a model")
    hand.fill("Address", model)
    hand.fill("Model", "small")
    hand.press("Test and connect")
    expect(hand.page.get_by_text("Connected: small")).to_be_visible()
    hand.press("Admin")
    hand.press("Set the policy")
    hand.press("Save")
    hand.press("Admin")
    hand.press("Make a token")
    hand.fill("Name", "backend")
    hand.take(hand.page.get_by_role("checkbox", name=re.compile("^memory:read")))
    hand.press("Create the token")
    assert ApiToken.objects.get().is_key
    hand.page.goto("/admin/")
    expect(hand.page.get_by_role("heading", name="First steps")).to_have_count(0)
    return invitation

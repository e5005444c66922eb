"""A member connects an agent in a browser: consent, a token, settings to copy, revoking; axe finds nothing."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from tenants.models import ApiToken, Membership
from tests.browser.conftest import Browse, OpenPage
from tests.browser.staff_pages import serious_in
from tests.oauth_agent import Agent
from tests.receiver import Handler, receiving

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def welcome(handler: Handler) -> None:
    """The page of the program, which shows the address that it was called with."""
    body = f"<title>Connected</title><p>{handler.path}".replace("&", "&amp;").encode()
    handler.send_response(200)
    handler.send_header("Content-Type", "text/html")
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


@pytest.fixture
def agent(live_server: LiveServer) -> Agent:
    agent = Agent(live_server.url, name="Cursor")
    agent.register()
    return agent


def test_a_member_signs_in_and_allows_an_agent_less_than_it_asked(
    open_page: OpenPage, agent: Agent, browse: Browse, member: Membership
) -> None:
    page = browse()
    with receiving() as program:
        program.document = welcome
        agent.callback = f"{program.url.removesuffix('/hook')}/callback"
        page.goto(agent.address(redirect_uri=agent.callback))
        page.get_by_label("Name").fill(member.user.get_username())
        page.get_by_label("Password").fill("correct horse battery staple")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Cursor asks for access to your memory")
        facts = page.locator(".consent-facts")
        expect(facts).to_contain_text("Mara Lindqvist")
        expect(facts).to_contain_text("Northwind Studio")
        expect(facts).to_contain_text("a program on your computer")
        page.get_by_label("Remember, correct and retire").uncheck()
        page.get_by_role("button", name="Allow").click()
        page.wait_for_url(f"{agent.callback}?*")
        code = httpx.URL(page.url).params["code"]
    issued = agent.exchange(code).json()
    assert issued["scope"] == "memory:read"
    page = open_page("/connect/")
    row = page.locator(".program", has_text="Cursor (a program on your computer)")
    expect(row).to_contain_text("Agent that you allowed")
    row.get_by_role("button", name="Revoke").click()
    expect(page.locator(".notice-success")).to_contain_text("has no access any more")
    expect(page.get_by_text("No agent has access")).to_be_visible()
    assert agent.whoami(issued["access_token"]).status_code == 401


@pytest.mark.parametrize("scripts", [True, False])
def test_a_token_is_made_shown_once_and_revoked(open_page: OpenPage, agent: Agent, scripts: bool) -> None:
    page = open_page("/connect/", phone=not scripts, scripts=scripts)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_label("Name").fill("My laptop")
    page.get_by_role("button", name="Create a token").click()
    plaintext = page.locator(".new-token code").inner_text()
    assert agent.whoami(plaintext).json()["scopes"] == ["chat", "memory:read", "memory:write"]
    expect(page.locator(".snippet").first).to_contain_text(f"Bearer {plaintext}")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.reload()
    expect(page.get_by_role("button", name="Create a token")).to_be_visible()
    assert plaintext not in page.content()
    expect(page.locator(".program")).to_contain_text("My laptop")
    page.get_by_role("button", name="Revoke My laptop").click()
    expect(page.get_by_text("No agent has access")).to_be_visible()
    assert agent.whoami(plaintext).status_code == 401


def test_an_old_sign_in_gives_its_password_again(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    page = open_page("/connect/")
    with monkeypatch.context() as patch:
        patch.setattr("memoryhub.reauthentication.is_fresh", lambda _: False)
        page.get_by_label("Name").fill("My laptop")
        page.get_by_role("button", name="Create a token").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Confirm your password")
        assert not ApiToken.objects.exists()
        page.get_by_label("Password of").fill("correct horse battery staple")
        page.get_by_role("button", name="Continue").click()
        expect(page.locator(".new-token")).to_be_visible()


def test_an_old_sign_in_allows_an_agent_with_its_password(
    open_page: OpenPage, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = open_page("/connect/")
    with receiving() as program, monkeypatch.context() as patch:
        program.document = welcome
        agent.callback = f"{program.url.removesuffix('/hook')}/callback"
        patch.setattr("memoryhub.reauthentication.is_fresh", lambda _: False)
        page.goto(agent.address())
        page.get_by_role("button", name="Allow").click()
        page.get_by_label("Password of").fill("correct horse battery staple")
        page.get_by_role("button", name="Continue").click()
        page.wait_for_url(f"{agent.callback}?*")
        assert agent.exchange(httpx.URL(page.url).params["code"]).status_code == 200


@pytest.mark.parametrize(("dark", "phone"), [(False, False), (True, True)])
def test_axe_finds_nothing_serious(open_page: OpenPage, agent: Agent, dark: bool, phone: bool) -> None:
    page = open_page("/connect/", dark=dark, phone=phone)
    found = serious_in(page)
    page.get_by_label("Name").fill("My laptop")
    page.get_by_role("button", name="Create a token").click()
    expect(page.locator(".new-token")).to_be_visible()
    found += serious_in(page)
    page.goto(agent.address())
    found += serious_in(page)
    page.goto(agent.address(redirect_uri="https://thief.example/"))
    assert found + serious_in(page) == []

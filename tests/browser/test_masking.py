"""What must not be stored does not stay on the page that it was typed into, nor anywhere else in the browser."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenPage
from tests.browser.talking import say
from tests.openai_server import Say, Stall, openai_server

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

CARD = "4111 1111 1111 " + "1111"
KEPT = """() => JSON.stringify([
  {...localStorage}, {...sessionStorage}, history.state, document.cookie, document.documentElement.outerHTML,
  [...document.querySelectorAll("input, textarea")].map((field) => field.value),
])"""


def test_a_value_leaves_the_page_as_soon_as_the_turn_began(
    open_page: OpenPage, model_at: Callable[[str], None]
) -> None:
    with openai_server(Stall(Say(["I cannot ", "keep that."]), count=2, alive=True)) as server:
        model_at(server.base_url)
        page = open_page()
        turn = say(page, f"My card is {CARD}")
        expect(turn.locator("[data-answer]")).to_contain_text("I cannot")
        expect(turn.locator(".said .words")).to_have_text("My card is [payment card removed]")
        assert "4111 1111" not in page.evaluate(KEPT)
        server.released.set()
        expect(page.locator("#turn-1 .taken-out")).to_contain_text("A payment card number was taken out")
        page.reload()
        expect(page.locator("#turn-1 .taken-out")).to_be_visible()
        assert "4111 1111" not in page.evaluate(KEPT)

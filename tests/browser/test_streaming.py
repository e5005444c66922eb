"""Streaming: text appears as it comes; stop keeps it, retry answers again in its place, markup stays text.

The page does not jump.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenPage
from tests.browser.talking import ask, say
from tests.openai_server import Refuse, Say, Stall, openai_server

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ModelAt = Callable[[str], None]
WORDS = ["Once ", "upon ", "a ", "time."]


def test_stop_keeps_what_was_streamed_and_retry_answers_in_its_place(open_page: OpenPage, model_at: ModelAt) -> None:
    with openai_server(Stall(Say(WORDS), count=3, alive=True), Say(["All of it."])) as server:
        model_at(server.base_url)
        page = open_page()
        turn = say(page, "Tell me a story.")
        expect(turn.locator("[data-answer]")).to_contain_text("Once upon")
        page.get_by_role("button", name="Stop").click()
        ended = page.locator("#turn-1 .ended")
        expect(ended).to_contain_text("Stopped here")
        expect(page.locator("#turn-1 .answer .words")).to_contain_text("Once upon")
        ended.get_by_role("button", name="Try again").click()
        expect(page.locator("#turn-1 .answer .words")).to_have_text("All of it.")
        expect(page.locator("[data-turns] > li")).to_have_count(1)


@pytest.mark.english
def test_a_reader_of_the_screen_hears_the_answer_and_no_button(open_page: OpenPage) -> None:
    page = open_page()
    ask(page, "I live in Hull.")
    heard = page.locator("[role=status]")
    expect(heard.nth(0)).to_have_text("Got it: you live in Hull.")
    expect(heard.nth(1)).to_have_text("Saved: “You live in Hull”")
    expect(heard).to_have_count(2)


def test_a_model_that_refuses_leaves_an_error_and_a_retry(open_page: OpenPage, model_at: ModelAt) -> None:
    with openai_server(Refuse(401), Say(["Here I am."])) as server:
        model_at(server.base_url)
        page = open_page()
        say(page, "Are you there?")
        ended = page.locator("#turn-1 .ended-failed")
        expect(ended).to_contain_text("Your message is saved")
        ended.get_by_role("button", name="Try again").click()
        expect(page.locator("#turn-1 .answer .words")).to_have_text("Here I am.")


def test_markup_from_either_side_stays_text(open_page: OpenPage, model_at: ModelAt) -> None:
    hostile = '<img src=x onerror="document.title=1"><script>document.title=2</script>'
    with openai_server(Say([hostile])) as server:
        model_at(server.base_url)
        page = open_page()
        turn = ask(page, hostile)
        expect(turn.locator(".said .words")).to_have_text(hostile)
        expect(turn.locator(".answer .words")).to_have_text(hostile)
        assert page.locator("main img").count() == 0
        assert "memoryhub" in page.title()


def test_a_lost_server_gives_the_message_back(open_page: OpenPage) -> None:
    page = open_page()
    page.route("**/chat/send/", lambda route: route.abort())
    page.get_by_label("Message", exact=True).fill("Do not lose this")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("alert")).to_contain_text("could not be reached")
    expect(page.get_by_label("Message", exact=True)).to_have_value("Do not lose this")
    page.unroute("**/chat/send/")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#turn-1 .said .words")).to_have_text("Do not lose this")


def test_nothing_moves_when_the_answer_is_whole(open_page: OpenPage, model_at: ModelAt) -> None:
    with openai_server(Say(["Fine."])) as server:
        model_at(server.base_url)
        page = open_page()
        ask(page, "How are you?")
        page.evaluate("""() => {
            window.moved = 0;
            new PerformanceObserver((list) => {
                for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.moved += entry.value;
            }).observe({ type: "layout-shift", buffered: false });
        }""")
        ask(page, "And now?")
        page.wait_for_timeout(200)
        assert page.evaluate("window.moved") < 0.05

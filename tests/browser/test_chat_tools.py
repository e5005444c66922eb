"""In the chat: edit, answer again, copy, thumbs, undo, rename, delete, the palette, the keys."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from memories.models import Feedback, Session
from memories.services.facts.remember import remember_fact
from tenants.models import Membership
from tests.browser.conftest import AT_HOME, OpenPage
from tests.browser.staff_pages import serious_in
from tests.browser.talking import ask
from tests.factories import own_principal
from tests.memories.chat.lives import live
from tests.openai_server import Say, openai_server

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ModelAt = Callable[[str], None]


def test_an_answer_is_formatted_and_answered_again_in_its_place(open_page: OpenPage, model_at: ModelAt) -> None:
    with openai_server(Say(["**One**\n\n", "- two\n- three"]), Say(["Another."])) as server:
        model_at(server.base_url)
        page = open_page()
        turn = ask(page, "Tell me.")
        expect(turn.locator(".markdown strong")).to_have_text("One")
        expect(turn.locator(".markdown li")).to_have_count(2)
        turn.get_by_role("button", name="Answer again").click()
        expect(page.locator("#turn-1 .answer .words")).to_have_text("Another.")
        expect(page.locator("[data-turns] > li")).to_have_count(1)


def test_hostile_markdown_loads_and_runs_nothing(open_page: OpenPage, model_at: ModelAt) -> None:
    hostile = "![a](https://evil.example/a.png) [b](javascript:document.title=1) <img src=x onerror=alert(1)>"
    with openai_server(Say([hostile])) as server:
        model_at(server.base_url)
        page = open_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        turn = ask(page, "Show me.")
        expect(turn.locator(".answer .words")).to_contain_text("javascript:document.title=1")
        assert page.locator("main img").count() == 0
        assert turn.locator(".answer .words a").count() == 1
        assert not [url for url in asked if "evil" in url]


def test_an_edited_message_takes_the_place_of_what_followed(open_page: OpenPage) -> None:
    page = open_page()
    ask(page, "I live in Bristol.")
    ask(page, "Where do I live?")
    first = page.locator("#turn-1")
    first.locator(".said").hover()
    first.get_by_text("Edit").click()
    box = first.get_by_label("Your message")
    expect(box).to_be_focused()
    box.fill("I live in Leeds.")
    first.locator("[data-edit]").get_by_role("button", name="Send").click()
    expect(page.locator("#turn-3 .said .words")).to_have_text("I live in Leeds.")
    expect(page.locator("#turn-3 [data-usage]")).to_be_visible()
    expect(page.locator("[data-turns] > li")).to_have_count(1)
    page.reload()
    expect(page.locator("[data-turns] > li")).to_have_count(1)


def test_an_edit_that_is_refused_brings_everything_back(open_page: OpenPage) -> None:
    page = open_page()
    ask(page, "I live in Bristol.")
    page.route("**/edit/", lambda route: route.abort())
    page.locator("#turn-1 .said").hover()
    page.locator("#turn-1").get_by_text("Edit").click()
    page.locator("#turn-1").get_by_label("Your message").fill("I live in Leeds.")
    page.locator("#turn-1 [data-edit]").get_by_role("button", name="Send").click()
    expect(page.get_by_role("alert")).to_contain_text("could not be reached")
    expect(page.locator("#turn-1 .said .words")).to_have_text("I live in Bristol.")


def test_thumbs_down_asks_why_and_can_be_taken_back(open_page: OpenPage, member: Membership) -> None:
    page = open_page(f"/chat/{live(own_principal(member)).session}/")
    down = page.get_by_role("button", name="Not helpful")
    down.click()
    note = page.get_by_label("What was wrong, or right?")
    expect(note).to_be_focused()
    assert serious_in(page, "the note") == []
    note.fill("It is Leeds.")
    page.locator(".feedback-note").get_by_role("button", name="Save").click()
    expect(page.get_by_text("Your note")).to_be_visible()
    assert Feedback.objects.unscoped("a test").get().note == "It is Leeds."
    expect(down).to_have_attribute("aria-pressed", "true")
    down.click()
    expect(down).to_have_attribute("aria-pressed", "false")
    expect(page.locator(".feedback-note")).to_have_count(0)


@pytest.mark.english
def test_what_was_just_saved_can_be_undone(open_page: OpenPage) -> None:
    page = open_page()
    ask(page, "Remember that I am allergic to peanuts.")
    toast = page.locator("[data-toast-box]")
    expect(toast).to_contain_text("Saved:")
    assert serious_in(page, "the toast") == []
    toast.get_by_role("button", name="Undo").click()
    expect(toast).to_contain_text("Undone")


def test_an_answer_is_copied(open_page: OpenPage, member: Membership) -> None:
    page = open_page(f"/chat/{live(own_principal(member)).session}/")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy the answer").click()
    expect(page.locator("[data-toast-box]")).to_contain_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "Edinburgh it is."


@pytest.mark.parametrize("scripts", [True, False])
def test_the_title_is_a_field_that_renames(open_page: OpenPage, member: Membership, scripts: bool) -> None:
    page = open_page(f"/chat/{live(own_principal(member)).session}/", scripts=scripts)
    page.get_by_label("Title", exact=True).fill("Moving")
    page.get_by_label("Title", exact=True).press("Enter")
    expect(page.get_by_role("heading", name="Moving")).to_be_visible()
    expect(page.get_by_role("navigation").get_by_role("link", name="Moving")).to_be_visible()
    assert not scripts or serious_in(page, "the title") == []


@pytest.mark.parametrize("phone", [False, True])
def test_leaving_the_title_saves_it_and_escape_does_not(open_page: OpenPage, member: Membership, phone: bool) -> None:
    page = open_page(f"/chat/{live(own_principal(member)).session}/", phone=phone)
    title = page.get_by_label("Title", exact=True)
    before = title.input_value()
    page.get_by_role("button", name="This conversation").click()
    page.get_by_role("button", name="Rename").click()
    expect(title).to_be_focused()
    page.keyboard.type("Never mind")
    page.keyboard.press("Escape")
    expect(title).to_have_value(before)
    title.fill("Moving")
    page.get_by_label("Message", exact=True).focus()
    expect(page.get_by_role("heading", name="Moving")).to_be_visible()
    assert Session.objects.unscoped("a test").get().title == "Moving"


@pytest.mark.parametrize("scripts", [True, False])
def test_a_conversation_is_deleted_in_place(open_page: OpenPage, member: Membership, scripts: bool) -> None:
    page = open_page(f"/chat/{live(own_principal(member)).session}/", scripts=scripts)
    page.get_by_role("button", name="This conversation").click()
    page.locator("#session-menu").get_by_role("button", name="Delete").click()
    assert not scripts or serious_in(page, "delete") == []
    page.locator("#delete-session").get_by_role("button", name="Delete").click()
    page.wait_for_url(AT_HOME)
    expect(page.get_by_text("Permanently deleted")).to_be_visible()
    assert not Session.objects.unscoped("a test").exists()


@pytest.mark.parametrize("phone", [False, True])
def test_the_palette_opens_conversations_facts_and_pages(open_page: OpenPage, member: Membership, phone: bool) -> None:
    remember_fact(own_principal(member), text="Keeps bees in the orchard")
    life = live(own_principal(member))
    page = open_page(phone=phone, dark=phone)
    page.keyboard.press("Control+k")
    palette = page.locator("#palette")
    expect(palette.get_by_role("link", name="We left Bristol")).to_be_visible()
    assert serious_in(page, "the palette") == []
    page.keyboard.type("bees")
    expect(palette.get_by_role("link", name="You keep bees")).to_be_visible()
    page.keyboard.press("Control+a")
    page.keyboard.type("edinburgh it is")
    expect(palette.get_by_role("link", name="We left Bristol")).to_be_visible()
    expect(palette.get_by_role("link")).to_have_count(3)  # the last one searches everything
    page.keyboard.press("ArrowDown")
    expect(palette.get_by_role("link", name="We left Bristol")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/chat/{life.session}/")


def test_the_question_mark_shows_the_keys(open_page: OpenPage) -> None:
    page = open_page()
    page.get_by_label("Message", exact=True).press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    assert serious_in(page, "the keys") == []
    page.keyboard.press("Escape")
    expect(page.locator("#keys")).to_be_hidden()


def test_without_scripts_a_message_is_edited_and_judged(open_page: OpenPage, member: Membership) -> None:
    page = open_page(f"/chat/{live(own_principal(member)).session}/", scripts=False)
    page.get_by_role("button", name="Helpful", exact=True).click()
    expect(page.get_by_role("button", name="Helpful", exact=True)).to_have_attribute("aria-pressed", "true")
    page.locator(".said").hover()
    page.get_by_text("Edit").click()
    page.get_by_label("Your message").fill("We left Bristol for Leeds")
    page.locator("[data-edit]").get_by_role("button", name="Send").click()
    expect(page.locator("#turn-2 .said .words")).to_have_text("We left Bristol for Leeds")


def test_an_administrator_connects_a_model_from_the_offline_line(open_page: OpenPage, member: Membership) -> None:
    Membership.objects.filter(pk=member.pk).update(role="admin")
    page = open_page()
    expect(page.locator(".offline")).to_contain_text("Offline")
    page.get_by_role("link", name="Connect a model").click()
    assert serious_in(page, "connect a model") == []
    page.get_by_label("Address").fill("https://127.0.0.1/v1")
    page.get_by_label("Key", exact=True).fill("none")
    page.get_by_label("Model").fill("small")
    page.get_by_role("button", name="Test and connect").click()
    expect(page.get_by_role("alert")).to_contain_text("not public")

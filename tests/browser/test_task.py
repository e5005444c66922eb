"""The task of a conversation: shown as it goes on, on a desk and on a phone, and finished by its member."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from playwright.sync_api import expect

from memories.services.sessions.turns import begin_turn, finish_turn
from memories.services.sessions.working_memory import note, observe, set_plan, set_task
from memories.types import Importance
from tenants.models import Membership
from tests.browser.conftest import OpenPage
from tests.browser.staff_pages import faults_of
from tests.browser.talking import ask
from tests.factories import own_principal
from tests.openai_server import Call, Say, openai_server

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ModelAt = Callable[[str], None]


@pytest.fixture
def session(member: Membership) -> UUID:
    who = own_principal(member)
    turn = begin_turn(who, text="Help me move the studio's print server before Friday.")
    where: dict[str, Any] = {"session_id": turn.session_id}
    set_task(who, goal="Move the print server to the new rack", constraints=["Nobody prints on Thursday"], **where)
    set_plan(who, steps=["Order the cable", "Label the ports", "Move it", "Print a test page"], done=1, **where)
    observe(who, text="The old cable is two metres short", importance=Importance.CRITICAL, **where)
    note(who, text="Rack 4, unit 17", **where)
    finish_turn(who, turn=1, text="The cable is ordered. Next: label the ports.", took_ms=640, **where)
    return turn.session_id


@pytest.mark.parametrize(("dark", "phone"), [(False, False), (True, True), (True, False), (False, True)])
def test_the_task_is_readable_everywhere(open_page: OpenPage, session: UUID, dark: bool, phone: bool) -> None:
    page = open_page(f"/chat/{session}/", dark=dark, phone=phone)
    if phone:
        page.locator("[data-usage]").first.click()
    task = page.get_by_role("region", name="Task")
    expect(task).to_contain_text("Step 2 of 4")
    expect(task.locator("[aria-current=step]")).to_contain_text("Label the ports")
    assert faults_of(page, "task") == []


def test_the_task_appears_as_the_agent_sets_it(open_page: OpenPage, model_at: ModelAt) -> None:
    task = Call([("set_task", '{"goal": "Move it"}'), ("update_plan", '{"steps": ["Order", "Move"], "done": 1}')])
    with openai_server(task, Say(["On it."])) as server:
        model_at(server.base_url)
        page = open_page()
        ask(page, "Help me move the print server.")
        expect(page.get_by_role("region", name="Task")).to_contain_text("Step 2 of 2")

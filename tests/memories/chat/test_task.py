"""The task beside the conversation: how far it is, what must hold, and how a member ends it."""

from __future__ import annotations

import json
from datetime import UTC
from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from django.urls import reverse

from memories.agent.events import TurnStarted
from memories.chat.frame import Reader, page_frame
from memories.models import EntryKind, Fact
from memories.services.sessions.turns import begin_turn
from memories.services.sessions.working_memory import note, observe, set_plan, set_task
from memories.types import Importance
from tenants.principal import Principal

pytestmark = pytest.mark.django_db


@pytest.fixture
def session(principal: Principal) -> UUID:
    session = begin_turn(principal, text="Help me repot the fern").session_id
    set_task(principal, session_id=session, goal="Repot the <fern>", constraints=["No peat"])
    set_plan(principal, session_id=session, steps=["Buy soil", "Fill the pot", "Water it"], done=1)
    critical: dict[str, Any] = {"session_id": session, "importance": Importance.CRITICAL}
    observe(principal, text="The pot is cracked", **critical)
    observe(principal, text="Before noon", kind=EntryKind.CONSTRAINT, **critical)
    note(principal, session_id=session, text="12 cm")
    return session


def page(client: Client, session: UUID) -> str:
    return client.get(reverse("chat:session", args=[session])).content.decode()


def test_the_task_stands_beside_the_conversation(ada: Client, session: UUID) -> None:
    shown = page(ada, session)
    assert "Repot the &lt;fern&gt;" in shown
    assert "Step 2 of 3" in shown
    assert shown.index("Buy soil") < shown.index('aria-current="step"') < shown.index("Fill the pot")
    places = [shown.index(words) for words in ("Before noon", "No peat", "The pot is cracked", "12 cm")]
    assert places == sorted(places)


def test_the_last_frame_of_an_answer_brings_the_task(principal: Principal, session: UUID) -> None:
    started = TurnStarted(session, 1, UUID(int=1), None)
    frame = page_frame(Reader(principal, UTC, "en", "token"), started, started).decode()
    data = json.loads(frame.split("data: ", 1)[1])
    assert "Step 2 of 3" in data["panel_html"]


def test_a_member_finishes_the_task(ada: Client, session: UUID) -> None:
    answer = ada.post(reverse("chat:finish", args=[session]), follow=True)
    assert "The task is finished. Kept as memory: 4 facts." in answer.content.decode()
    assert 'aria-label="Task"' not in answer.content.decode()
    assert Fact.objects.filter(text="The pot is cracked").exists()
    again = ada.post(reverse("chat:finish", args=[session]), follow=True).content.decode()
    assert "Nothing in it was marked as important." in again

"""A conversation with the English responder; all tests of this folder need the English rules."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest

from memories.agent.loop import run_turn
from memories.english.responder import Responder
from memories.models import Fact
from tenants.principal import Principal
from tests.memories.agent.conftest import started_of, text_of

PROPOSED = "I delete nothing myself: only you can, with “Delete”."

Say = Callable[[str], str]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.english)


@pytest.fixture
def say(principal: Principal) -> Say:
    """Says something in one conversation and gives the answer."""
    session: UUID | None = None

    def said(text: str) -> str:
        nonlocal session
        events = list(run_turn(principal, text=text, session_id=session, model=Responder()))
        session = started_of(events).session_id
        return text_of(events)

    return said


def current() -> set[str]:
    return set(Fact.objects.current().values_list("text", flat=True))

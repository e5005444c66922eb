"""The working memory in the prompt: quoted, whole, and never pushed out."""

from __future__ import annotations

import json

import pytest

from memories.agent import prompt
from memories.agent.prompt import render_progress, render_task
from memories.constants import (
    HISTORY_TOKENS,
    MAX_CONSTRAINTS,
    SLOT_CHARACTERS,
)
from memories.slots import Noted, Plan, Slots
from memories.types import Importance
from tests.memories.agent.test_prompt import ATTACKS, SYSTEM, turn


def everywhere(text: str) -> Slots:
    noted = Noted(text, 1)
    return Slots(noted, Plan((text, text), 1), (noted,), (noted,), (noted,))


def test_the_slots_are_told_in_reading_order() -> None:
    slots = Slots(
        goal=Noted("Repot", 1),
        plan=Plan(("Buy", "Fill", "Water"), 1),
        constraints=(Noted("No peat", 2), Noted("Before noon", 3, importance=Importance.CRITICAL)),
        observations=(Noted("Dry", 4, importance=Importance.IMPORTANT), Noted("Late", 5)),
        scratchpad=(Noted("12 cm", 6), Noted("clay", 7)),
    )
    standing, progress = json.loads(render_task(slots)), json.loads(render_progress(slots))
    assert standing["goal"] == "Repot"
    assert standing["constraints"] == [{"text": "Before noon", "importance": "critical"}, "No peat"]
    assert progress["plan"] == {"steps": ["Buy", "Fill", "Water"], "done": 1, "current": "Fill", "next": "Water"}
    assert progress["observations"] == [{"text": "Dry", "importance": "important"}, "Late"]
    assert progress["scratchpad"] == "12 cm\nclay"


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_text_of_a_slot_stays_inside_its_quotes(attack: str) -> None:
    for content in (render_task(everywhere(attack)), render_progress(everywhere(attack))):
        assert "<" not in content
        assert "\n" not in content
        assert json.loads(content)["note"]
    assert json.loads(render_task(everywhere(attack)))["constraints"] == [attack]
    assert json.loads(render_progress(everywhere(attack)))["plan"]["current"] == attack


def test_constraints_are_whole_whatever_else_the_prompt_holds() -> None:
    slots = Slots()
    for place in range(MAX_CONSTRAINTS):
        slots = slots.constrained(Noted(f"{place} ".ljust(SLOT_CHARACTERS, "x"), place))
    standing = render_task(slots)
    history = prompt.history([turn(number, "h " * (HISTORY_TOKENS // 3)) for number in range(1, 30)], before=30)
    messages = prompt.opening(SYSTEM, history, turn=30, text="Now", pinned="P" * 9_999, task=standing)
    assert standing in [message["content"] for message in messages]
    assert all(each.text in standing for each in slots.constraints)

"""The slots of the working memory: what stays, what leaves first, and that nothing kept can break them."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from memories.constants import MAX_CONSTRAINTS, MAX_OBSERVATIONS, SCRATCHPAD_CHARACTERS, SLOT_CHARACTERS
from memories.slots import Noted, Plan, Slots, foremost, from_json, to_json
from memories.types import Importance

NORMAL, IMPORTANT, CRITICAL = Importance


def noted(place: int, importance: Importance = NORMAL, text: str = "") -> Noted:
    return Noted(text or f"words {place}", place, turn=place, importance=importance)


def places(several: tuple[Noted, ...]) -> list[int]:
    return [each.place for each in several]


def test_of_too_many_constraints_the_most_important_stay() -> None:
    slots = Slots()
    for place in range(1, MAX_CONSTRAINTS + 4):
        slots = slots.constrained(noted(place, CRITICAL if place in (1, 2) else NORMAL))
    assert places(slots.constraints) == [1, 2, *range(MAX_CONSTRAINTS - 2, MAX_CONSTRAINTS + 4)]
    for place in range(1, MAX_CONSTRAINTS + 1):
        slots = slots.constrained(noted(100 + place, IMPORTANT))
    assert slots.constrained(noted(99)) == slots, "one that matters less than all others does not stay"


def test_the_latest_observation_stays_and_the_critical_ones_come_first() -> None:
    slots = Slots()
    for place in range(1, MAX_OBSERVATIONS + 1):
        slots = slots.observed(noted(place, CRITICAL))
    slots = slots.observed(noted(98)).observed(noted(99))
    assert places(slots.observations) == [2, 3, 4, 5, 99]
    assert places(foremost(slots.observations)) == [5, 4, 3, 2, 99]


def test_what_is_said_again_is_there_once_and_no_less_important() -> None:
    slots = Slots().constrained(noted(1, CRITICAL, "No nuts")).constrained(noted(2, NORMAL, "no  NUTS"))
    slots = slots.observed(noted(3, IMPORTANT, "It rains")).observed(noted(4, NORMAL, "it rains"))
    assert [(each.place, each.importance) for each in slots.constraints] == [(2, CRITICAL)]
    assert [(each.place, each.importance) for each in slots.observations] == [(4, IMPORTANT)]


def test_the_scratchpad_drops_its_oldest_notes() -> None:
    slots = Slots()
    for place in range(1, 30):
        slots = slots.scribbled(noted(place, text=f"{place} ".ljust(100, "x")))
        assert len("\n".join(each.text for each in slots.scratchpad)) <= SCRATCHPAD_CHARACTERS
    assert places(slots.scratchpad) == [26, 27, 28, 29]
    assert places(slots.scribbled(noted(30, text="y" * SLOT_CHARACTERS)).scratchpad) == [30]


def full() -> Slots:
    slots = Slots(goal=noted(1), plan=Plan(("a", "b"), 1, (2, 3), 1))
    return slots.constrained(noted(4, CRITICAL)).observed(noted(5)).scribbled(noted(6))


def test_what_is_kept_is_read_again() -> None:
    assert from_json(json.loads(json.dumps(to_json(full())))) == full()
    assert to_json(Slots()) == {} and from_json({}).empty


def test_what_is_taken_out_takes_a_plan_as_a_whole() -> None:
    left = full().without(lambda each: each.place in (3, 5))
    assert left.plan == Plan() and not left.observations
    assert left.goal and left.constraints and left.scratchpad
    assert left.places == {1, 4, 6}


ODD: list[object] = [
    None, [], "goal", 7, {"goal": "as text"}, {"goal": {"text": ["x"]}}, {"plan": ["a"]}, {"plan": {"steps": "a"}},
    {"plan": {"steps": [1, None, "b"], "done": 9, "places": "x"}}, {"constraints": {"a": 1}},
    {"constraints": [None, {"text": "x", "place": -1, "turn": "1", "importance": ["critical"]}]},
    {"observations": [{"text": "x" * 9_999}] * 99}, {"scratchpad": "an old scratchpad"}, {"version": 9, "slots": {}},
]  # fmt: skip


@pytest.mark.parametrize("kept", ODD)
def test_slots_of_another_shape_never_break(kept: object) -> None:
    slots = from_json(kept)
    assert from_json(to_json(slots)) == slots
    assert len(slots.observations) <= MAX_OBSERVATIONS


def test_no_damage_breaks_them() -> None:
    chance = random.Random(5)
    for _ in range(500):
        kept = to_json(full())
        damage(kept, chance)
        slots = from_json(kept)
        assert from_json(to_json(slots)) == slots


def damage(kept: Any, chance: random.Random) -> None:
    """Put something odd somewhere."""
    while True:
        keys = list(kept) if isinstance(kept, dict) else list(range(len(kept)))
        if not keys:
            return
        key = chance.choice(keys)
        if isinstance(kept[key], dict | list) and chance.random() < 0.7:
            kept = kept[key]
            continue
        kept[key] = chance.choice([None, -1, 7.5, "x", [], {}, [[]], {"text": {}}, True])
        return

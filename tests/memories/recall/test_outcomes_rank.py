"""Which of several ways comes first: what worked often, then what worked once, then what nobody has tried."""

from __future__ import annotations

import pytest

from memories.recall.pipeline import recall
from memories.services.outcomes import record_outcome
from memories.services.playbooks import remember_playbook
from memories.types import Kind
from tenants.principal import Principal

pytestmark = pytest.mark.django_db


def test_what_worked_goes_first_and_what_failed_last(principal: Principal) -> None:
    records = {"red": (0, 2), "blue": (0, 0), "black": (1, 0), "white": (9, 1)}
    ids = {}
    for colour, (good, bad) in records.items():
        steps = [f"press the {colour} button"]
        chosen = remember_playbook(principal, title="Reset the hub", trigger="when the hub shows E31", steps=steps)
        ids[chosen.memory_id] = colour
        for success in [True] * good + [False] * bad:
            record_outcome(principal, playbook_id=chosen.memory_id, success=success)
    found = recall(principal, "the hub shows E31, how do I reset it?", types={Kind.PROCEDURAL}).items
    assert [ids[item.id] for item in found] == ["white", "black", "blue", "red"]

"""The task of a session as its owner sees it beside the conversation: what is to be reached, and how far it is.

Invariant: made from slots alone; the templates query nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from memories.slots import Noted, Slots, foremost


@dataclass(frozen=True, slots=True)
class ShownStep:
    """A step of the plan; `state` is done, now or later."""

    text: str
    state: str


@dataclass(frozen=True, slots=True)
class ShownTask:
    """A task. `progress` is a phrase such as `Step 2 of 4`; empty without a plan."""

    session_id: UUID
    goal: str
    progress: str
    steps: tuple[ShownStep, ...]
    constraints: tuple[Noted, ...]
    observations: tuple[Noted, ...]
    notes: tuple[str, ...]


def shown_task(session_id: UUID, slots: Slots) -> ShownTask | None:
    """The working memory of a session, ready to show; None if there is nothing in it."""
    if slots.empty:
        return None
    plan = slots.plan
    states = ["done"] * plan.done + ["now"] + ["later"] * len(plan.steps)
    return ShownTask(
        session_id=session_id,
        goal=slots.goal.text if slots.goal else "",
        progress=_progress(len(plan.steps), plan.done),
        steps=tuple(ShownStep(text, state) for text, state in zip(plan.steps, states, strict=False)),
        constraints=foremost(slots.constraints),
        observations=foremost(slots.observations),
        notes=tuple(each.text for each in slots.scratchpad),
    )


def _progress(steps: int, done: int) -> str:
    if not steps:
        return ""
    return f"Step {done + 1} of {steps}" if done < steps else f"All {steps} steps done"

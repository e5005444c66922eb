"""The working memory of a session (L0): its task, plan, constraints, observations and scratchpad.

Each change is committed together with its session entry (L1), so a task can continue after a crash or in another
process. Invalid input changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from memories.constants import MAX_CONSTRAINTS, MAX_OBSERVATIONS, MAX_PLAN_STEPS, SCRATCHPAD_CHARACTERS
from memories.errors import InvalidInput
from memories.models import EntryKind
from memories.services.sessions.sessions import Writing, checked_words, renew, writing
from memories.slots import Noted, Plan, Slots
from memories.types import Importance
from tenants.principal import Principal

Words = Sequence[tuple[str, Importance]]

# The slots with several entries, and the kind of their entries.
_LISTS = {
    "constraints": EntryKind.CONSTRAINT,
    "observations": EntryKind.OBSERVATION,
    "scratchpad": EntryKind.NOTE,
}
_OBSERVED = (EntryKind.OBSERVATION, EntryKind.DECISION)


@dataclass(frozen=True, slots=True)
class SlotChanges:
    """Slots to set. None leaves a slot unchanged; an empty value clears it."""

    goal: str | None = None
    steps: Sequence[str] | None = None
    done: int | None = None
    constraints: Words | None = None
    observations: Words | None = None
    scratchpad: Sequence[str] | None = None


def set_task(
    principal: Principal, *, session_id: UUID, goal: str, constraints: Sequence[str] = (), turn: int = 0
) -> Slots:
    """Set the session's goal and add constraints. A different goal also clears the plan.

    Beyond `MAX_CONSTRAINTS` the most important constraints stay, and of equals the latest.
    """
    goal = checked_words(principal, goal, field="goal")
    held = _checked(
        principal, [(text, Importance.IMPORTANT) for text in constraints], "constraints", limit=MAX_CONSTRAINTS
    )
    with _changing(principal, session_id, turn, "session.task_set") as work:
        if work.slots.goal is None or work.slots.goal.text != goal:
            work.slots = replace(work.slots, goal=work.enter(EntryKind.GOAL, goal), plan=Plan())
        for text, importance in held:
            work.slots = work.slots.constrained(work.enter(EntryKind.CONSTRAINT, text, importance))
    return work.slots


def set_plan(principal: Principal, *, session_id: UUID, steps: Sequence[str], done: int = 0, turn: int = 0) -> Slots:
    """Set the steps of the plan, of which the first `done` are done already."""
    wanted = _checked_steps(principal, steps)
    with _changing(principal, session_id, turn, "session.plan_set") as work:
        _plan(work, wanted, done)
    return work.slots


def advance_plan(principal: Principal, *, session_id: UUID, done: int | None = None, turn: int = 0) -> Slots:
    """Set how many steps are done, or without `done` add one. Raises InvalidInput if there is no plan."""
    with _changing(principal, session_id, turn, "session.plan_advanced") as work:
        plan = work.slots.plan
        if not plan.steps:
            raise InvalidInput("done", "there is no plan; give its steps.")
        _advance(work, min(plan.done + 1, len(plan.steps)) if done is None else done)
    return work.slots


def observe(
    principal: Principal,
    *,
    session_id: UUID,
    text: str,
    importance: Importance = Importance.NORMAL,
    kind: EntryKind = EntryKind.OBSERVATION,
    turn: int = 0,
) -> Slots:
    """Note an observation, decision or constraint. Important ones are proposed as memories at the end of the task."""
    text = checked_words(principal, text, field="text")
    if kind not in (*_OBSERVED, EntryKind.CONSTRAINT):
        raise InvalidInput("kind", "must be observation, decision or constraint.")
    with _changing(principal, session_id, turn, "session.observed") as work:
        noted = work.enter(kind, text, importance)
        into = work.slots.constrained if kind is EntryKind.CONSTRAINT else work.slots.observed
        work.slots = into(noted)
    return work.slots


def note(principal: Principal, *, session_id: UUID, text: str, turn: int = 0) -> Slots:
    """Write to the scratchpad. The oldest notes that no longer fit leave it but stay entries."""
    text = checked_words(principal, text, field="text")
    with _changing(principal, session_id, turn, "session.noted") as work:
        work.slots = work.slots.scribbled(work.enter(EntryKind.NOTE, text))
    return work.slots


def set_slots(principal: Principal, *, session_id: UUID, changes: SlotChanges) -> Slots:
    """Replace several slots at once. Unchanged values create no new entries.

    Raises InvalidInput, also if the values exceed a limit, so that nothing set by hand is silently dropped.
    """
    checked = _checked_changes(principal, changes)
    with _changing(principal, session_id, 0, "session.slots_set") as work:
        if checked.goal is not None:
            _set_goal(work, checked.goal)
        if checked.steps is not None:
            _plan(work, tuple(checked.steps), checked.done or 0)
        elif checked.done is not None:
            _advance(work, checked.done)
        lists: dict[str, Any] = {}
        for name, kind in _LISTS.items():
            if (wanted := getattr(checked, name)) is not None:
                noted = [(each, Importance.NORMAL) if isinstance(each, str) else each for each in wanted]
                lists[name] = _entered(work, kind, noted, getattr(work.slots, name))
        work.slots = replace(work.slots, **lists)
    return work.slots


@contextmanager
def _changing(principal: Principal, session_id: UUID, turn: int, action: str) -> Iterator[Writing]:
    """Write to a session and extend it. An expired session starts with empty slots."""
    with writing(principal, session_id, turn=turn, action=action) as work:
        if renew(work.w, work.session, at=work.at):
            work.slots = Slots()
        yield work


def _set_goal(work: Writing, goal: str) -> None:
    held = work.slots.goal
    if not goal:
        work.slots = replace(work.slots, goal=None)
    elif held is None or held.text != goal:
        work.slots = replace(work.slots, goal=work.enter(EntryKind.GOAL, goal))


def _plan(work: Writing, steps: tuple[str, ...], done: int) -> None:
    _require_done(done, steps)
    plan = work.slots.plan
    if steps != plan.steps:
        places = (work.enter(EntryKind.PLAN, "\n".join(steps)).place,) if steps else ()
        plan = Plan(steps, 0, places, work.turn)
    work.slots = replace(work.slots, plan=plan)
    if done != plan.done:
        _advance(work, done)


def _advance(work: Writing, done: int) -> None:
    plan = work.slots.plan
    _require_done(done, plan.steps)
    if done == plan.done:
        return
    now = replace(plan, done=done)
    words = f"{done} of {len(plan.steps)} done"
    entry = work.enter(EntryKind.PROGRESS, f"{words}; now: {now.current}" if now.current else words)
    work.slots = replace(work.slots, plan=replace(now, places=(*plan.places[:1], entry.place), turn=work.turn))


def _require_done(done: int, steps: Sequence[str]) -> None:
    if not 0 <= done <= len(steps):
        raise InvalidInput("done", f"must be from 0 to {len(steps)}, the number of steps.")


def _entered(work: Writing, kind: EntryKind, wanted: Words, held: Sequence[Noted]) -> tuple[Noted, ...]:
    """The texts as slot values: existing ones unchanged, others as new entries."""
    known = {(each.text, each.importance): each for each in held}
    kept = [known.get(words) or work.enter(kind, *words) for words in dict.fromkeys(wanted)]
    return tuple(sorted(kept, key=lambda each: each.place))


def _checked_changes(principal: Principal, changes: SlotChanges) -> SlotChanges:
    checked: dict[str, Any] = {}
    if changes.goal is not None:
        checked["goal"] = checked_words(principal, changes.goal, field="goal", required=False)
    if changes.steps is not None:
        checked["steps"] = _checked_steps(principal, changes.steps, required=False)
    if changes.constraints is not None:
        checked["constraints"] = _checked(principal, changes.constraints, "constraints", limit=MAX_CONSTRAINTS)
    if changes.observations is not None:
        checked["observations"] = _checked(principal, changes.observations, "observations", limit=MAX_OBSERVATIONS)
    if changes.scratchpad is not None:
        notes = [checked_words(principal, text, field="scratchpad") for text in changes.scratchpad]
        if len("\n".join(notes)) > SCRATCHPAD_CHARACTERS:
            raise InvalidInput("scratchpad", f"holds at most {SCRATCHPAD_CHARACTERS} characters.")
        checked["scratchpad"] = notes
    return replace(changes, **checked)


def _checked(principal: Principal, words: Words, field: str, *, limit: int) -> list[tuple[str, Importance]]:
    if len(words) > limit:
        raise InvalidInput(field, f"are too many: at most {limit} are allowed.")
    return [(checked_words(principal, text, field=field), importance) for text, importance in words]


def _checked_steps(principal: Principal, steps: Sequence[str], *, required: bool = True) -> tuple[str, ...]:
    if required and not steps:
        raise InvalidInput("steps", "are missing.")
    if len(steps) > MAX_PLAN_STEPS:
        raise InvalidInput("steps", f"are too many: at most {MAX_PLAN_STEPS} are allowed.")
    return tuple(checked_words(principal, step, field="steps") for step in steps)

"""The slots of the working memory (L0) as immutable values: their limits, eviction order and JSON form.

The module is pure, and its results respect the limits in `memories/constants.py`. Reading never raises: stored values
that another version wrote, or that make no sense, are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from memories.constants import (
    MAX_CONSTRAINTS,
    MAX_OBSERVATIONS,
    MAX_PLAN_STEPS,
    SCRATCHPAD_CHARACTERS,
    SLOT_CHARACTERS,
)
from memories.types import Importance

_RANK = {importance: rank for rank, importance in enumerate(Importance)}


@dataclass(frozen=True, slots=True)
class Noted:
    """One entry of a slot.

    `place` is the position in the session of the entry it comes from; `turn` is when it was noted.
    """

    text: str
    place: int
    turn: int = 0
    importance: Importance = Importance.NORMAL


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps of the task in order, of which the first `done` are done.

    `places` are the positions of its source entries.
    """

    steps: tuple[str, ...] = ()
    done: int = 0
    places: tuple[int, ...] = ()
    turn: int = 0

    @property
    def current(self) -> str:
        """The current step; empty once all are done."""
        return self.steps[self.done] if self.done < len(self.steps) else ""

    @property
    def next(self) -> str:
        """The step after the current one; empty if there is none."""
        return self.steps[self.done + 1] if self.done + 1 < len(self.steps) else ""


@dataclass(frozen=True, slots=True)
class Slots:
    """The working memory of one session. Constraints, observations and scratchpad are ordered by position."""

    goal: Noted | None = None
    plan: Plan = Plan()
    constraints: tuple[Noted, ...] = ()
    observations: tuple[Noted, ...] = ()
    scratchpad: tuple[Noted, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether every slot is empty."""
        return self == Slots()

    @property
    def places(self) -> frozenset[int]:
        """The positions in the session of all entries that the slots were filled from."""
        noted = (*self.constraints, *self.observations, *self.scratchpad, *([self.goal] if self.goal else []))
        return frozenset(each.place for each in noted) | frozenset(self.plan.places)

    def constrained(self, noted: Noted) -> Slots:
        """A copy with one more constraint. Over the limit the most important stay, and of equals the latest."""
        return replace(self, constraints=_with(self.constraints, noted, _most_important(MAX_CONSTRAINTS)))

    def observed(self, noted: Noted) -> Slots:
        """A copy with this observation, which always stays.

        Of the others the most important stay, and of equals the latest.
        """
        older = tuple(each for each in self.observations if not _same(each, noted))
        kept = _most_important(MAX_OBSERVATIONS - 1)(older)
        return replace(self, observations=_with(kept, _stronger(noted, self.observations), tuple))

    def scribbled(self, noted: Noted) -> Slots:
        """A copy with one more note. The oldest notes go until the rest fit."""
        return replace(self, scratchpad=_with(self.scratchpad, noted, _that_fit))

    def without(self, gone: Callable[[Noted], bool]) -> Slots:
        """A copy without the entries that `gone` selects. If it selects any part of the plan, the whole plan goes."""
        plan_words = Noted("\n".join(self.plan.steps), max(self.plan.places, default=0), self.plan.turn)
        entries = [replace(plan_words, place=place) for place in self.plan.places] or [plan_words]
        return Slots(
            goal=None if self.goal is None or gone(self.goal) else self.goal,
            plan=Plan() if any(map(gone, entries)) else self.plan,
            constraints=tuple(each for each in self.constraints if not gone(each)),
            observations=tuple(each for each in self.observations if not gone(each)),
            scratchpad=tuple(each for each in self.scratchpad if not gone(each)),
        )


def foremost(noted: Iterable[Noted]) -> tuple[Noted, ...]:
    """Sort by importance, highest first, and then by position, latest first."""
    return tuple(sorted(noted, key=lambda each: (-_RANK[each.importance], -each.place)))


def to_json(slots: Slots) -> dict[str, Any]:
    """The JSON form that Session.working_memory stores; an empty object if every slot is empty."""
    if slots.empty:
        return {}
    plan = slots.plan
    return {
        "goal": _told(slots.goal) if slots.goal else None,
        "plan": {"steps": list(plan.steps), "done": plan.done, "places": list(plan.places), "turn": plan.turn},
        "constraints": [_told(each) for each in slots.constraints],
        "observations": [_told(each) for each in slots.observations],
        "scratchpad": [_told(each) for each in slots.scratchpad],
    }


def from_json(kept: object) -> Slots:
    """Read stored slots. Unreadable values are dropped."""
    members: Mapping[str, object] = kept if isinstance(kept, Mapping) else {}
    return Slots(
        goal=_noted(members.get("goal")),
        plan=_plan(members.get("plan")),
        constraints=_in_order(_most_important(MAX_CONSTRAINTS)(_several(members.get("constraints")))),
        observations=_in_order(_most_important(MAX_OBSERVATIONS)(_several(members.get("observations")))),
        scratchpad=_that_fit(_in_order(_several(members.get("scratchpad")))),
    )


Keep = Callable[[tuple[Noted, ...]], tuple[Noted, ...]]


def _with(held: tuple[Noted, ...], noted: Noted, keep: Keep) -> tuple[Noted, ...]:
    """Add an entry. A repeated text replaces the earlier entry and keeps the higher importance of the two."""
    others = tuple(each for each in held if not _same(each, noted))
    return _in_order(keep((*others, _stronger(noted, held))))


def _stronger(noted: Noted, held: Iterable[Noted]) -> Noted:
    equals = (each.importance for each in held if _same(each, noted))
    return replace(noted, importance=max((noted.importance, *equals), key=_RANK.__getitem__))


def _same(one: Noted, other: Noted) -> bool:
    return one.text.casefold().split() == other.text.casefold().split()


def _most_important(limit: int) -> Keep:
    return lambda noted: foremost(noted)[:limit]


def _that_fit(noted: tuple[Noted, ...]) -> tuple[Noted, ...]:
    """The latest notes that fit the scratchpad, one line each."""
    kept: list[Noted] = []
    room = SCRATCHPAD_CHARACTERS + 1
    for each in reversed(noted):
        room -= len(each.text) + 1
        if room < 0:
            break
        kept.append(each)
    return tuple(reversed(kept))


def _in_order(noted: Iterable[Noted]) -> tuple[Noted, ...]:
    return tuple(sorted(noted, key=lambda each: each.place))


def _told(noted: Noted) -> dict[str, Any]:
    return {
        "text": noted.text,
        "place": noted.place,
        "turn": noted.turn,
        "importance": noted.importance.value,
    }


def _several(value: object) -> tuple[Noted, ...]:
    each = (_noted(member) for member in value) if isinstance(value, list) else ()
    return tuple(noted for noted in each if noted is not None)


def _noted(value: object) -> Noted | None:
    if not isinstance(value, Mapping) or not _text(value.get("text")):
        return None
    importance = value.get("importance")
    return Noted(
        text=_text(value.get("text")),
        place=_number(value.get("place")),
        turn=_number(value.get("turn")),
        importance=Importance(importance) if importance in tuple(Importance) else Importance.NORMAL,
    )


def _plan(value: object) -> Plan:
    members: Mapping[str, object] = value if isinstance(value, Mapping) else {}
    kept, places = members.get("steps"), members.get("places")
    steps = tuple(filter(None, map(_text, kept)))[:MAX_PLAN_STEPS] if isinstance(kept, list) else ()
    if not steps:
        return Plan()
    return Plan(
        steps=steps,
        done=min(_number(members.get("done")), len(steps)),
        places=tuple(map(_number, places)) if isinstance(places, list) else (),
        turn=_number(members.get("turn")),
    )


def _text(value: object) -> str:
    return value[:SLOT_CHARACTERS] if isinstance(value, str) and value.strip() else ""


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0

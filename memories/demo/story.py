"""A story: what somebody said in several conversations, what was answered, and what was remembered of it. Pure.

The files (`content/*/*.toml`) say how many days ago and at what time of day a conversation began.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Any

from memories.types import Contradiction, Kind, Source

BETWEEN_TURNS = timedelta(minutes=3)


@dataclass(frozen=True, slots=True)
class Written:
    """A fact or a playbook that a turn wrote; `replaces` holds the texts or titles of what it replaces by name."""

    kind: Kind
    text: str = ""
    key: str = ""
    category: str = ""
    source: Source = Source.USER_STATED
    contradiction: Contradiction = Contradiction.NATURAL
    pinned: bool = False
    title: str = ""
    trigger: str = ""
    steps: tuple[str, ...] = ()
    success_count: int = 0
    failure_count: int = 0
    replaces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoryTurn:
    """What was said and answered, and what of it was written to memory."""

    said: str
    answered: str
    written: tuple[Written, ...] = ()


@dataclass(frozen=True, slots=True)
class StorySession:
    """One conversation."""

    days_ago: int
    time: time
    turns: tuple[StoryTurn, ...]

    def begins(self, today: datetime) -> datetime:
        """When it began, counted from `today`."""
        day = today - timedelta(days=self.days_ago)
        return day.replace(hour=self.time.hour, minute=self.time.minute, second=0, microsecond=0)


def read_story(path: Path) -> tuple[StorySession, ...]:
    """The conversations of a file, oldest first. Raises KeyError or TypeError for a file that is none."""
    sessions = tomllib.loads(path.read_text(encoding="utf-8"))["session"]
    return tuple(
        StorySession(
            days_ago=session["days_ago"],
            time=time.fromisoformat(session["time"]),
            turns=tuple(_turn(turn) for turn in session["turn"]),
        )
        for session in sessions
    )


def _turn(turn: Mapping[str, Any]) -> StoryTurn:
    written = [
        *(_written(Kind.SEMANTIC, each) for each in turn.get("facts", ())),
        *(_written(Kind.PROCEDURAL, each) for each in turn.get("playbooks", ())),
    ]
    return StoryTurn(turn["said"], turn["answered"], tuple(written))


def _written(kind: Kind, values: Mapping[str, Any]) -> Written:
    listed = {name: tuple(values.get(name, ())) for name in ("steps", "replaces")}
    return Written(
        kind,
        **{
            **values,
            **listed,
            "source": Source(values.get("source", Source.USER_STATED)),
            "contradiction": Contradiction(values.get("contradiction", Contradiction.NATURAL)),
        },
    )

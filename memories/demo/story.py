"""The people of the demo, all invented and with one password, and the stories they tell. Pure.

`content/people.toml` names companies and people. The story files (`content/*/*.toml`) say how many days ago and at
what time of day each conversation began.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from datetime import time as time_of_day
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from memories.types import Contradiction, Kind, Source
from tenants.principal import Role

PASSWORD = "memoryhub-demo"  # noqa: S105 - it is printed; the demo never runs in production
OPERATOR = "operator"
CONTENT = Path(__file__).parent / "content"


@dataclass(frozen=True, slots=True)
class Company:
    """A tenant; its catalog is `content/<slug>/catalog.jsonl`."""

    slug: str
    name: str


@dataclass(frozen=True, slots=True)
class Person:
    """A user with one role in each of `companies`.

    `story` and `records` name files of `content/<first company>/`: their conversations, and their imported memories.
    A person without a login is known by `external_id` only.
    """

    username: str
    name: str
    role: Role
    companies: tuple[str, ...]
    note: str
    story: str = ""
    records: str = ""
    external_id: str = ""
    signs_in: bool = True


def _read(path: Path, table: str, values: type[Any]) -> Any:
    """The values of a TOML table. Raises ValueError for a file that is none."""
    return TypeAdapter(values).validate_python(tomllib.loads(path.read_text(encoding="utf-8"))[table])


COMPANIES: tuple[Company, ...] = _read(CONTENT / "people.toml", "company", tuple[Company, ...])
PEOPLE: tuple[Person, ...] = _read(CONTENT / "people.toml", "person", tuple[Person, ...])


BETWEEN_TURNS = timedelta(minutes=3)


@dataclass(frozen=True, slots=True)
class StoryMemory:
    """A fact or playbook that a turn wrote; `replaces` holds the texts or titles of the memories it replaces."""

    kind: Kind = Kind.SEMANTIC
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
    """A message, its answer, and the memories written from it."""

    said: str
    answered: str
    facts: tuple[StoryMemory, ...] = ()
    playbooks: tuple[StoryMemory, ...] = ()

    @property
    def written(self) -> tuple[StoryMemory, ...]:
        """Facts, then playbooks."""
        return (*self.facts, *(replace(each, kind=Kind.PROCEDURAL) for each in self.playbooks))


@dataclass(frozen=True, slots=True)
class StorySession:
    """One conversation; `turn` holds its turns, as the files call them."""

    days_ago: int
    time: time_of_day
    turn: tuple[StoryTurn, ...]

    def begins(self, today: datetime) -> datetime:
        """When it began, counted from `today`."""
        day = today - timedelta(days=self.days_ago)
        return day.replace(hour=self.time.hour, minute=self.time.minute, second=0, microsecond=0)


def read_story(path: Path) -> tuple[StorySession, ...]:
    """The conversations of a file, oldest first. Raises ValueError for a file that is none."""
    sessions: tuple[StorySession, ...] = _read(path, "session", tuple[StorySession, ...])
    return sessions

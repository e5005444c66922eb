"""The demo's people, all invented and with the same password, and their stories. Pure.

`content/people.toml` defines companies and people. The story files (`content/*/*.toml`) give the age in days and the
time of day of each conversation.
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

    `story` and `records` name files in `content/<first company>/`: conversations, and memories to import. A person
    without a login is known by `external_id` only.
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
    """Read a table of a TOML file. Raises ValueError for an invalid file."""
    return TypeAdapter(values).validate_python(tomllib.loads(path.read_text(encoding="utf-8"))[table])


COMPANIES: tuple[Company, ...] = _read(CONTENT / "people.toml", "company", tuple[Company, ...])
PEOPLE: tuple[Person, ...] = _read(CONTENT / "people.toml", "person", tuple[Person, ...])


BETWEEN_TURNS = timedelta(minutes=3)
BEFORE_COMPLAINING = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class StoryMemory:
    """A fact or playbook written in a turn; `replaces` holds the texts or titles of the memories it supersedes."""

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
    """A message, its answer, and the memories written from it; `complaint` is the note of a thumbs down."""

    said: str
    answered: str
    complaint: str = ""
    facts: tuple[StoryMemory, ...] = ()
    playbooks: tuple[StoryMemory, ...] = ()

    @property
    def written(self) -> tuple[StoryMemory, ...]:
        """The facts, then the playbooks."""
        return (*self.facts, *(replace(each, kind=Kind.PROCEDURAL) for each in self.playbooks))


@dataclass(frozen=True, slots=True)
class StorySession:
    """One conversation; `turn` holds its turns and is singular because the files' tables are."""

    days_ago: int
    time: time_of_day
    turn: tuple[StoryTurn, ...]

    def begins(self, today: datetime) -> datetime:
        """Return the start of the session, relative to `today`."""
        day = today - timedelta(days=self.days_ago)
        return day.replace(hour=self.time.hour, minute=self.time.minute, second=0, microsecond=0)


def read_story(path: Path) -> tuple[StorySession, ...]:
    """Read the conversations of a file, oldest first. Raises ValueError for an invalid file."""
    sessions: tuple[StorySession, ...] = _read(path, "session", tuple[StorySession, ...])
    return sessions

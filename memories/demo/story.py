"""The people of the demo, all invented and with one password, and the stories they tell. Pure.

The story files (`content/*/*.toml`) say how many days ago and at what time of day each conversation began.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Any

from memories.types import Contradiction, Kind, Source
from tenants.principal import Role

PASSWORD = "memoryhub-demo"  # noqa: S105 - it is printed; the demo never runs in production
OPERATOR = "operator"


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


COMPANIES = (
    Company("quill-lane", "Quill Lane Cycles"),
    Company("voltara", "Voltara"),
)

PEOPLE = (
    Person(
        "ada",
        "Ada Fenwick",
        Role.MEMBER,
        ("quill-lane",),
        "lives in Bristol; tell it where you moved",
        story="ada.toml",
    ),
    Person("noor", "Noor Rahimi", Role.MEMBER, ("quill-lane",), "changed gears, then jobs", story="noor.toml"),
    Person("benji", "Benji Lowe", Role.MEMBER, ("quill-lane",), "a mechanic, for how-tos", story="benji.toml"),
    Person("tamsin", "Tamsin Cole", Role.SUPPORT, ("quill-lane",), "helps members"),
    Person("hollis", "Hollis Grant", Role.ADMIN, ("quill-lane",), "members and tokens"),
    Person(
        "imani",
        "Imani Okafor",
        Role.MEMBER,
        ("voltara",),
        "two years, two houses",
        story="imani.toml",
        records="imani.jsonl",
        external_id="VT-20418",
    ),
    Person("theo", "Theo Marsh", Role.MEMBER, ("voltara",), "came for the graphs", story="theo.toml"),
    Person(
        "rhona",
        "Rhona Petrie",
        Role.MEMBER,
        ("voltara",),
        "cannot sign in",
        external_id="VT-30977",
        signs_in=False,
    ),
    Person("joss", "Joss Whitfield", Role.SUPPORT, ("voltara",), "helps members"),
    Person("marit", "Marit Solberg", Role.ADMIN, ("voltara",), "members and tokens"),
    Person("colm", "Colm Brady", Role.AUDITOR, ("quill-lane", "voltara"), "checks both companies"),
)


BETWEEN_TURNS = timedelta(minutes=3)


@dataclass(frozen=True, slots=True)
class StoryMemory:
    """A fact or playbook that a turn wrote; `replaces` holds the texts or titles of the memories it replaces."""

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
    """A message, its answer, and the memories written from it."""

    said: str
    answered: str
    written: tuple[StoryMemory, ...] = ()


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


def _written(kind: Kind, values: Mapping[str, Any]) -> StoryMemory:
    listed = {name: tuple(values.get(name, ())) for name in ("steps", "replaces")}
    return StoryMemory(
        kind,
        **{
            **values,
            **listed,
            "source": Source(values.get("source", Source.USER_STATED)),
            "contradiction": Contradiction(values.get("contradiction", Contradiction.NATURAL)),
        },
    )

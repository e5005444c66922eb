"""The shape of the answer that a model gives to a batch: what it is asked for, and what is accepted, in one definition.

Invariant: an answer names episodes, facts and playbooks by the short labels of its question alone. A member that may be
empty may be missing, for not every endpoint holds a model to a schema; what is unknown is refused.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from memories.constants import (
    FIRST_YEAR,
    LAST_YEAR,
    MAX_KEY_CHARACTERS,
    MAX_MEMORY_CHARACTERS,
    MAX_MESSAGE_CHARACTERS,
    MAX_STEPS,
    MAX_TITLE_CHARACTERS,
)

_KEY = re.compile(r"[a-z0-9_]*")
_DAY = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d)(T.+)?)?)?")
MAX_STEP_CHARACTERS = 1_000
MAX_LABELS = 100


def moment(text: str) -> datetime | None:
    """The beginning of a year, month or day, or a time, in UTC unless it names a zone. Raises ValueError."""
    if not text:
        return None
    if not (found := _DAY.fullmatch(text)):
        raise ValueError("not an ISO date")
    year, month, day, time = found.groups()
    if time:
        told = datetime.fromisoformat(text)
        told = told if told.tzinfo else told.replace(tzinfo=UTC)
    else:
        told = datetime(int(year), int(month or 1), int(day or 1), tzinfo=UTC)
    if not FIRST_YEAR < told.year < LAST_YEAR:
        raise ValueError("too far away")
    return told


def _checked_moment(text: str) -> str:
    moment(text)
    return text


def _checked_key(text: str) -> str:
    if not _KEY.fullmatch(text):
        raise ValueError("not snake_case")
    return text


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


Label = Annotated[str, Field(max_length=20)]
Labels = Annotated[list[Label], Field(max_length=MAX_LABELS)]
Support = Annotated[Labels, Field(description="Labels of the episodes in which the user says it, such as E1.")]
Quote = Annotated[
    str, Field(max_length=MAX_MESSAGE_CHARACTERS, description="The user's exact words that say it, from one episode.")
]
Moment = Annotated[
    str,
    AfterValidator(_checked_moment),
    Field(
        max_length=40, description="ISO date, as exact as the words are: 2024, 2024-03, 2024-03-09. Empty: not said."
    ),
]
Ended = Annotated[Literal["natural", "harsh"], Field(description="Why: the world changed, or it was never true.")]
Steps = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=MAX_STEP_CHARACTERS)]], Field(max_length=MAX_STEPS)
]


class NewFact(_Part):
    """A stable assertion about the user."""

    text: Annotated[
        str,
        Field(min_length=1, max_length=MAX_MEMORY_CHARACTERS, description='Without a subject: "Lives in Edinburgh".'),
    ]
    key: Annotated[
        str,
        AfterValidator(_checked_key),
        Field(max_length=MAX_KEY_CHARACTERS, description="snake_case slot of one value at a time, or empty."),
    ] = ""
    category: Annotated[
        str, Field(max_length=MAX_KEY_CHARACTERS, description="Such as home, work, health, preference.")
    ] = ""
    confidence: Annotated[float, Field(ge=0, le=1, description="0 to 1: how sure the words are.")]
    quote: Quote
    episodes: Support
    supersedes: Annotated[
        Labels, Field(description="Every fact that this makes false: F labels, or N labels of earlier new facts.")
    ] = []
    contradiction: Ended = "natural"
    valid_from: Moment = ""
    valid_to: Moment = ""


class EndedFacts(_Part):
    """Facts that the user says no longer hold, or never did, with nothing in their place."""

    facts: Annotated[Labels, Field(description="F labels, or N labels of new facts.")]
    quote: Quote
    episodes: Support
    contradiction: Ended = "natural"
    valid_to: Moment = ""


class NewPlaybook(_Part):
    """A way to do something, in several steps."""

    title: Annotated[str, Field(min_length=1, max_length=MAX_TITLE_CHARACTERS, description="What it achieves.")]
    trigger: Annotated[str, Field(max_length=MAX_TITLE_CHARACTERS, description="When to use it.")] = ""
    steps: Steps
    episodes: Support


class Outcome(_Part):
    """The user tried a playbook and says whether it worked."""

    playbook: Annotated[str, Field(max_length=20, description="A P label.")]
    success: bool
    episodes: Support
    refined_steps: Annotated[Steps, Field(description="All steps as they should have been, or none.")] = []


class Answer(_Part):
    """All that a batch says; any list may be empty."""

    facts: list[NewFact]
    ends: list[EndedFacts]
    playbooks: list[NewPlaybook]
    outcomes: list[Outcome]

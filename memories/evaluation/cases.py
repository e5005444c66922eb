"""Evaluation cases: memories of one owner, and questions with the memories that answer them. Pure.

`locomo`: each conversation is an owner and each turn an episode; questions are those of categories 1 to 4 whose
evidence exists completely. `memories`: `{"owner": {"name", "tenant", "memories": […], "questions": [{"question",
"evidence", "kind"}]}, "catalog"}` (or a list of these). A question may name its `half` of a set and, for kind `leak`,
the `forbidden` memories of other members. The questions never enter the memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from memories.errors import InvalidInput
from memories.importing import ConversationSession, MemoryRecord, parse_locomo, parse_memory

LOCOMO_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
UNANSWERABLE = "unanswerable"
# Superseded memories may answer questions about the past.
ABOUT_THE_PAST = "temporal"


# Asks one member about the memories of another; it has no evidence.
LEAK = "leak"


class Half(StrEnum):
    """The half of a set that a question belongs to. Nothing is ever tuned on the held-out half."""

    TUNE = "tune"
    HELD = "held"


class Form(StrEnum):
    """The formats of a file of cases."""

    LOCOMO = "locomo"
    MEMORIES = "memories"


@dataclass(frozen=True, slots=True)
class CaseQuestion:
    """A question. `evidence` holds the source's ids of the memories that answer it; empty if none does.

    `forbidden` holds ids of other members' memories: recalling one of these is a leak.
    """

    text: str
    evidence: frozenset[str]
    category: str
    include_superseded: bool = False
    half: Half | None = None
    forbidden: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Case:
    """One owner: their memories, as sessions or records, and the questions. Owners may share a `tenant`."""

    name: str
    sessions: tuple[ConversationSession, ...]
    records: tuple[MemoryRecord, ...]
    questions: tuple[CaseQuestion, ...]
    tenant: str = ""

    @property
    def size(self) -> int:
        """The number of memories."""
        return sum(len(session.turns) for session in self.sessions) + len(self.records)

    @property
    def asked_at(self) -> datetime | None:
        """The time at which the questions are asked: that of the latest memory, or None if no memory has a time."""
        said = [turn.happened_at for session in self.sessions for turn in session.turns]
        told = [time for record in self.records for time in (record.happened_at, record.valid_from) if time is not None]
        return max([*said, *told], default=None)


def parse_cases(data: object, form: Form, numbers: Sequence[int] | None = None) -> tuple[Case, ...]:
    """Parse the cases of a file, limited to the indices in `numbers` if given. Raises InvalidInput naming the place."""
    entries = data if isinstance(data, list) else [data]
    chosen = range(len(entries)) if numbers is None else numbers
    if not entries or any(not 0 <= number < len(entries) for number in chosen):
        raise InvalidInput("conversations", f"there are {len(entries)} in this file, counted from 0.")
    parse = _locomo if form is Form.LOCOMO else _memories
    return tuple(parse(entries[number], number) for number in chosen)


def _locomo(entry: Mapping[str, Any], number: int) -> Case:
    sessions = parse_locomo(entry)
    known = {turn.key for session in sessions for turn in session.turns}
    questions = []
    for asked in entry.get("qa", []):
        category = LOCOMO_CATEGORIES.get(asked.get("category"))
        evidence = frozenset(asked.get("evidence") or ())
        if category and evidence and evidence <= known:
            questions.append(CaseQuestion(str(asked["question"]), evidence, category))
    return Case(f"conversation {number}", sessions, (), tuple(questions))


def _memories(entry: Any, number: int) -> Case:
    place = f"entry {number}"
    owner = entry.get("owner") if isinstance(entry, dict) else None
    if not isinstance(owner, dict) or not isinstance(owner.get("memories"), list):
        raise InvalidInput(place, 'needs "owner" with "memories" and "questions".')
    catalog = [{**article, "kind": "catalog"} for article in entry.get("catalog", [])]
    lines = [*owner["memories"], *catalog]
    records = tuple(parse_memory(line, place=f"{place}, memory {index}") for index, line in enumerate(lines, 1))
    known = {record.id for record in records}
    questions = tuple(_question(asked, known, place) for asked in owner.get("questions", []))
    return Case(str(owner.get("name") or place), (), records, questions, str(owner.get("tenant") or ""))


def _question(asked: Mapping[str, Any], known: set[str], place: str) -> CaseQuestion:
    kind, evidence = str(asked.get("kind", "")), frozenset(asked.get("evidence") or ())
    half, forbidden = asked.get("half"), frozenset(asked.get("forbidden") or ())
    if not evidence <= known:
        raise InvalidInput(place, "has a question whose evidence is no memory of it.")
    if forbidden & known or (kind == LEAK) != bool(forbidden):
        raise InvalidInput(place, 'needs "forbidden" memories of others for kind "leak", and only there.')
    if half is not None and half not in set(Half):
        raise InvalidInput(place, 'has a question whose "half" is neither "tune" nor "held".')
    return CaseQuestion(
        str(asked["question"]),
        evidence,
        kind if evidence or kind == LEAK else UNANSWERABLE,
        include_superseded=kind == ABOUT_THE_PAST,
        half=half and Half(half),
        forbidden=forbidden,
    )

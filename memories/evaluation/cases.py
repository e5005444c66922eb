"""Evaluation cases: memories of one owner, and questions with the memories that answer them. Pure.

`locomo`: each conversation is an owner and each turn an episode; questions are those of categories 1 to 4 whose
evidence exists completely. `longmemeval`: each instance is an owner with one question, and each turn of the user an
episode; evidence is the user's turns with `has_answer`, and instances whose id ends with `_abs` are unanswerable.
`memories`: `{"owner": {"name", "tenant", "memories": […], "questions": [{"question", "evidence", "kind"}]}, "catalog"}`
(or a list of these). A question may name its `half` of a set and, for kind `leak`, the `forbidden` memories of other
members. `uses` of an owner counts the answers that were made from facts before. The questions never enter the memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from memories.constants import MAX_MESSAGE_CHARACTERS
from memories.errors import InvalidInput
from memories.importing import ConversationSession, ConversationTurn, MemoryRecord, parse_locomo, parse_memory
from memories.importing.conversations import BETWEEN_TURNS, text_of
from memories.types import Kind

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
    LONGMEMEVAL = "longmemeval"
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
    """One owner: their memories, as sessions or records, and the questions. Owners may share a `tenant`.

    `uses` maps ids of facts to the number of answers made from them. The questions are asked at `question_date` or else
    at the time of the latest memory.
    """

    name: str
    sessions: tuple[ConversationSession, ...]
    records: tuple[MemoryRecord, ...]
    questions: tuple[CaseQuestion, ...]
    tenant: str = ""
    question_date: datetime | None = None
    uses: Mapping[str, int] = field(default_factory=dict, hash=False)

    @property
    def size(self) -> int:
        """The number of memories."""
        return sum(len(session.turns) for session in self.sessions) + len(self.records)

    @property
    def asked_at(self) -> datetime | None:
        """The time at which the questions are asked, or None if no memory has a time."""
        if self.question_date is not None:
            return self.question_date
        said = [turn.happened_at for session in self.sessions for turn in session.turns]
        told = [time for record in self.records for time in (record.happened_at, record.valid_from) if time is not None]
        return max([*said, *told], default=None)


def parse_cases(data: object, form: Form, numbers: Sequence[int] | None = None) -> tuple[Case, ...]:
    """Parse the cases of a file, limited to the indices in `numbers` if given. Raises InvalidInput naming the place."""
    entries = data if isinstance(data, list) else [data]
    chosen = range(len(entries)) if numbers is None else numbers
    if not entries or any(not 0 <= number < len(entries) for number in chosen):
        raise InvalidInput("conversations", f"there are {len(entries)} in this file, counted from 0.")
    parse = {Form.LOCOMO: _locomo, Form.LONGMEMEVAL: _longmemeval, Form.MEMORIES: _memories}[form]
    return tuple(parse(entries[number], number) for number in chosen)


def of_half(cases: Sequence[Case], half: Half) -> tuple[Case, ...]:
    """Return the cases with only the questions of this half. Raises InvalidInput if there are none."""
    chosen = tuple(
        replace(case, questions=tuple(each for each in case.questions if each.half is half)) for case in cases
    )
    if not any(case.questions for case in chosen):
        raise InvalidInput("half", f'no question of these files belongs to the half "{half}".')
    return chosen


def check_probes(cases: Sequence[Case]) -> None:
    """Raise InvalidInput if a leak probe asks about a memory that no other of these cases has."""
    known = {record.id for case in cases for record in case.records}
    for case in cases:
        if any(question.forbidden - known for question in case.questions):
            raise InvalidInput(case.name, "asks about members of other files; give the folder that holds them all.")


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


_LONGMEMEVAL_TIME = "%Y/%m/%d (%a) %H:%M"
_ABSTENTION = "_abs"


def _longmemeval(entry: Any, number: int) -> Case:
    place = f"instance {number}"
    if not isinstance(entry, dict) or not {"question_id", "question", "haystack_sessions"} <= entry.keys():
        raise InvalidInput(place, 'needs "question_id", "question" and "haystack_sessions", as LongMemEval has them.')
    lists: list[Any] = [entry.get(f"haystack_{name}") for name in ("sessions", "dates", "session_ids")]
    if not all(isinstance(each, list) and len(each) == len(lists[0] or ()) for each in lists):
        raise InvalidInput(place, 'needs as many "haystack_dates" and "haystack_session_ids" as "haystack_sessions".')
    sessions: list[ConversationSession] = []
    evidence: set[str] = set()
    for order, (turns, date, session_id) in enumerate(zip(*lists, strict=True), 1):
        session, answering = _haystack_session(turns, f"{order}:{session_id}", _haystack_time(date, place), place)
        sessions += [session] if session.turns else []
        evidence |= answering
    answerable = not str(entry["question_id"]).endswith(_ABSTENTION)
    category = str(entry.get("question_type", "")) if answerable else UNANSWERABLE
    question = CaseQuestion(str(entry["question"]), frozenset(evidence if answerable else ()), category)
    # What only the assistant said is in the transcript and no memory, so such a question has nothing to find.
    questions = (question,) if evidence or not answerable else ()
    asked_at = _haystack_time(entry["question_date"], place) if "question_date" in entry else None
    return Case(str(entry["question_id"]), tuple(sessions), (), questions, question_date=asked_at)


def _haystack_session(turns: Any, key: str, began: datetime, place: str) -> tuple[ConversationSession, set[str]]:
    """Return a session without its blank turns, and the keys of the user's turns that hold the answer."""
    if not isinstance(turns, list) or not all(isinstance(turn, dict) for turn in turns):
        raise InvalidInput(place, f'has a session ({key}) that is no list of {{"role", "content"}}.')
    spoken: list[ConversationTurn] = []
    evidence: set[str] = set()
    for order, turn in enumerate(turns):
        text, name = text_of(turn.get("content"), "content", place=place), f"{key}/{order}"
        if not text.strip():
            continue
        own = turn.get("role") == "user"
        remembered = own and len(text) <= MAX_MESSAGE_CHARACTERS
        happened_at = began + order * BETWEEN_TURNS
        spoken.append(
            ConversationTurn(name, f"{place}, {name}", text, happened_at, from_assistant=not own, remembered=remembered)
        )
        evidence |= {name} if remembered and turn.get("has_answer") else set()
    return ConversationSession(key, tuple(spoken)), evidence


def _haystack_time(value: object, place: str) -> datetime:
    try:
        return datetime.strptime(str(value), _LONGMEMEVAL_TIME).replace(tzinfo=UTC)
    except ValueError:
        raise InvalidInput(place, "has a date that is not like 2023/05/20 (Sat) 02:21.") from None


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
    uses = owner.get("uses") or {}
    facts = {record.id for record in records if record.kind is Kind.SEMANTIC}
    if not isinstance(uses, dict) or not uses.keys() <= facts or not all(type(each) is int for each in uses.values()):
        raise InvalidInput(place, 'needs "uses" that maps ids of its facts to counts.')
    return Case(str(owner.get("name") or place), (), records, questions, str(owner.get("tenant") or ""), uses=uses)


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

"""What a peer is asked to do, as JSON values, and the scores of its answers.

A peer gets the texts that memoryhub's own encoder reads: a fact after the words of its key, a playbook and an entry of
the catalog after its title, a turn of a conversation after its speaker. Shared entries are written to each member.
Superseded memories are hidden but from questions about the past, as in memoryhub.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.texts import Writer
from memories.evaluation.cases import Case
from memories.evaluation.scoring import RANKS, QuestionOutcome, report
from memories.importing import MemoryRecord
from memories.models import CatalogEntry, Episode, Fact, Playbook
from memories.types import CURRENT, Kind

LIMIT = max(RANKS)
WARM_UP = 10


def cases_of(cases: Sequence[Case], source: int = 0) -> list[dict[str, Any]]:
    """Return the memories and questions of each case; owners of two sources are different ones."""
    return [
        {
            "owner": f"owner-{source}-{number}",
            "memories": [*_turns(case), *((record.id, text_of(record)) for record in case.records)],
            "hidden": sorted(_hidden(case)),
            "questions": [{"text": each.text, "with_hidden": each.include_superseded} for each in case.questions],
        }
        for number, case in enumerate(cases)
    ]


def load_of(memories: int, writes: int, questions: int, seed: int) -> dict[str, Any]:
    """Return made-up texts: an owner's memories, the last of which are timed, and questions."""
    writer = Writer(seed)
    return {
        "before": [writer.episode() for _ in range(memories - writes)],
        "timed": [writer.fact() for _ in range(writes)],
        "questions": [writer.question() for _ in range(questions + WARM_UP)],
        "warm_up": WARM_UP,
    }


def scores_of(cases: Sequence[Case], answers: Sequence[Sequence[Sequence[str]]], half: str = "") -> dict[str, Any]:
    """Score answers as `eval_recall` does, of one half if it is named.

    Nothing is injected, for a peer has no rule for that.
    """
    outcomes = []
    for case, of_case in zip(cases, answers, strict=True):
        for question, names in zip(case.questions, of_case, strict=True):
            if half not in ("", question.half):
                continue
            places = {name: rank for rank, name in enumerate(names, start=1)}
            ranks = tuple(places.get(name) for name in sorted(question.evidence))
            outcomes.append(
                QuestionOutcome(question.category, ranks, 0.0, leaked=not question.forbidden.isdisjoint(names))
            )
    scored = report(outcomes)
    return {name: scored[name] for name in scored if name not in ("latency_ms", "unanswerable")}


def text_of(record: MemoryRecord) -> str:
    """Return the text of a record that memoryhub encodes."""
    row: Episode | Fact | Playbook | CatalogEntry
    match record.kind:
        case Kind.SEMANTIC:
            row = Fact(text=record.text, key=record.key)
        case Kind.PROCEDURAL:
            row = Playbook(title=record.title, trigger=record.trigger, text=record.text, steps=list(record.steps))
        case Kind.CATALOG:
            row = CatalogEntry(title=record.title, text=record.text)
        case _:
            row = Episode(text=record.text, context=record.context)
    return row.indexed_text


def _turns(case: Case) -> list[tuple[str, str]]:
    turns = [turn for session in case.sessions for turn in session.turns if turn.remembered]
    said = [(turn.key, turn.speaker, Episode(text=turn.text, context=turn.context).searchable_text) for turn in turns]
    return [(key, f"{speaker}: {text}" if speaker else text) for key, speaker, text in said]


def _hidden(case: Case) -> set[str]:
    ended = {record.id for record in case.records if record.status and record.status not in CURRENT}
    return ended | {name for record in case.records for name in record.supersedes}

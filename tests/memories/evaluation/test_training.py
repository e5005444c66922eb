"""The shipped training data: labelled correctly, and far from the sets that measure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from memories import evaluation
from memories.evaluation.cases import Case, Form, parse_cases

HERE = Path(evaluation.__file__).parent
CONVERSATIONS = sorted((HERE / "training" / "conversations").glob("*.json"))
MEMBERS = sorted((HERE / "training" / "members").glob("*.json"))
# The largest share of common words (Jaccard) of a text of the training data with one of a set.
TOO_ALIKE = 0.7
FEWEST_WORDS = 3


def read(file: Path, form: Form) -> Case:
    (case,) = parse_cases(json.loads(file.read_text(encoding="utf-8")), form)
    return case


def read_all() -> list[Case]:
    return [read(file, Form.LOCOMO) for file in CONVERSATIONS] + [read(file, Form.MEMORIES) for file in MEMBERS]


@pytest.mark.parametrize("file", CONVERSATIONS, ids=lambda file: file.stem)
def test_every_question_of_a_conversation_has_evidence(file: Path) -> None:
    case = read(file, Form.LOCOMO)
    asked = json.loads(file.read_text(encoding="utf-8"))["qa"]
    assert len(case.questions) == len(asked) >= 50
    assert {"single-hop", "multi-hop", "temporal"} <= {question.category for question in case.questions}
    times = [turn.happened_at for session in case.sessions for turn in session.turns]
    assert times == sorted(times)


@pytest.mark.parametrize("file", MEMBERS, ids=lambda file: file.stem)
def test_members_belong_to_no_half(file: Path) -> None:
    assert {question.half for question in read(file, Form.MEMORIES).questions} == {None}


def test_training_data_is_not_near_a_set() -> None:
    measured: dict[int, list[frozenset[str]]] = {}
    for found in words(
        {text for file in (HERE / "sets").glob("*/*.json") for text in texts(read(file, Form.MEMORIES))}
    ):
        measured.setdefault(len(found), []).append(found)
    near = [
        sorted(one)
        for one in words({text for case in read_all() for text in texts(case)})
        for size in range(math.ceil(len(one) * TOO_ALIKE), int(len(one) / TOO_ALIKE) + 1)
        for other in measured.get(size, [])
        if len(one & other) >= TOO_ALIKE * len(one | other)
    ]
    assert near == []


def texts(case: Case) -> Iterator[str]:
    yield from (turn.text for session in case.sessions for turn in session.turns)
    yield from (record.text for record in case.records)
    yield from (question.text for question in case.questions)


def words(of: set[str]) -> set[frozenset[str]]:
    each = (frozenset(re.findall(r"[^\W_]+", text.casefold())) for text in of)
    return {found for found in each if len(found) >= FEWEST_WORDS}

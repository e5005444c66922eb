"""Reading cases: which questions count, and what a bad file is told."""

from __future__ import annotations

from typing import Any

import pytest

from memories.errors import InvalidInput
from memories.evaluation.cases import Form, Half, parse_cases

CONVERSATION: dict[str, Any] = {
    "conversation": {
        "speaker_a": "Ana",
        "speaker_b": "Ben",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ana", "dia_id": "D1:1", "text": "I adopted a cat"},
            {"speaker": "Ben", "dia_id": "D1:2", "text": "Look!", "blip_caption": "a red kite"},
        ],
    },
    "qa": [
        {"question": "What did Ana adopt?", "answer": "a cat", "evidence": ["D1:1"], "category": 4},
        {"question": "Who flew?", "answer": "a kite", "evidence": ["D1:1", "D1:2"], "category": 1},
        {"question": "Adversarial?", "evidence": ["D1:1"], "category": 5},
        {"question": "Evidence elsewhere?", "answer": "?", "evidence": ["D9:9"], "category": 4},
        {"question": "No evidence?", "answer": "?", "evidence": [], "category": 3},
    ],
}
MEMBER: dict[str, Any] = {
    "owner": {
        "name": "Ana",
        "tenant": "acme",
        "memories": [
            {"id": "f1", "kind": "semantic", "text": "Lived in Leeds", "valid_from": "2025-01-01T00:00:00Z"},
            {"id": "f2", "kind": "semantic", "text": "Lives in York", "supersedes": ["f1"]},
        ],
        "questions": [
            {"question": "where now?", "evidence": ["f2"], "kind": "semantic"},
            {"question": "where before?", "evidence": ["f1"], "kind": "temporal"},
            {"question": "what colour?", "evidence": [], "kind": "unanswerable", "half": "held"},
        ],
    },
    "catalog": [{"id": "c1", "title": "Hub", "text": "Red means no network"}],
}


def asking(**question: object) -> object:
    return {"owner": {"memories": MEMBER["owner"]["memories"], "questions": [{"question": "?", **question}]}}


def test_locomo_questions_count_if_their_evidence_exists() -> None:
    (case,) = parse_cases([CONVERSATION], Form.LOCOMO)
    counted = {question.text: question.category for question in case.questions}
    assert counted == {"What did Ana adopt?": "single-hop", "Who flew?": "multi-hop"}
    assert case.size == 2


@pytest.mark.parametrize("data", [MEMBER, [MEMBER]], ids=["one", "a list"])
def test_memories_come_with_their_catalog(data: object) -> None:
    (case,) = parse_cases(data, Form.MEMORIES)
    assert [record.kind.value for record in case.records] == ["semantic", "semantic", "catalog"]
    assert [(question.category, question.include_superseded) for question in case.questions] == [
        ("semantic", False), ("temporal", True), ("unanswerable", False),
    ]  # fmt: skip
    assert (case.tenant, case.questions[2].half) == ("acme", Half.HELD)


def test_a_leak_probe_has_no_evidence() -> None:
    (case,) = parse_cases(asking(kind="leak", forbidden=["b1"]), Form.MEMORIES)
    (probe,) = case.questions
    assert (probe.category, probe.evidence, probe.forbidden) == ("leak", frozenset(), frozenset({"b1"}))


@pytest.mark.parametrize(
    ("data", "form", "numbers"),
    [
        pytest.param({}, Form.LOCOMO, None, id="no conversation"),
        pytest.param([CONVERSATION], Form.LOCOMO, [1], id="no such conversation"),
        pytest.param([CONVERSATION], Form.MEMORIES, None, id="another form"),
        pytest.param({"owner": {"memories": [{"kind": "dream"}]}}, Form.MEMORIES, None, id="a bad memory"),
        pytest.param(asking(evidence=["x"]), Form.MEMORIES, None, id="unknown evidence"),
        pytest.param(asking(half="third"), Form.MEMORIES, None, id="no such half"),
        pytest.param(asking(kind="leak"), Form.MEMORIES, None, id="a leak of nothing"),
        pytest.param(asking(kind="leak", forbidden=["f1"]), Form.MEMORIES, None, id="a leak of one's own"),
    ],
)
def test_a_bad_file_is_refused(data: object, form: Form, numbers: list[int] | None) -> None:
    with pytest.raises(InvalidInput):
        parse_cases(data, form, numbers)

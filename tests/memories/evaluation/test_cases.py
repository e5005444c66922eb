"""Reading cases: which questions count, and what a bad file is told."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from memories.errors import InvalidInput
from memories.evaluation.cases import Form, Half, check_probes, of_half, parse_cases

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

INSTANCE: dict[str, Any] = {
    "question_id": "q1",
    "question_type": "single-session-user",
    "question": "Which instrument did I take up?",
    "answer": "the oboe",
    "question_date": "2023/05/30 (Tue) 23:40",
    "haystack_session_ids": ["s1", "s2"],
    "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/22 (Mon) 10:05"],
    "haystack_sessions": [
        [
            {"role": "user", "content": "I took up the oboe", "has_answer": True},
            {"role": "assistant", "content": "A fine instrument", "has_answer": True},
        ],
        [{"role": "user", "content": " "}, {"role": "user", "content": "My train was late", "has_answer": False}],
    ],
    "answer_session_ids": ["s1"],
}


def asking(**question: object) -> object:
    return {"owner": {"memories": MEMBER["owner"]["memories"], "questions": [{"question": "?", **question}]}}


def test_locomo_questions_count_if_their_evidence_exists() -> None:
    (case,) = parse_cases([CONVERSATION], Form.LOCOMO)
    counted = {question.text: question.category for question in case.questions}
    assert counted == {"What did Ana adopt?": "single-hop", "Who flew?": "multi-hop"}
    assert case.size == 2


def test_the_users_turns_of_longmemeval_are_the_memories_and_the_evidence() -> None:
    (case,) = parse_cases([INSTANCE], Form.LONGMEMEVAL)
    turns = [turn for session in case.sessions for turn in session.turns]
    assert [(turn.text, turn.remembered) for turn in turns] == [
        ("I took up the oboe", True), ("A fine instrument", False), ("My train was late", True),
    ]  # fmt: skip
    (question,) = case.questions
    assert (question.evidence, question.category) == (frozenset({turns[0].key}), "single-session-user")
    assert case.asked_at == datetime(2023, 5, 30, 23, 40, tzinfo=UTC)


@pytest.mark.parametrize(
    ("instance", "categories"),
    [
        pytest.param(INSTANCE | {"question_id": "q1_abs"}, ["unanswerable"], id="an abstention"),
        pytest.param(
            INSTANCE | {"haystack_sessions": [INSTANCE["haystack_sessions"][0][1:], []]}, [], id="said by the assistant"
        ),
    ],
)
def test_what_no_memory_answers_has_no_evidence(instance: dict[str, Any], categories: list[str]) -> None:
    (case,) = parse_cases(instance, Form.LONGMEMEVAL)
    assert [(question.category, question.evidence) for question in case.questions] == [
        (category, frozenset()) for category in categories
    ]


def test_a_half_leaves_out_the_other_questions() -> None:
    (case,) = of_half(parse_cases(MEMBER, Form.MEMORIES), Half.HELD)
    assert [question.text for question in case.questions] == ["what colour?"]
    with pytest.raises(InvalidInput, match="half"):
        of_half(parse_cases(MEMBER, Form.MEMORIES), Half.TUNE)


def test_a_probe_needs_the_member_it_asks_about() -> None:
    probing = parse_cases(asking(kind="leak", forbidden=["f9"]), Form.MEMORIES)
    other = parse_cases(
        {"owner": {"memories": [{"id": "f9", "kind": "semantic", "text": "Keeps bees"}]}}, Form.MEMORIES
    )
    check_probes([*probing, *other])
    with pytest.raises(InvalidInput, match="folder"):
        check_probes(probing)


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
        pytest.param([CONVERSATION], Form.LONGMEMEVAL, None, id="no instance"),
        pytest.param(INSTANCE | {"haystack_dates": []}, Form.LONGMEMEVAL, None, id="sessions without dates"),
        pytest.param(INSTANCE | {"question_date": "May"}, Form.LONGMEMEVAL, None, id="another form of date"),
        pytest.param(INSTANCE | {"haystack_sessions": [1, 2]}, Form.LONGMEMEVAL, None, id="sessions without turns"),
        pytest.param(asking(evidence=["x"]), Form.MEMORIES, None, id="unknown evidence"),
        pytest.param({"owner": MEMBER["owner"] | {"uses": {"f9": 1}}}, Form.MEMORIES, None, id="uses of no fact"),
        pytest.param(asking(half="third"), Form.MEMORIES, None, id="no such half"),
        pytest.param(asking(kind="leak"), Form.MEMORIES, None, id="a leak of nothing"),
        pytest.param(asking(kind="leak", forbidden=["f1"]), Form.MEMORIES, None, id="a leak of one's own"),
    ],
)
def test_a_bad_file_is_refused(data: object, form: Form, numbers: list[int] | None) -> None:
    with pytest.raises(InvalidInput):
        parse_cases(data, form, numbers)

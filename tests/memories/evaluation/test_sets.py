"""The shipped evaluation sets: lifelike enough to measure with, and consistent."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import combinations, pairwise
from pathlib import Path

import pytest

from memories import evaluation
from memories.english.text import content_words
from memories.evaluation.cases import Case, CaseQuestion, Form, Half, parse_cases
from memories.importing import MemoryRecord
from memories.types import Kind, Status

SETS = Path(evaluation.__file__).parent / "sets"
EVERYDAY_KINDS = {
    "slot": 80, "list": 30, "paraphrase": 40, "typo": 40, "german": 15, "spanish": 15, "how-to": 20, "temporal": 20,
    "unanswerable": 20,
}  # fmt: skip
PERSONA_KINDS = {
    "paraphrase": 70, "temporal": 20, "multi-hop": 20, "procedural": 15, "unanswerable": 15, "leak": 15,
}  # fmt: skip


def read(name: str) -> tuple[Case, ...]:
    files = sorted((SETS / name).glob("*.json"))
    return parse_cases([json.loads(file.read_text(encoding="utf-8")) for file in files], Form.MEMORIES)


EVERYDAY, PERSONA = read("everyday"), read("persona")
ADJUSTMENTS = read("adjustments")
each_member = pytest.mark.parametrize("case", EVERYDAY + PERSONA, ids=lambda case: case.name)
each_set = pytest.mark.parametrize("cases", [EVERYDAY, PERSONA], ids=["everyday", "persona"])


def said(record: MemoryRecord) -> str:
    return " ".join([record.title, record.trigger, record.text, *record.steps])


def own(case: Case) -> Iterator[MemoryRecord]:
    return (record for record in case.records if record.kind is not Kind.CATALOG)


@pytest.mark.parametrize(
    ("cases", "kinds", "total"),
    [(EVERYDAY, EVERYDAY_KINDS, 300), (PERSONA, PERSONA_KINDS, 168)],
    ids=["everyday", "persona"],
)
def test_every_kind_of_question_is_asked_often_enough(
    cases: tuple[Case, ...], kinds: dict[str, int], total: int
) -> None:
    asked = Counter(question.category for case in cases for question in case.questions)
    assert asked.keys() == kinds.keys()
    assert asked >= Counter(kinds)
    assert asked.total() >= total


@each_member
def test_a_member_has_the_memories_of_a_life(case: Case) -> None:
    kinds = Counter(record.kind for record in case.records)
    superseded = {name for record in case.records for name in record.supersedes}
    if case in EVERYDAY:
        assert kinds[Kind.SEMANTIC] - len(superseded) >= 60
        assert kinds[Kind.EPISODIC] >= 50
        assert max(len(record.text) for record in case.records if record.kind is Kind.SEMANTIC) <= 100
    else:
        assert 235 <= kinds.total() <= 265
        assert len(superseded) >= 8
    assert kinds[Kind.PROCEDURAL] >= 8


@each_set
def test_halves_are_balanced_by_kind(cases: tuple[Case, ...]) -> None:
    halves = Counter((question.category, question.half) for case in cases for question in case.questions)
    assert {half for _, half in halves} == set(Half)
    for kind in {kind for kind, _ in halves}:
        assert abs(halves[kind, Half.TUNE] - halves[kind, Half.HELD]) <= len(cases)


@each_set
def test_no_question_and_no_memory_is_written_twice(cases: tuple[Case, ...]) -> None:
    for case in cases:
        asked = Counter(" ".join(question.text.casefold().split()) for question in case.questions)
        assert asked.total() == len(asked)
    texts = Counter(record.text.casefold() for case in cases for record in own(case))
    assert [text for text, times in texts.items() if times > 1] == []
    ids = Counter(record.id for case in cases for record in own(case))
    assert ids.total() == len(ids)


@each_member
def test_dates_are_in_order(case: Case) -> None:
    by_id = {record.id: record for record in case.records}
    moments = [record.happened_at for record in case.records if record.kind is Kind.EPISODIC]
    assert all(earlier and later and earlier < later for earlier, later in pairwise(moments))
    for record in own(case):
        assert record.happened_at or record.valid_from, record.id
        for name in record.supersedes:
            before, since = by_id[name].valid_from, record.valid_from
            assert before and since and before < since, record.id


@each_member
def test_a_key_has_one_current_fact(case: Case) -> None:
    superseded = {name for record in case.records for name in record.supersedes}
    keys = Counter(record.key for record in case.records if record.key and record.id not in superseded)
    assert [key for key, times in keys.items() if times > 1] == []


@each_member
def test_only_questions_about_the_past_need_superseded_memories(case: Case) -> None:
    superseded = {name for record in case.records for name in record.supersedes}
    assert [q.text for q in case.questions if q.evidence & superseded and not q.include_superseded] == []


def test_everyday_members_are_of_different_tenants() -> None:
    tenants = {case.tenant for case in EVERYDAY}
    assert len(tenants) == len(EVERYDAY) >= 4


def test_persona_members_share_a_catalog_only_within_their_tenant() -> None:
    assert len(PERSONA) == 3
    assert len({case.tenant for case in PERSONA}) == 2
    for one, other in combinations(PERSONA, 2):
        shared = set(catalog(one)) & set(catalog(other))
        assert shared == (set(catalog(one)) if one.tenant == other.tenant else set())


def catalog(case: Case) -> dict[str, str]:
    return {record.id: record.text for record in case.records if record.kind is Kind.CATALOG}


def test_leak_probes_name_memories_of_other_members() -> None:
    owners = {record.id: case for case in PERSONA for record in own(case)}
    probes = [(case, question) for case in PERSONA for question in case.questions if question.category == "leak"]
    for case, question in probes:
        assert question.forbidden <= owners.keys(), question.text
        assert case not in {owners[name] for name in question.forbidden}
    assert any(owners[name].tenant == case.tenant for case, question in probes for name in question.forbidden)
    assert any(owners[name].tenant != case.tenant for case, question in probes for name in question.forbidden)


def test_persona_questions_share_hardly_a_word_with_their_answer() -> None:
    shares = [
        shared_words(question, {record.id: record for record in case.records})
        for case in PERSONA
        for question in case.questions
        if question.evidence
    ]
    assert max(shares) <= 0.34
    assert sum(shares) / len(shares) <= 0.06


def shared_words(question: CaseQuestion, records: dict[str, MemoryRecord]) -> float:
    asked = content_words(question.text)
    answers = frozenset[str]().union(*(content_words(said(records[name])) for name in question.evidence))
    return len(asked & answers) / max(1, len(asked))


def test_each_adjustment_decides_between_rivals_that_differ_in_nothing_else() -> None:
    (case,) = ADJUSTMENTS
    by_id = {record.id: record for record in case.records}
    kinds = Counter(question.category for question in case.questions)
    assert kinds == {"current": 10, "used": 10, "worked": 10, "stale": 10}
    for question in case.questions:
        (better,) = (by_id[name] for name in question.evidence)
        rival = by_id[f"{better.id[:-1]}a"]
        assert rival.kind is better.kind and rival.title == better.title, question.text
        assert (rival.valid_from != better.valid_from) == (question.category == "current")
        assert (better.id in case.uses) == (question.category == "used")
        assert (rival.status is Status.STALE) == (question.category == "stale")
        assert (better.success_count > rival.success_count) == (question.category == "worked")

"""From signals to a score: each signal adds what its weight says, and rank fusion adds shares by rank."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.embedding import pack_pieces, token_vectors
from memories.recall.pool import CandidateRow, assemble
from memories.recall.query import parse
from memories.recall.scoring import Scores, reciprocal_rank, score
from memories.types import Kind


def scores(question: str, *said: tuple[str, str], others: int = 0) -> Scores:
    """The scores of the (speaker, text) of a conversation in May 2023, and of `others` in sessions of their own."""
    said += (("Bo", "The bus was late"),) * others
    turns = [
        (
            *(f"s{max(0, number - len(said) + others + 1)}", number, pack_pieces(token_vectors().piece_ids(text))),
            *(f"{number:032x}", None, "active", speaker, "2023-05-08 13:56:00"),
        )
        for number, (speaker, text) in enumerate(said)
    ]
    cosines = np.linspace(0.5, 0.2, len(turns), dtype=np.float32)
    now = datetime(2023, 6, 1, tzinfo=UTC)
    query = parse(question, {speaker for speaker, _ in said}, now)
    pool = assemble(turns, [])
    return score(pool, query, token_vectors(), cosines=cosines, lexical=cosines, now=now)


@pytest.mark.parametrize(
    ("question", "said", "signal", "adds"),
    [
        ("What broke in May 2023?", ["The hub broke"], "date", [0.75]),
        ("What broke in 2023?", ["The hub broke"], "date", [0.25]),
        ("What broke in June?", ["The hub broke"], "date", [0.0]),
        ("When did it break?", ["It broke yesterday", "It broke"], "when", [0.4, 0.0]),
        ("What broke?", ["It broke yesterday"], "when", [0.0]),
        ("Did Ada break it?", ["I broke it", "It broke"], "speaker", [0.6, 0.6]),
        ("Did Bo break it?", ["I broke it", "It broke"], "speaker", [0.0, 0.0]),
        ("Did Ada break it?", ["I broke it", "It broke", "Did I break it?"], "first_person", [0.15, 0.0, 0.0]),
        ("What broke?", ["The hub broke"], "meaning", [0.75]),
        ("What broke last spring?", ["The hub broke"], "date", [0.5]),
        ("What broke last week?", ["The hub broke"], "date", [0.0]),
        ("What is E4012?", ["It says E4012", "It says E4013"], "exact", [0.6, 0.0]),
        ("Where is the hub?", ["Where is the hub?", "The hub is here"], "idle", [-1.5, 0.0]),
        ("Where is the hub?", ["Thank you, good morning!"], "idle", [-1.5]),
    ],
)
def test_what_is_asked_for_adds_its_weight(question: str, said: list[str], signal: str, adds: list[float]) -> None:
    found = scores(question, *(("Ada", text) for text in said), others=1).signals[signal]
    assert found[: len(said)] == pytest.approx(adds)


def test_the_score_is_the_sum_and_independent_of_the_other_candidates() -> None:
    alone, among_others = (scores("what broke?", ("Ada", "The hub broke"), others=count) for count in (0, 3))
    assert alone.final[0] == pytest.approx(among_others.final[0])
    assert sum(values[0] for values in alone.added.values()) == pytest.approx(alone.fused[0])


@pytest.mark.parametrize(
    ("question", "key", "fact", "other"),
    [
        ("where do I work", "employer", "Is with Tayvolt Electrical", "work phone: Extension at work is 4417"),
        ("were do i wrok", "employer", "Is with Tayvolt Electrical", "work phone: Extension at work is 4417"),
        ("wie heißt meine Vermieterin", "landlady", "Frau Tschirner", "Die Vermieterin war wieder da"),
        ("what do I do for a living", "occupation", "Electrician", "Sails for a living"),
        ("name of the vet", "vet", "Dr Hemming", "pet name: The name of the cat is Fuse"),
    ],
)
def test_the_fact_whose_key_is_asked_for_has_more_of_the_slot_than_what_shares_words(
    question: str, key: str, fact: str, other: str
) -> None:
    pieces = [pack_pieces(token_vectors().piece_ids(text)) for text in (f"{key}: {fact}", other)]
    rows = [CandidateRow(Kind.SEMANTIC, str(number), each, None, stale=False) for number, each in enumerate(pieces)]
    alike = np.full(2, 0.4, np.float32)
    now = datetime(2023, 6, 1, tzinfo=UTC)
    found = score(assemble([], rows), parse(question), token_vectors(), cosines=alike, lexical=alike, now=now)
    assert found.signals["slot"][0] > 1.5 * found.signals["slot"][1]


@pytest.mark.parametrize(("question", "adds"), [("where did I live", [0.5, 0.0]), ("where do I live", [0.0, 0.0])])
def test_what_was_true_before_counts_more_for_a_question_about_the_past(question: str, adds: list[float]) -> None:
    row = CandidateRow(Kind.SEMANTIC, "a", pack_pieces(token_vectors().piece_ids("Lives here")), None, stale=False)
    pool = assemble([], [row._replace(superseded=True), row._replace(id="b")])
    alike = np.full(2, 0.4, np.float32)
    now = datetime(2023, 6, 1, tzinfo=UTC)
    found = score(pool, parse(question), token_vectors(), cosines=alike, lexical=alike, now=now)
    assert found.signals["date"] == pytest.approx(adds)


@given(st.permutations(range(5)))
def test_the_order_of_the_candidates_changes_no_rank(order: list[int]) -> None:
    values = np.array([0.5, 0.5, 0.1, 0.0, 0.9], np.float32)
    assert reciprocal_rank({"words": values[order]}) == pytest.approx(reciprocal_rank({"words": values})[order])

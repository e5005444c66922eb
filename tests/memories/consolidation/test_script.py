"""The rules read two years of one person's talk: nothing invented, nothing wrongly superseded, four fifths found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from memories.consolidation.material import EpisodeText
from memories.consolidation.rules import RuleExtractor
from tests.memories.consolidation.memory import Memory, said
from tests.memories.consolidation.script import load
from tests.memories.consolidation.script.measure import Learned, Score, measure

SCRIPT = load()
ENOUGH = 0.8


def episodes() -> list[EpisodeText]:
    return [said(each.text, each.at, each.number) for each in SCRIPT.statements]


def batches(spoken: Sequence[EpisodeText], size: int) -> Iterator[Sequence[EpisodeText]]:
    return (spoken[start : start + size] for start in range(0, len(spoken), size))


def learned(memory: Memory, spoken: list[EpisodeText]) -> list[Learned]:
    """What the memory holds, in terms of the script."""
    times = {episode.happened_at: episode.ordinal for episode in spoken}
    return [
        Learned(
            fact.text,
            times.get(fact.learned_at),
            fact.valid_from,
            times[fact.superseded_at] if fact.superseded_at else None,
            memory.kinds.get(fact.id),
            memory.facts[memory.successors[fact.id]].text if fact.id in memory.successors else "",
        )
        for fact in memory.facts.values()
    ]


def played(size: int) -> tuple[Memory, list[EpisodeText]]:
    memory, spoken = Memory(), episodes()
    for text in SCRIPT.known_before.values():
        memory.know(text, category="home")
    for batch in batches(spoken, size):
        memory.consolidate(RuleExtractor(), batch)
    return memory, spoken


def check(score: Score) -> None:
    assert score.invented == []
    assert score.wrong_ends == []
    assert score.wrong_times == []
    assert score.facts >= ENOUGH * score.expected_facts, score.missed
    assert score.ends >= ENOUGH * score.expected_ends, score.missed


@pytest.mark.parametrize("size", [1, 7, 20, 60])
def test_the_rules_keep_what_was_said_and_end_what_it_made_false(size: int) -> None:
    memory, spoken = played(size)
    check(measure(SCRIPT, learned(memory, spoken)))


@pytest.mark.parametrize("size", [1, 20, 60])
def test_reading_it_all_again_changes_nothing(size: int) -> None:
    memory, spoken = played(20)
    before = dict(memory.facts)
    for batch in batches(spoken, size):
        assert memory.consolidate(RuleExtractor(), batch) == []
    assert memory.facts == before

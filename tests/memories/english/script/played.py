"""Plays a talk to the rules and a memory in plain values: no database, no guards but the planner's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memories.consolidation.material import EpisodeText
from memories.english.extractor import RuleExtractor
from tests.memories.english.memory import Memory, said
from tests.memories.english.script import Script
from tests.memories.english.script.measure import Learned


def episodes(script: Script) -> list[EpisodeText]:
    return [said(each.text, each.at, each.number) for each in script.statements]


def batches(spoken: Sequence[EpisodeText], size: int) -> Iterator[Sequence[EpisodeText]]:
    return (spoken[start : start + size] for start in range(0, len(spoken), size))


def held(memory: Memory, spoken: list[EpisodeText]) -> list[Learned]:
    """What the memory holds, in terms of the script."""
    times = {episode.happened_at: episode.ordinal for episode in spoken}
    return [
        Learned(
            fact.text, times.get(fact.learned_at), fact.valid_from,
            times[fact.superseded_at] if fact.superseded_at else None, memory.kinds.get(fact.id),
            memory.facts[memory.successors[fact.id]].text if fact.id in memory.successors else "",
        )
        for fact in memory.facts.values()
    ]  # fmt: skip


def played(script: Script, size: int) -> tuple[Memory, list[EpisodeText]]:
    memory, spoken = Memory(), episodes(script)
    for text in script.known_before.values():
        memory.know(text, category="home")
    for batch in batches(spoken, size):
        memory.consolidate(RuleExtractor(), batch)
    return memory, spoken

"""The made-up texts of the benchmarks: the same for a seed, different from each other, like what people write."""

from __future__ import annotations

from benchmarks.texts import Writer


def test_a_seed_decides_every_text() -> None:
    first, again, other = Writer(1), Writer(1), Writer(2)
    texts = [first.episode() for _ in range(50)]
    assert texts == [again.episode() for _ in range(50)]
    assert texts != [other.episode() for _ in range(50)]


def test_no_two_facts_or_playbooks_are_alike() -> None:
    writer = Writer(1)
    assert len({writer.fact() for _ in range(2000)}) == 2000
    assert len({writer.how_to().title for _ in range(200)}) == 200

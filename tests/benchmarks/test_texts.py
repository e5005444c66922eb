"""The made-up texts of the benchmarks: the same for a seed, different from each other, like what people write."""

from __future__ import annotations

from benchmarks.texts import Writer


def test_a_seed_decides_every_text() -> None:
    first, again, other = Writer(1), Writer(1), Writer(2)
    texts = [first.episode() for _ in range(50)]
    assert texts == [again.episode() for _ in range(50)]
    assert texts != [other.episode() for _ in range(50)]

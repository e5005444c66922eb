"""The benchmark of hostile texts reads with every function, and fails if one takes too long."""

from __future__ import annotations

import json
from argparse import Namespace

import pytest

from benchmarks import hostile
from memories.english.text import MOST_SENTENCES, first_sentences


def test_every_function_reads_every_unit() -> None:
    costs = [hostile.worst(name, read, ("GB82 ", "[", "パスワードは")) for name, read in hostile.functions().items()]
    assert len(costs) > 30 and all(cost.unit for cost in costs)


@pytest.mark.parametrize(("limit", "status"), [(1e9, 0), (-1.0, 1)], ids=["within", "over"])
def test_a_function_over_the_limit_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], limit: float, status: int
) -> None:
    monkeypatch.setattr(hostile, "LIMIT", limit)
    monkeypatch.setattr(hostile, "FRAGMENTS", ("1. ",))
    hostile.units.cache_clear()
    assert hostile.run(Namespace(units=1, seed=1, only="clean_text", json=True)) == status
    hostile.units.cache_clear()
    assert [row["function"] for row in json.loads(capsys.readouterr().out)["rows"]] == ["clean_text"]


def test_only_so_many_sentences_of_a_text_are_read() -> None:
    assert len([*first_sentences("I sail. " * 4_000)]) == MOST_SENTENCES
    assert [*first_sentences("I sail. ... 7! ? I ski")] == ["I sail.", "7!", "I ski"]

"""The curves of the benchmark have the points that were asked for, each as whole as the others."""

from __future__ import annotations

from argparse import Namespace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.scale.__main__ import table_of, tens
from benchmarks.scale.points import many_owners
from tests.parts import about_the_embedded_plane


def test_points_are_ten_times_as_many_again() -> None:
    assert tens(1_000, 100_000) == [1_000, 10_000, 100_000]
    assert tens(1, 99) == [1, 10]


@about_the_embedded_plane
@pytest.mark.django_db
def test_a_point_measures_recall_writes_and_space(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("benchmarks.population.SAMPLE", 4)
    monkeypatch.setattr("benchmarks.scale.points.call_command", lambda *_, **__: None)
    point = many_owners(2, Namespace(each=10, seed=1, queries=4, writes=4), tmp_path)
    assert point["recall"]["count"] == point["write"]["count"] == 4
    assert point["recall"]["p50"] > 0 and point["resident_mb"] > 0 and point["index_mb"] > 0
    Console(width=200, file=(printed := StringIO())).print(table_of("owners", [point]))
    assert "rows a second" in printed.getvalue()

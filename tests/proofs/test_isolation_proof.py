"""The isolation proof at real counts on the embedded plane; its twin runs on Elasticsearch with PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.proofs.site import Site

CONCURRENCY = 16
LONG_SEED = 7919
SEEDS = (2, 3, 5, 7, 11)
# The long run is this many times a run of one of SEEDS.
LONGER = 10


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site on SQLite and the embedded search plane."""
    with Site(tmp_path_factory.mktemp("embedded")) as site:
        yield site


@pytest.mark.parametrize("seed", [LONG_SEED, *SEEDS])
def test_nothing_leaks(
    attacked: Site, seed: int, attempts: int, record_property: Callable[[str, object], None]
) -> None:
    count = attempts * LONGER if seed == LONG_SEED else attempts
    arguments = ("--attempts", str(count), "--concurrency", str(CONCURRENCY), "--seed", str(seed), "--json")
    report: dict[str, Any] = json.loads(attacked.manage("prove_isolation", *arguments))
    record_property("found", f"{report['attempts']:,} attempts, {report['leaked']} leaks, {report['verdict']}")
    assert report["verdict"] == "clean", report

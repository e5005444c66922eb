"""The options of `make prove KILLS=100 OUTAGE=60`, known wherever the proofs that are run lie."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the numbers of repetitions."""
    parser.addoption("--kills", type=int, default=100, help="how often the server is killed")
    parser.addoption("--threads", type=int, default=100, help="how many threads write the same fact")
    parser.addoption("--fuzz", type=int, default=2000, help="how many attempts try to see another's memory")
    parser.addoption("--faults", type=int, default=1000, help="how many sequences of faults of a model are played")
    parser.addoption("--texts", type=int, default=0, help="how many labelled texts go through every edge; 0: all")
    parser.addoption("--values", type=int, default=60, help="how many values that must not be stored are pushed in")
    parser.addoption("--changes", type=int, default=500, help="how many changes of the database are looked for")
    parser.addoption("--seed", type=int, default=1, help="the seed of the first change of the database")
    parser.addoption("--slow", type=int, default=500, help="how many slow connections attack the server")
    parser.addoption("--slow-seconds", type=int, default=180, help="for how long they do")
    parser.addoption("--attempts", type=int, default=1000, help="how often isolation is attacked in each run")
    parser.addoption("--report", type=Path, default=None, help="where to write a report of all proofs, as Markdown")
    parser.addoption("--outage", type=int, default=20, help="how long a part is away, in seconds")
    parser.addoption("--outages", type=int, default=10, help="how often one part or another goes away")

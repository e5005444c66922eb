"""Options of the long proofs: `make prove KILLS=100 OUTAGE=60`."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the numbers of repetitions."""
    parser.addoption("--kills", type=int, default=100, help="how often the server is killed")
    parser.addoption("--threads", type=int, default=100, help="how many threads write the same fact")
    parser.addoption("--faults", type=int, default=1000, help="how many sequences of faults of a model are played")
    parser.addoption("--texts", type=int, default=0, help="how many labelled texts go through every edge; 0: all")
    parser.addoption("--values", type=int, default=60, help="how many values that must not be stored are pushed in")
    parser.addoption("--changes", type=int, default=500, help="how many changes of the database are looked for")
    parser.addoption("--seed", type=int, default=1, help="the seed of the first change of the database")
    parser.addoption("--outage", type=int, default=20, help="how long a part is away, in seconds")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all tests of this folder as proofs without a timeout."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.proof)
            item.add_marker(pytest.mark.timeout(0))


@pytest.fixture
def kills(pytestconfig: pytest.Config) -> int:
    """The number of times that the server is killed."""
    return int(pytestconfig.getoption("--kills"))


@pytest.fixture
def threads(pytestconfig: pytest.Config) -> int:
    """The number of threads that write the same fact."""
    return int(pytestconfig.getoption("--threads"))


@pytest.fixture
def outage(pytestconfig: pytest.Config) -> int:
    """The seconds for which a server is down."""
    return int(pytestconfig.getoption("--outage"))


@pytest.fixture
def faults(pytestconfig: pytest.Config) -> int:
    """The number of fault sequences of a model."""
    return int(pytestconfig.getoption("--faults"))


@pytest.fixture
def values(pytestconfig: pytest.Config) -> int:
    """The number of sensitive values that are sent through every entry point."""
    return int(pytestconfig.getoption("--values"))

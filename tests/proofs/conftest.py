"""The numbers of repetitions of the long proofs, and their report."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.db import connection
from pytest_django import Settings

from tests.browser.conftest import browse, chromium, member, open_page
from tests.proofs.real_site import Parts, RealSite

# Fixtures, here rather than in each module that uses them: one process can have one Chromium.
__all__ = ["browse", "chromium", "member", "open_page"]

HERE = Path(__file__).parent


def pytest_configure(config: pytest.Config) -> None:
    """Write a report of the run, if one is wanted; with several lanes the process that started them does."""
    if (path := config.getoption("--report")) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Report(path, config.invocation_params.args))


class Report:
    """Adds to a file a Markdown table of a run: date, machine, command, and the result and time of each proof."""

    def __init__(self, path: Path, arguments: Sequence[str]) -> None:
        self._path = path
        self._counts = [each for each in arguments if each.startswith("--") and "=" in each]
        self._lines: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a line for each proof that ended, and for each that was skipped."""
        if report.when != "call" and report.outcome == "passed":
            return
        found = "; ".join(str(value) for name, value in report.user_properties if name == "found")
        name = report.nodeid.replace("|", "/")
        self._lines.append(f"| `{name}` | {report.outcome} | {report.duration:.0f} | {found} |")

    def pytest_sessionfinish(self) -> None:
        """Write it."""
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
        passed = sum("| passed |" in line for line in self._lines)
        heading = "" if self._path.exists() else "# Proofs\n\nWritten by `.ci/nightly`, which runs them in one piece.\n"
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)  # noqa: S607
        with self._path.open("a") as file:
            file.write(
                f"{heading}\n## On {connection.display_name}\n\n"
                f"- `{commit.stdout.strip()}`, {datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, {memory:.0f} GiB,"
                f" {platform.system()}, Python {platform.python_version()}\n"
                f"- `{' '.join(each for each in self._counts if not each.startswith('--report'))}`\n"
                f"- {passed} of {len(self._lines)} passed\n\n"
                "| proof | result | seconds | found |\n|---|---|---|---|\n" + "\n".join(self._lines) + "\n"
            )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all tests of this folder as proofs without a timeout."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.proof)
            item.add_marker(pytest.mark.timeout(0))


@pytest.fixture
def site(tmp_path: Path, parts: Parts) -> Iterator[RealSite]:
    """A site that serves, on the `parts` of a module."""
    with RealSite(tmp_path, parts) as made:
        made.start()
        yield made


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
def outages(pytestconfig: pytest.Config) -> int:
    """How often one part or another goes away."""
    return int(pytestconfig.getoption("--outages"))


@pytest.fixture
def slow(pytestconfig: pytest.Config) -> int:
    """The number of slow connections."""
    return int(pytestconfig.getoption("--slow"))


@pytest.fixture
def slow_seconds(pytestconfig: pytest.Config) -> int:
    """The seconds for which they stay."""
    return int(pytestconfig.getoption("--slow-seconds"))


@pytest.fixture
def faults(pytestconfig: pytest.Config) -> int:
    """The number of fault sequences of a model."""
    return int(pytestconfig.getoption("--faults"))


@pytest.fixture
def values(pytestconfig: pytest.Config) -> int:
    """The number of sensitive values that are sent through every entry point."""
    return int(pytestconfig.getoption("--values"))


@pytest.fixture
def attempts(pytestconfig: pytest.Config) -> int:
    """The number of attacks of one run of the isolation proof."""
    return int(pytestconfig.getoption("--attempts"))


@pytest.fixture(autouse=True)
def _no_limits(settings: Settings) -> None:
    """A few members do in minutes what takes many a day."""
    settings.MEMORYHUB_LIMITS = {}

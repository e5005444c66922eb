"""The node for development and tests: one in a folder, and none that outlives whom it was started for."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.elasticsearch_node import distribution
from tests.elasticsearch_node.distribution import CannotBuild, java_home
from tests.elasticsearch_node.node import Node
from tests.parts import missing_part


@pytest.fixture
def visitor() -> Iterator[subprocess.Popen[bytes]]:
    """A process to start a node for."""
    with subprocess.Popen(["sleep", "600"]) as process:  # noqa: S607 - any process will do
        yield process
        process.kill()


@pytest.mark.long
def test_one_node_runs_and_ends_with_whom_it_was_started_for(tmp_path: Path, visitor: subprocess.Popen[bytes]) -> None:
    node = Node(tmp_path)
    try:
        address = node.start(heap="512m", live_as_long_as=visitor.pid)
    except CannotBuild as error:
        missing_part(str(error))
    assert Node(tmp_path).start() == address

    visitor.kill()
    visitor.wait()

    deadline = time.monotonic() + 30
    while node.address() is not None and time.monotonic() < deadline:
        time.sleep(0.1)
    assert node.address() is None


def test_a_process_that_took_over_an_id_is_left_alone(tmp_path: Path, visitor: subprocess.Popen[bytes]) -> None:
    (tmp_path / "pid").write_text(str(visitor.pid))

    Node(tmp_path).stop()

    assert visitor.poll() is None


def test_without_a_jdk_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distribution, "_java_version", lambda home: 17)

    with pytest.raises(CannotBuild, match="JDK 21 or newer"):
        java_home()


def test_what_was_not_put_together_whole_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(distribution, "java_home", lambda: Path("/nowhere"))
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(CannotBuild, match="Maven"):
        distribution.distribution()

    assert [path.name for path in (tmp_path / "memoryhub").iterdir()] == ["build.lock"]

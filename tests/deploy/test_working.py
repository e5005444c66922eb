"""The health check of beat: a process that works passes, one that stands still does not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from deploy.working import ticks, worked


def test_the_time_is_that_of_the_process_whatever_its_name_is() -> None:
    before = ticks(Path("/proc/self/stat").read_text())
    while ticks(Path("/proc/self/stat").read_text()) == before:
        pass
    assert ticks("1 (a) b) S 0 1 1 0 -1 4194560 1 2 3 4 70 8 0 0 20 0 1 0 5") == 78


def test_a_process_that_stands_still_is_found(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as idle:  # noqa: S603 - our own words
        assert idle.stdin is not None
        stat, seen = Path(f"/proc/{idle.pid}/stat"), tmp_path / "ticks"
        assert worked(stat, seen)
        while worked(stat, seen):
            pass  # it was still starting
        assert not worked(stat, seen)
        idle.stdin.write(b"\n")

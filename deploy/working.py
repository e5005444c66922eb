"""The health check of the beat container: exits with 0 if process 1 used processor time since the last check.

Beat sends a task every few seconds, so if it used no processor time for a minute, it is stuck. It accepts no requests
that could be checked instead, and its schedule file proves nothing, since Python's dbm may delay writes.
"""

from __future__ import annotations

import sys
from pathlib import Path

STAT = Path("/proc/1/stat")
SEEN = Path("/tmp/ticks")  # noqa: S108 - private to the container


def ticks(stat: str) -> int:
    """The process's CPU ticks: fields `utime` and `stime` of proc(5), counted after the command name."""
    fields = stat.rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def worked(stat: Path = STAT, seen: Path = SEEN) -> bool:
    """Whether the CPU time grew since the last check; the first check passes."""
    now = ticks(stat.read_text())
    before = int(seen.read_text()) if seen.exists() else -1
    seen.write_text(str(now))
    return now > before


if __name__ == "__main__":
    sys.exit(0 if worked() else 1)

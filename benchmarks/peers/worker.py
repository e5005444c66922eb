"""`python -m benchmarks.peers.worker TASK RESULT`: measures one peer in this process; both are JSON files.

A task has a `peer`, an `encoder`, a folder, and either `sets`, whose questions are answered, or `load`, which is timed
(`tasks`).
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.measures import disk_megabytes, resident_megabytes, timed, times_of
from benchmarks.peers.encoders import Encoder
from benchmarks.peers.stores import Store, opened, version_of

OWNER = "bench"


def main() -> int:
    """Measure and write the result."""
    task = json.loads(Path(sys.argv[1]).read_text())
    folder = Path(task["folder"])
    with opened(task["peer"], Encoder(task["encoder"]), folder) as store:
        if "sets" in task:
            found = {"answers": {name: answers(store, cases, task["limit"]) for name, cases in task["sets"].items()}}
        else:
            found = costs(store, task["load"], task["limit"], folder)
    Path(sys.argv[2]).write_text(json.dumps({"version": version_of(task["peer"])} | found))
    return 0


def answers(store: Store, cases: Sequence[Mapping[str, Any]], limit: int) -> list[list[list[str]]]:
    """Store the memories of all owners, then answer; returns names by case and question.

    What is hidden from a question is left out of its answer, which is as long all the same.
    """
    for case in cases:
        for name, text in case["memories"]:
            store.write(case["owner"], name, text)
    found = []
    for case in cases:
        hidden = frozenset(case["hidden"])
        of_case = []
        for question in case["questions"]:
            left_out = frozenset[str]() if question["with_hidden"] else hidden
            names = store.search(case["owner"], question["text"], limit + len(left_out))
            of_case.append([name for name in names if name not in left_out][:limit])
        found.append(of_case)
    return found


def costs(store: Store, load: Mapping[str, Any], limit: int, folder: Path) -> dict[str, Any]:
    """Time writes to an owner of many memories, and searches of these."""
    empty = disk_megabytes(folder)
    for number, text in enumerate(load["before"]):
        store.write(OWNER, f"before-{number}", text)
    core = _core_seconds(folder)
    writes = [timed(partial(store.write, OWNER, f"timed-{number}"), text) for number, text in enumerate(load["timed"])]
    core = _core_seconds(folder) - core
    recalls = [timed(lambda text: store.search(OWNER, text, limit), text) for text in load["questions"]]
    return {
        "write": asdict(times_of(writes[load["warm_up"] :])),
        "recall": asdict(times_of(recalls[load["warm_up"] :])),
        "core_ms": core * 1000 / len(writes),
        "resident_mb": resident_megabytes()[0] + sum(map(_proportional_megabytes, _servers(folder))),
        "disk_mb": disk_megabytes(folder) - empty,
    }


def _core_seconds(folder: Path) -> float:
    """Return the processor time of this process and of the servers in the folder (Linux only)."""
    stats = [Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split() for process in _servers(folder)]
    return time.process_time() + sum(int(stat[11]) + int(stat[12]) for stat in stats) / os.sysconf("SC_CLK_TCK")


def _servers(folder: Path) -> Iterator[int]:
    """Yield the processes of the PostgreSQL whose data lie in the folder."""
    for file in folder.glob("postgresql/postmaster.pid"):
        process = file.read_text().split()[0]
        yield int(process)
        yield from map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split())


def _proportional_megabytes(process: int) -> float:
    """Return the memory of a server's process, with its share of what they have in common."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


if __name__ == "__main__":
    sys.exit(main())

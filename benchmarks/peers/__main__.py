"""`make bench-peers`: what memoryhub and other memories find and cost, in one run, as a Markdown table and JSON.

Measured on the shipped sets, each half by itself, and on files that do not ship (`--also locomo:FILE`). memoryhub is
measured by `eval_recall`; peers get the same texts and questions (`tasks`) with each of two encoders. Then all of them
get one owner with `--memories` made-up memories: a write and a recall are timed one at a time, with the encoder in
them. The processor time of a write has in it whatever the background or a server does for it. Memory is that of the
process and of its servers at the end, disk what the memories added.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

from benchmarks import use_sqlite
from benchmarks.peers import BUNDLED, PEERS, STOCK
from benchmarks.peers.report import comparison

ROOT = Path(__file__).resolve().parents[2]
PEERS_PYTHON = ROOT / "var" / "bench-peers" / "bin" / "python"
SETS = ROOT / "memories" / "evaluation" / "sets"
SHIPPED = ("everyday", "persona")
HALVES = ("held", "tune")
OURS = "memoryhub"


def main() -> int:
    """Measure and print; the exit status is 1 if a peer did not run."""
    options = arguments()
    with tempfile.TemporaryDirectory(prefix="memoryhub-bench-") as folder:
        use_sqlite(folder, MEMORYHUB_JOBS="off", MEMORYHUB_MODEL="")
        import django  # noqa: PLC0415 - after the environment is set

        django.setup()
        measured: dict[str, Any] = {}
        for measured in Comparison(options, Path(folder)).measured():
            # After each row, for the whole takes long.
            if options.json:
                options.json.write_text(json.dumps(measured, indent=1) + "\n")
    sys.stdout.write("\n".join(comparison(measured)) + "\n")
    return 1 if any("error" in row for row in measured["rows"]) else 0


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--also", action="append", default=[], metavar="FORM:PATH", help="a file for eval_recall, too")
    parser.add_argument("--only", default="", help="only memories with this in their name")
    parser.add_argument("--quality", action="store_true", help="only what is found")
    parser.add_argument("--cost", action="store_true", help="only what it costs")
    parser.add_argument("--memories", type=int, default=10_000, help="of the timed owner (default: %(default)s)")
    parser.add_argument("--writes", type=int, default=300, help="timed, the last of these (default: %(default)s)")
    parser.add_argument("--questions", type=int, default=200, help="timed (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the made-up texts (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="write everything into this file")
    options = parser.parse_args()
    options.also = [tuple(each.split(":", 1)) for each in options.also]
    if not all(len(each) == 2 and Path(each[1]).exists() for each in options.also):
        parser.error("--also takes the form of eval_recall, a colon, and a file or folder that exists.")
    if options.only not in OURS and not any(options.only in peer for peer in PEERS):
        parser.error(f"--only names none of {', '.join((OURS, *PEERS))}.")
    if not PEERS_PYTHON.exists():
        parser.error("The environment of the peers is missing: `make bench-peers` makes it.")
    return options


class Comparison:
    """One run of the benchmark; what it writes lies in `folder`."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        from benchmarks.peers.tasks import load_of  # noqa: PLC0415 - after Django's set-up

        self._options, self._folder, self._count = options, folder, 0
        self._load = load_of(options.memories, options.writes, options.questions, options.seed)
        # What is read, by name, as the arguments of eval_recall; and the sets that are scored, each with its half.
        self._sources = {name: [str(SETS / name), "--format=memories"] for name in SHIPPED}
        self._sources |= {
            Path(path).stem: [str(Path(path).resolve()), f"--format={form}"] for form, path in options.also
        }
        self._sets = {f"{name}, {half}": (name, half) for name in SHIPPED for half in HALVES}
        self._sets |= {name: (name, "") for name in self._sources if name not in SHIPPED}

    def measured(self) -> Iterator[dict[str, Any]]:
        """Measure everything; yields what was measured so far, after each row."""
        measured: dict[str, Any] = {
            "measured": f"{datetime.now(UTC):%Y-%m-%d}",
            "machine": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
            "memories": self._options.memories,
            "sets": list(self._sets),
            "rows": [],
        }
        for row in chain(self._own(), self._peers()):
            measured["rows"].append(row)
            yield measured

    def _own(self) -> Iterator[dict[str, Any]]:
        from memories.management.commands.eval_recall import measure  # noqa: PLC0415 - after Django's set-up
        from memoryhub import __version__  # noqa: PLC0415

        if self._options.only not in OURS:
            return
        row: dict[str, Any] = {"memory": OURS, "version": __version__, "encoder": "its own"}
        if not self._options.cost:
            row["found"] = {
                name: json.loads(measure([*self._sources[source], *([f"--half={half}"] if half else [])]))
                for name, (source, half) in self._sets.items()
            }
        if not self._options.quality:
            row["costs"] = self._run(sys.executable, "own", {"load": self._load})
        yield row

    def _peers(self) -> Iterator[dict[str, Any]]:
        from benchmarks.peers.tasks import cases_of  # noqa: PLC0415 - after Django's set-up

        cases = {name: _cases(arguments) for name, arguments in self._sources.items()}
        given = {name: cases_of(each, number) for number, (name, each) in enumerate(cases.items())}
        for peer in (each for each in PEERS if self._options.only in each):
            for encoder in (BUNDLED, STOCK)[: 1 if self._options.cost else 2]:
                row: dict[str, Any] = {"memory": peer, "encoder": encoder}
                try:
                    yield row | self._peer(row, cases, given)
                except subprocess.CalledProcessError as error:
                    yield row | {"error": str(error.stderr).strip().splitlines()[-1]}

    def _peer(self, row: Mapping[str, Any], cases: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
        """Measure a peer with one encoder. Both encoders are one architecture, so only the first is timed."""
        from benchmarks.peers.tasks import scores_of  # noqa: PLC0415 - after Django's set-up

        task = {"peer": row["memory"], "encoder": row["encoder"]}
        measured: dict[str, Any] = {}
        if not self._options.cost:
            answered = self._run(PEERS_PYTHON, "worker", task | {"sets": given})
            measured["version"] = answered["version"]
            measured["found"] = {
                name: scores_of(cases[source], answered["answers"][source], half)
                for name, (source, half) in self._sets.items()
            }
        if not self._options.quality and row["encoder"] == BUNDLED:
            measured["costs"] = self._run(PEERS_PYTHON, "worker", task | {"load": self._load})
            measured["version"] = measured["costs"].pop("version")
        return measured

    def _run(self, python: str | Path, module: str, task: Mapping[str, Any]) -> dict[str, Any]:
        from benchmarks.peers.tasks import LIMIT  # noqa: PLC0415 - after Django's set-up

        self._count += 1
        folder = self._folder / f"{module}-{self._count}"
        data, asked, found = folder / "data", folder / "task.json", folder / "result.json"
        data.mkdir(parents=True)
        asked.write_text(json.dumps({**task, "limit": LIMIT, "folder": str(data)}))
        sys.stderr.write(f"{task.get('peer', OURS)}, {'costs' if 'load' in task else task['encoder']}\n")
        subprocess.run(  # noqa: S603 - our own words
            [python, "-m", f"benchmarks.peers.{module}", asked, found],
            cwd=ROOT,
            env={**os.environ, "MEMORYHUB_DATA_DIR": str(data), "OMP_NUM_THREADS": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=True,
        )
        result: dict[str, Any] = json.loads(found.read_text())
        return result


def _cases(arguments: Sequence[str]) -> Any:
    from memories.evaluation.cases import Form  # noqa: PLC0415 - after Django's set-up
    from memories.management.commands.eval_recall import read  # noqa: PLC0415

    path, form = arguments
    return read(Path(path), Form(form.removeprefix("--format=")), None)


if __name__ == "__main__":
    sys.exit(main())

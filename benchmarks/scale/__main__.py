"""`make bench-scale`: how each cost grows.

Memories: one owner with 1,000 and ten times as many again, up to `--most`. Owners: 1 and ten times as many again, up to
`--owners`, of `--each` memories. Clients: 1 and twice as many again, up to `--clients`, which recall by HTTP from one
owner of `--memories`. Each point has a process and an empty site of its own. Measured on SQLite and the embedded search
plane; with `--servers` on PostgreSQL and Elasticsearch as well, with `--nodes 3` on three nodes.
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
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import use_sqlite

ROOT = Path(__file__).resolve().parents[2]
DRAWING_PYTHON = ROOT / "var" / "bench-peers" / "bin" / "python"
KINDS = ("memories", "owners", "clients")
FEWEST = 1_000
HEAP = "1g"
_QUIET = {"MEMORYHUB_JOBS": "off", "MEMORYHUB_BROKER_URL": "", "MEMORYHUB_MODEL": "", "MEMORYHUB_LIMITS": "off"}


def main() -> int:
    """Measure, print tables, write JSON and plots; or measure one point and print it as JSON."""
    options = arguments()
    if options.point:
        with site(options) as folder:
            from benchmarks.scale.points import KINDS as MEASURES  # noqa: PLC0415 - it sets up Django

            found = MEASURES[options.kind](json.loads(options.point), options, folder)
        sys.stdout.write(json.dumps(found) + "\n")
        return 0
    planes = {"embedded": curves(options, [])}
    if options.servers:
        with nodes(options) as given:
            planes["elasticsearch"] = curves(options, ["--servers"], given)
    measured = {
        "measured": f"{datetime.now(UTC):%Y-%m-%d}",
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
        "each": options.each,
        "memories": options.memories,
        "nodes": options.nodes,
        "planes": planes,
    }
    if options.json:
        options.json.write_text(json.dumps(measured, indent=1) + "\n")
    for plane, found in planes.items():
        for kind, points in found.items():
            Console(width=160).print(table_of(f"{plane}, by {kind}; milliseconds and MB", points))
    if options.plots and options.json:
        command = [DRAWING_PYTHON, "-m", "benchmarks.scale.plots", options.json, options.plots]
        return subprocess.run(command, cwd=ROOT, check=False).returncode  # noqa: S603 - our own words
    return 0


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kind", choices=KINDS, help="only this curve")
    parser.add_argument("--most", type=int, default=100_000, help="memories of one owner (default: %(default)s)")
    parser.add_argument("--owners", type=int, default=1_000, help="at most (default: %(default)s)")
    parser.add_argument("--each", type=int, default=20, help="memories of each owner (default: %(default)s)")
    parser.add_argument("--clients", type=int, default=16, help="at once, at most (default: %(default)s)")
    parser.add_argument("--memories", type=int, default=10_000, help="of the clients' owner (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=10.0, help="for each number of clients (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=1, help="web processes for the clients (default: %(default)s)")
    parser.add_argument("--queries", type=int, default=200, help="recalls to time (default: %(default)s)")
    parser.add_argument("--writes", type=int, default=100, help="writes to time (default: %(default)s)")
    parser.add_argument("--servers", action="store_true", help="on PostgreSQL and Elasticsearch as well")
    parser.add_argument("--nodes", type=int, choices=(1, 3), default=1, help="of Elasticsearch (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the made-up texts (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="write everything into this file")
    parser.add_argument("--plots", type=Path, help="draw the curves as SVG into this folder; needs --json")
    parser.add_argument("--point", help=argparse.SUPPRESS)
    return parser.parse_args()


def curves(
    options: argparse.Namespace, more: Sequence[str], environ: Mapping[str, str] | None = None
) -> dict[str, list[dict[str, Any]]]:
    """Measure the points of each curve."""
    sizes: dict[str, list[Any]] = {
        "memories": tens(FEWEST, options.most),
        "owners": tens(1, options.owners),
        "clients": [[2**power for power in range(options.clients.bit_length())]],
    }
    names = ("each", "memories", "seconds", "workers", "queries", "writes", "seed")
    passed = [f"--{name}={getattr(options, name)}" for name in names]
    found: dict[str, list[dict[str, Any]]] = {}
    for kind in [options.kind] if options.kind else KINDS:
        found[kind] = []
        for point in sizes[kind]:
            sys.stderr.write(f"{kind}: {point}\n")
            command = [sys.executable, "-m", "benchmarks.scale", f"--kind={kind}", f"--point={json.dumps(point)}"]
            finished = subprocess.run(  # noqa: S603 - our own words
                [*command, *passed, *more],
                cwd=ROOT,
                env={**os.environ, **(environ or {})},
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            measured = json.loads(finished.stdout)
            found[kind] += measured if isinstance(measured, list) else [measured]
    return found


def tens(first: int, most: int) -> list[int]:
    """Return `first` and ten times as many again, up to `most`."""
    return [first * 10**power for power in range(9) if first * 10**power <= most]


@contextmanager
def site(options: argparse.Namespace) -> Iterator[Path]:
    """Let this process use an empty site; gives its folder."""
    with tempfile.TemporaryDirectory(prefix="memoryhub-bench-") as folder:
        if not options.servers:
            use_sqlite(folder, **_QUIET)
            yield Path(folder)
            return
        from benchmarks.servers import servers  # noqa: PLC0415 - only this site needs it

        with servers(folder, HEAP) as parts:
            os.environ.update(parts.environ | _QUIET)
            import django  # noqa: PLC0415 - after the environment is set

            django.setup()
            from memoryhub.elasticsearch import Identity  # noqa: PLC0415 - likewise
            from tests.cluster import Cluster, set_up, tear_down  # noqa: PLC0415 - likewise

            words = {Identity[name]: word for name, word in parts.passwords.items()}
            cluster = Cluster(parts.node, parts.prefix, words)
            set_up(cluster)
            try:
                yield Path(folder)
            finally:
                tear_down(cluster)


@contextmanager
def nodes(options: argparse.Namespace) -> Iterator[dict[str, str]]:
    """Start Elasticsearch for all points, unless the environment names one; gives what names it."""
    from tests.elasticsearch_node.cluster import ClusterOfThree  # noqa: PLC0415 - only with --servers
    from tests.elasticsearch_node.node import Node  # noqa: PLC0415 - likewise

    if os.environ.get("ELASTICSEARCH_URL"):
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="memoryhub-bench-nodes-") as folder:
        started: Node | ClusterOfThree
        if options.nodes == 1:
            started = Node(Path(folder) / "node")
            address = started.start(heap=HEAP, live_as_long_as=os.getpid())
        else:
            started = ClusterOfThree(Path(folder))
            address = started.start(live_as_long_as=os.getpid())[0]
        try:
            yield {"ELASTICSEARCH_URL": address.url, "ELASTICSEARCH_SETUP": address.credential}
        finally:
            started.stop()


def table_of(title: str, points: Sequence[Mapping[str, Any]]) -> Table:
    """Return the points of a curve as a table; times are p50 / p95."""
    table = Table(title=title)
    for name in points[0]:
        table.add_column(name.replace("_", " "), justify="right")
    for point in points:
        cells = (
            f"{value['p50']:.1f} / {value['p95']:.1f}" if isinstance(value, dict) else f"{value:,.0f}"
            for value in point.values()
        )
        table.add_row(*cells)
    return table


if __name__ == "__main__":
    sys.exit(main())

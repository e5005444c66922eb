"""`make bench`: recall, writes, indexing and keys, each beside its floor in the same run.

The floor is the least work that the operation needs. The first part measures one owner on the embedded search plane:
the floor of a recall is one FTS5 query and one matrix product, that of a write one insert and one durable commit. Then
come the collection of expired facts and the hygiene scan, beside the bare reads and writes they make, the pages of the
admin, and journeys through pages in a browser, beside what they took before. The part `texts` has a limit instead of a
floor: what the worst texts may cost each detector, gate and rule. The last part measures many members on a real
Elasticsearch, where the floor is the bare request. It uses the node in ELASTICSEARCH_URL and ELASTICSEARCH_SETUP, or
starts one (tests/elasticsearch_node). All data is temporary.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable

import django

from benchmarks import use_sqlite

PARTS = ("texts", "embedded", "collection", "hygiene", "staff", "journeys", "elasticsearch")
# The defaults of --large: 500,000 memories of 1,000 members, and the node's heap.
LARGE_MEMBERS, LARGE_HEAP = 1_000, "2g"


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", choices=PARTS, help="only this part")
    parser.add_argument("--memories", type=int, default=10_000, help="memories of the owner (default: %(default)s)")
    parser.add_argument("--queries", type=int, default=300, help="recalls to time (default: %(default)s)")
    parser.add_argument("--clients", type=int, default=16, help="recalls at once (default: %(default)s)")
    parser.add_argument(
        "--processes", type=int, default=os.cpu_count(), help="that answer them (default: one for each core)"
    )
    parser.add_argument("--writes", type=int, default=200, help="writes of each kind to time (default: %(default)s)")
    parser.add_argument("--members", type=int, default=20, help="members on Elasticsearch (default: %(default)s)")
    parser.add_argument("--each", type=int, default=500, help="memories of each member (default: %(default)s)")
    parser.add_argument("--scanned", type=int, default=100_000, help="memories to scan (default: %(default)s)")
    parser.add_argument("--units", type=int, default=0, help="further units of hostile texts, drawn by the seed")
    parser.add_argument("--only", default="", help="of the part texts, only functions with this in their name")
    parser.add_argument("--large", action="store_true", help=f"{LARGE_MEMBERS:,} members (takes half an hour)")
    parser.add_argument("--heap", default="", help="memory of the node that is started")
    parser.add_argument("--seed", type=int, default=1, help="of the made-up texts (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON, an object for each part")
    options = parser.parse_args()
    if options.large:
        options.members = max(options.members, LARGE_MEMBERS)
        options.heap = options.heap or LARGE_HEAP
    return options


def main() -> int:
    """Measure each part in its own process; returns the exit status."""
    options = arguments()
    if options.part is None:
        command = [sys.executable, "-m", "benchmarks", *sys.argv[1:]]
        return max(subprocess.run([*command, "--part", part], check=False).returncode for part in PARTS)  # noqa: S603 - our own arguments
    with tempfile.TemporaryDirectory(prefix="memoryhub-bench-") as folder:
        parts: dict[str, Callable[[argparse.Namespace, str], int | None]] = {
            "texts": texts,
            "embedded": embedded,
            "collection": collection,
            "hygiene": hygiene,
            "staff": staff,
            "journeys": journeys,
            "elasticsearch": elasticsearch,
        }
        return parts[options.part](options, folder) or 0


def texts(options: argparse.Namespace, folder: str) -> int:
    """The worst texts for each detector, gate and rule; the exit status is 1 if one costs too much."""
    use_sqlite(folder)
    from benchmarks.hostile import run  # noqa: PLC0415 - the import sets up Django with the environment above

    return run(options)


def embedded(options: argparse.Namespace, folder: str) -> None:
    """One owner, on SQLite and the embedded search plane."""
    use_sqlite(folder)
    from benchmarks.run import run  # noqa: PLC0415 - the import sets up Django with the environment above

    run(options, folder)


def collection(options: argparse.Namespace, folder: str) -> None:
    """One owner whose facts have all expired, on SQLite."""
    use_sqlite(folder)
    from benchmarks.collecting import run  # noqa: PLC0415 - the import sets up Django with the environment above

    run(options, folder)


def hygiene(options: argparse.Namespace, folder: str) -> None:
    """The daily hygiene scan over many owners, on SQLite."""
    use_sqlite(folder)
    from benchmarks.hygiene import run  # noqa: PLC0415 - the import sets up Django with the environment above

    run(options, folder)


def staff(options: argparse.Namespace, folder: str) -> None:
    """The pages of the admin, on SQLite."""
    use_sqlite(folder)
    from benchmarks.staff import run  # noqa: PLC0415 - the import sets up Django with the environment above

    run(options, folder)


def journeys(options: argparse.Namespace, folder: str) -> int:
    """What people do most, in Chromium; the exit status is 1 if a task takes more presses than it did before."""
    use_sqlite(folder, MEMORYHUB_JOBS="off", DJANGO_ALLOW_ASYNC_UNSAFE="true")
    from benchmarks.journeys import run  # noqa: PLC0415 - the import sets up Django with the environment above

    return run(options, folder)


def elasticsearch(options: argparse.Namespace, folder: str) -> None:
    """Many members, on PostgreSQL and Elasticsearch; skipped with a message if there is no node."""
    from benchmarks.servers import HEAP, Unavailable, servers  # noqa: PLC0415 - only this part needs it

    try:
        with servers(folder, options.heap or HEAP) as parts:
            os.environ.update(parts.environ)
            django.setup()
            from benchmarks.cluster import run  # noqa: PLC0415 - it needs Django

            run(options, parts)
    except Unavailable as error:
        sys.stderr.write(f"Skipped what needs Elasticsearch. {error}\n")


if __name__ == "__main__":
    sys.exit(main())

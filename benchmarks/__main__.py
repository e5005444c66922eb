"""`make bench`: recall and writes of one owner, beside the bare floor of the same run.

Everything happens in a throwaway folder. The floor is what the machine cannot do without: for a recall one FTS5 query
and one matrix product, for a write one insert and one durable commit.
"""

from __future__ import annotations

import argparse
import os
import tempfile


def arguments() -> argparse.Namespace:
    """What to measure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--memories", type=int, default=10_000, help="memories of the owner (default: %(default)s)")
    parser.add_argument("--queries", type=int, default=300, help="recalls to time (default: %(default)s)")
    parser.add_argument("--writes", type=int, default=200, help="writes of each kind to time (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the made-up texts (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser.parse_args()


def main() -> None:
    """Set up a throwaway site, then measure it."""
    options = arguments()
    with tempfile.TemporaryDirectory(prefix="memoryhub-bench-") as folder:
        os.environ.update(
            DJANGO_SETTINGS_MODULE="memoryhub.settings",
            MEMORYHUB_ENV="development",
            MEMORYHUB_DATA_DIR=folder,
            MEMORYHUB_INDEX_DIR="",
            DATABASE_URL="",
        )
        from benchmarks.run import run  # noqa: PLC0415 - Django reads its settings on the way in

        run(options, folder)


if __name__ == "__main__":
    main()

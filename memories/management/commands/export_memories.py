"""`manage.py export_memories`: write a member's memories as JSON lines that import_memories can read."""

from __future__ import annotations

import os
import tempfile
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TextIO

from memories.importing.records import record_line
from memories.management.member_command import MemberCommand, name_member, progress
from memories.services.portability.imports import Advance
from memories.services.portability.memories_export import Records, count_for_export, export_memories
from tenants.principal import Principal


class Command(MemberCommand):
    """Exports this member's episodes, facts with their chains, playbooks and items to a file or standard output."""

    help = "Export the memories and items of a member as JSON lines."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, nargs="?", help="where to write (default: standard output)")
        name_member(parser)
        parser.add_argument("--catalog", action="store_true", help="with the catalog that the tenant shares")

    def run(self, principal: Principal, options: Mapping[str, Any]) -> None:
        path: Path | None = options["file"]
        with closing(export_memories(principal, catalog=options["catalog"])) as records:
            if path is None:
                self._print(records)
                return
            with progress("Exporting", count_for_export(principal, catalog=options["catalog"])) as advance:
                count = write(records, path, advance)
        self.stderr.write(f"Exported {count:,} memories and items to {path}.")

    def _print(self, records: Records) -> None:
        """Write to standard output; manage.py handles a reader that closes the pipe early."""
        for record in records:
            self.stdout.write(record_line(record))
        self.stdout.flush()


def write(records: Records, path: Path, advance: Advance) -> int:
    """Write `records` to a file; return their number."""
    count = 0
    try:
        with replacing(path) as file:
            for record in records:
                file.write(f"{record_line(record)}\n")
                advance(1)
                count += 1
    except OSError as error:
        # The original error names the temporary file or none.
        raise type(error)(error.errno, error.strerror, str(path)) from error
    return count


@contextmanager
def replacing(path: Path) -> Iterator[TextIO]:
    """Open a temporary file, readable only by its owner, that replaces `path` once it is complete.

    A link at `path` is kept. A pipe or device is written to directly, because replacing /dev/stdout would break it for
    everybody.
    """
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8") as file:
            yield file
        return
    place = path.resolve()
    handle, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.")
    unfinished = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            yield file
        unfinished.replace(place)
    finally:
        unfinished.unlink(missing_ok=True)

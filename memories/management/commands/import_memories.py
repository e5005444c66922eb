"""`manage.py import_memories`: import memories from another product or an export for a member."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memories.importing import parse_memories
from memories.importing.conversations import read_lines
from memories.management.member_command import MemberCommand, counts, progress, remarks, warm_index
from memories.services.portability.memories_import import import_memories
from memories.types import Kind
from tenants.principal import Principal

_NOUNS = {
    Kind.EPISODIC: "episodes",
    Kind.SEMANTIC: "facts",
    Kind.PROCEDURAL: "playbooks",
    Kind.CATALOG: "catalog entries",
}


class Command(MemberCommand):
    """Imports all storable records or none; repeating it adds nothing. Catalog entries go to the member's tenant."""

    help = "Import memories from JSON lines, such as export_memories writes."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="JSON lines: a memory each")
        super().add_arguments(parser)

    def run(self, principal: Principal, options: Mapping[str, Any]) -> None:
        records = parse_memories(read_lines(options["file"]))
        with progress("Importing", len(records)) as advance:
            report = import_memories(principal, records, advance=advance)
        shared = bool(report.added.get(Kind.CATALOG))
        waiting = warm_index(principal, report.total_added, shared=shared)
        added = {noun: report.added.get(kind, 0) for kind, noun in _NOUNS.items()}
        blocked = [{"place": each.place, "kinds": each.kinds} for each in report.left_out]
        numbers = {noun.replace(" ", "_"): count for noun, count in added.items()} | counts(report, waiting)
        self.answer(
            options,
            numbers | {"sessions": report.sessions, "merged": report.merged, "blocked": blocked},
            f"Imported {', '.join(f'{count:,} {noun}' for noun, count in added.items())}.{remarks(report, waiting)}",
        )

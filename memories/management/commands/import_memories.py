"""`manage.py import_memories`: bring memories from elsewhere, or from an export, to a member."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memories.importing import parse_memories
from memories.importing.conversations import read_lines
from memories.management.member_command import MemberCommand, progress, remarks, warm_index
from memories.services.portability.imports import ImportReport
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
    """All that may be stored, or nothing; the same file again adds nothing. The catalog goes to the member's tenant."""

    help = "Import memories from JSON lines, such as export_memories writes."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="JSON lines: a memory each")
        super().add_arguments(parser)
        parser.add_argument("--json", action="store_true", help="print the numbers as JSON")

    def run(self, principal: Principal, options: Mapping[str, Any]) -> None:
        records = parse_memories(read_lines(options["file"]))
        with progress("Importing", len(records)) as advance:
            report = import_memories(principal, records, advance=advance)
        shared = bool(report.added.get(Kind.CATALOG))
        waiting = warm_index(principal, report.total_added, shared=shared)
        self.answer(options, numbers_of(report, waiting), sentence_of(report, waiting))


def numbers_of(report: ImportReport, waiting: int) -> dict[str, object]:
    """The report for machines."""
    added = {noun.replace(" ", "_"): report.added.get(kind, 0) for kind, noun in _NOUNS.items()}
    return {
        **added,
        "sessions": report.sessions,
        "merged": report.merged,
        "known": report.known,
        "forgotten": report.forgotten,
        "masked": report.masked,
        "blocked": [{"place": each.place, "kinds": list(each.kinds)} for each in report.left_out],
        "waiting_for_index": waiting,
    }


def sentence_of(report: ImportReport, waiting: int) -> str:
    """The report for people."""
    added = ", ".join(f"{report.added.get(kind, 0):,} {noun}" for kind, noun in _NOUNS.items())
    return f"Imported {added}.{remarks(report, waiting)}"

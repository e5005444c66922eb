"""`manage.py import_memories`: import an export, of memoryhub or another product, for a member."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memories.importing.formats import ExportFormat, read_export
from memories.importing.peers import RefusedEntry
from memories.management.member_command import MOST_PLACES, MemberCommand, counts, progress, remarks, warm_index
from memories.services.portability.exports_import import Imported, import_export, size_of
from memories.types import Kind
from tenants.principal import Principal

_NOUNS = {
    Kind.EPISODIC: "episodes",
    Kind.SEMANTIC: "facts",
    Kind.PROCEDURAL: "playbooks",
    Kind.CATALOG: "catalog entries",
    Kind.ITEM: "items",
}


class Command(MemberCommand):
    """Imports memories and conversations; repeating it adds nothing. Catalog entries go to the member's tenant."""

    help = "Import an export: JSON lines, such as export_memories writes, or that of another product."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="what to import")
        super().add_arguments(parser)
        parser.add_argument(
            "--format",
            choices=["auto", *ExportFormat],
            default=ExportFormat.MEMORYHUB.value,
            help="whose export it is (default: %(default)s, a JSON line for each memory)",
        )
        parser.add_argument("--source-user", default="", help="of a file with several users: whose entries to take")
        parser.add_argument("--dry-run", action="store_true", help="store nothing; say what would come")

    def run(self, principal: Principal, options: Mapping[str, Any]) -> None:
        wanted = None if options["format"] == "auto" else ExportFormat(options["format"])
        form, export = read_export(options["file"], wanted, options["source_user"])
        with progress("Importing", size_of(export)) as advance:
            done = import_export(principal, form, export, dry_run=options["dry_run"], advance=advance)
        report = done.report
        shared = bool(report.added.get(Kind.CATALOG))
        waiting = 0 if options["dry_run"] else warm_index(principal, report.total_added, shared=shared)
        added = {noun: report.added.get(kind, 0) for kind, noun in _NOUNS.items()}
        blocked = [{"place": each.place, "kinds": each.kinds} for each in report.left_out]
        numbers = {noun.replace(" ", "_"): count for noun, count in added.items()} | counts(report, waiting)
        self.answer(
            options,
            numbers
            | {"sessions": report.sessions, "merged": report.merged, "blocked": blocked}
            | {"refused": [{"place": each.place, "reason": each.reason} for each in refused(done)]},
            f"{'Would import' if options['dry_run'] else 'Imported'}"
            f" {', '.join(f'{count:,} {noun}' for noun, count in added.items())}.{remarks(report, waiting)}",
            *(f"Refused: {each.place} {each.reason}" for each in refused(done)[:MOST_PLACES]),
            *(f"For example: {text}" for _, text in done.examples),
        )


def refused(done: Imported) -> list[RefusedEntry]:
    """The entries that were refused for another reason than a sensitive value, which the remarks list."""
    blocked = {each.place for each in done.report.left_out}
    return [each for each in done.refused if each.place not in blocked]

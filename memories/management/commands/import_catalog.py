"""`manage.py import_catalog`: keep a tenant's catalog in step with a folder of documents."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from memories.management.member_command import MOST_PLACES, MemberCommand, progress, warm_index
from memories.services.catalog_folders import documents_in, import_folder
from tenants.principal import Principal


class Command(MemberCommand):
    """Imports Markdown, HTML, PDF and JSON lines; repeating it changes only what changed in the folder."""

    help = "Bring the catalog of a member's tenant in step with a folder of Markdown, HTML, PDF and JSON lines."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="folder of documents")
        super().add_arguments(parser)
        parser.add_argument("--name", default="", help="its name in the catalog (default: the folder's own)")
        parser.add_argument("--base-url", default="", help="address below which the files are, for links to them")

    def run(self, principal: Principal, options: Mapping[str, Any]) -> None:
        folder: Path = options["folder"]
        name = options["name"] or folder.resolve().name
        with progress("Reading", len(documents_in(folder))) as advance:
            report = import_folder(principal, folder, name=name, base_url=options["base_url"], advance=advance)
        waiting = warm_index(principal, report.added, shared=True)
        self.answer(
            options,
            asdict(report) | {"waiting_for_index": waiting},
            f"{report.files:,} documents: {report.added:,} entries added, {report.retired:,} retired,"
            f" {report.unchanged:,} unchanged.",
            *(f"Not stored: {place} {reason}" for place, reason in [*report.refused.items()][:MOST_PLACES]),
        )

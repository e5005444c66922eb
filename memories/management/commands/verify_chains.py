"""`manage.py verify_chains`: check every supersession chain of every owner; exit code 1 if one is broken."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from memories.selectors.chains import verify_chains


class Command(BaseCommand):
    """Prints ids and what is wrong, never a text."""

    help = "Check that what replaced what is whole: links, times, audit, no cycles."
    requires_migrations_checks = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print the report as JSON")

    def handle(self, **options: Any) -> None:
        report = verify_chains()
        faults = [
            {"kind": fault.kind.value, "id": str(fault.memory_id), "problem": fault.problem} for fault in report.faults
        ]
        if options["json"]:
            self.stdout.write(
                json.dumps({"ok": report.ok, "rows": report.rows, "links": report.links, "faults": faults})
            )
        else:
            for fault in faults:
                self.stdout.write(self.style.ERROR(f"{fault['kind']} {fault['id']} {fault['problem']}."))
            verdict = "All chains are whole" if report.ok else f"{len(faults)} faults"
            self.stdout.write(f"{verdict}: {report.rows} facts and playbooks, {report.links} links.")
        if not report.ok:
            sys.exit(1)

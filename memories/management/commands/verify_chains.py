"""`manage.py verify_chains`: check every supersession chain of every owner; exit code 1 if one is broken."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from memories.presenting.lines import SECTIONS
from memories.selectors.history.chains import ChainFault, ChainsReport, verify_chains
from memories.selectors.history.rows import EventPlace


class Command(BaseCommand):
    """Prints ids and faults, never a text: each fault with its audit event."""

    help = "Check that what replaced what is whole: links, times, audit, no cycles."
    requires_migrations_checks = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print the report as JSON")

    def handle(self, **options: Any) -> None:
        report = verify_chains()
        if options["json"]:
            self.stdout.write(json.dumps(_plain(report)))
        else:
            for fault in report.faults:
                told = f" (event {fault.event.sequence}, id {fault.event.id})" if fault.event else ""
                self.stdout.write(self.style.ERROR(f"{SECTIONS[fault.kind].noun} {_row(fault)} {fault.problem}{told}."))
            for event in report.first_bad:
                self.stdout.write(f"{event.chain}: first bad event {event.sequence} (id {event.id}).")
            count = len(report.faults)
            verdict = "All chains are whole" if report.ok else f"{count} fault{'s' if count > 1 else ''}"
            self.stdout.write(f"{verdict}: {report.rows} facts and playbooks, {report.links} links.")
        if not report.ok:
            sys.exit(1)


def _row(fault: ChainFault) -> str:
    return str(fault.memory_id or "without an id")


def _plain(report: ChainsReport) -> dict[str, Any]:
    return {
        "ok": report.ok,
        "rows": report.rows,
        "links": report.links,
        "faults": [
            {
                "kind": fault.kind.value,
                "id": str(fault.memory_id) if fault.memory_id else None,
                "problem": fault.problem,
                "event": _named(fault.event) if fault.event else None,
            }
            for fault in report.faults
        ],
        "first_bad": [_named(event) for event in report.first_bad],
    }


def _named(event: EventPlace) -> dict[str, Any]:
    return {"chain": event.chain, "sequence": event.sequence, "id": str(event.id)}

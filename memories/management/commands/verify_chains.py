"""`manage.py verify_chains`: check every supersession chain of every owner; exit code 1 if one is broken."""

from __future__ import annotations

import sys
from typing import Any

from memories.management.member_command import ReportCommand
from memories.presenting.lines import SECTIONS
from memories.selectors.history.chains import ChainFault, verify_chains
from memories.types import Kind


class Command(ReportCommand):
    """Prints ids and faults, each with its audit event; never a text."""

    help = "Check that what replaced what is whole: links, times, audit, no cycles."

    def report(self, options: dict[str, Any]) -> None:
        report = verify_chains()
        faults = [
            {"kind": each.kind, "id": each.memory_id, "problem": each.problem, "event": each.event}
            for each in report.faults
        ]
        numbers = {"ok": report.ok, "rows": report.rows, "links": report.links}
        count = len(report.faults)
        verdict = "All chains are whole" if report.ok else f"{count} fault{'s' if count > 1 else ''}"
        self.answer(
            options,
            numbers | {"faults": faults, "first_bad": report.first_bad},
            *map(_sentence, report.faults),
            *(f"{each.chain}: first bad event {each.sequence} (id {each.id})." for each in report.first_bad),
            f"{verdict}: {report.rows} facts and playbooks, {report.links} links.",
        )
        if not report.ok:
            sys.exit(1)


def _sentence(fault: ChainFault) -> str:
    event = f" (event {fault.event.sequence}, id {fault.event.id})" if fault.event else ""
    noun = "item" if fault.kind is Kind.ITEM else SECTIONS[fault.kind].noun
    return f"{noun} {fault.memory_id or 'without an id'} {fault.problem}{event}."

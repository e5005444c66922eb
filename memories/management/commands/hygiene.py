"""`manage.py hygiene`: scan the memories now (`scan`), or report their state (`report`)."""

from __future__ import annotations

import signal
import threading
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError

from memories.management.member_command import ReportCommand, progress
from memories.models import HygieneState
from memories.selectors.retention import BINS, Report, hygiene_report
from memories.services.retention.hygiene_run import Scanned, count_memories, hygiene_scan
from memoryhub.db.advisory_lock import LockTaken
from tenants.selectors import find_tenant

# The exit code that a shell reports for a process ended by SIGINT.
INTERRUPTED = 130
_SAID = {
    "owners": "owners",
    "facts": "facts",
    "playbooks": "how-tos",
    "contradictions": "contradictions",
    "resolved": "resolved",
    "opened": "put before a person",
    "stale": "became stale",
    "fresh": "are no longer stale",
    "proposed": "proposed to go",
    "junk": "with junk",
    "sensitive": "with what is not stored",
    "failed": "owners failed",
}


class Command(ReportCommand):
    """Prints numbers, never a text. An interrupted scan finishes its page, and the next scan continues there."""

    help = "Scan memories for what is stale, contradicted or should not be stored; or report how they stand."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=("scan", "report"), help="scan the memories, or say how they stand")
        parser.add_argument("--tenant", help="slug or id of a tenant: its members' memories, and what it shares")
        parser.add_argument("--dry-run", action="store_true", help="count what a scan would do, and change nothing")
        super().add_arguments(parser)

    def report(self, options: dict[str, Any]) -> None:
        if options["dry_run"] and options["action"] != "scan":
            raise CommandError("--dry-run is for a scan; a report changes nothing anyway.")
        tenant_id = find_tenant(options["tenant"]).id if options["tenant"] is not None else None
        if options["action"] == "report":
            report = hygiene_report(tenant_id)
            self.answer(options, _report_as_json(report), *_lines(report))
        else:
            self._scan(tenant_id, options)

    def _scan(self, tenant_id: UUID | None, options: dict[str, Any]) -> None:
        apply, total = not options["dry_run"], count_memories(tenant_id)
        try:
            with progress("Scanning" if apply else "Looking", total) as advance, _stopped_by_signals() as stopped:
                scanned = hygiene_scan(apply=apply, tenant_id=tenant_id, advance=advance, stop=stopped.is_set)
        except LockTaken as error:
            raise CommandError("Another scan is under way. Wait for it to end.") from error
        numbers = {("run" if name == "run_id" else name): getattr(scanned, name) for name in scanned.__slots__}
        self.answer(options, numbers, _sentence(scanned))
        if scanned.state is HygieneState.INTERRUPTED:
            raise SystemExit(INTERRUPTED)
        if scanned.counts["failed"]:
            raise CommandError(f"{scanned.counts['failed']} owners could not be scanned; the log says why.")


@contextmanager
def _stopped_by_signals() -> Iterator[threading.Event]:
    """Yield an event that is set on SIGINT or SIGTERM and checked after each page."""
    stopped = threading.Event()
    wanted = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda *_: stopped.set()) for number in wanted}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _sentence(scanned: Scanned) -> str:
    did = ", ".join(f"{count:,} {_SAID[name]}" for name, count in scanned.counts.items() if count)
    begin = {True: "Scanned", False: "A scan would count"}[scanned.applied]
    went_on = " It went on with one that was interrupted." if scanned.went_on else ""
    left = " Interrupted; the next scan goes on here." if scanned.state is HygieneState.INTERRUPTED else ""
    return f"{begin}: {did or 'nothing'}.{went_on}{left}"


_OF_A_RUN = ("state", "started_at", "finished_at", "counts", "error")


def _report_as_json(report: Report) -> dict[str, object]:
    run = report.last_run
    return {
        "facts": report.facts,
        "playbooks": report.playbooks,
        "staleness": {"scored": report.scored, "p50": report.p50, "p95": report.p95, "tenths": report.staleness},
        "reviews": [{"kind": each.kind, "open": each.count, "oldest": each.oldest} for each in report.reviews],
        "junk": report.junk,
        "sensitivity": report.sensitivity,
        "last_day": report.refused,
        "last_run": {"id": run.pk} | {name: getattr(run, name) for name in _OF_A_RUN} if run else None,
    }


def _lines(report: Report) -> Iterator[str]:
    for name, counts in (("Facts", report.facts), ("How-tos", report.playbooks)):
        yield f"{name}: {', '.join(f'{count:,} {status}' for status, count in counts.items() if count) or 'none'}."
    if report.scored:
        yield f"Staleness of {report.scored:,} facts: half at most {report.p50:.2f}, 95 % at most {report.p95:.2f}."
        width = max(report.staleness)
        for place, count in enumerate(report.staleness):
            yield f"  {place / BINS:.1f} {'#' * round(40 * count / width)} {count:,}".rstrip()
    else:
        yield "No fact was scanned yet."
    for each in report.reviews:
        since = f", the oldest since {each.oldest:%d %b %Y}" if each.oldest else ""
        yield f"Open reviews, {each.kind.value}: {each.count:,}{since}."
    yield f"Proposed to go for what they hold: {report.junk:,}."
    for kind, handled in report.sensitivity.items():
        told = ", ".join(
            f"{count:,} {'masked' if handling == 'mask' else 'flagged'}" for handling, count in handled.items()
        )
        yield f"Memories with {kind.replace('_', ' ')}: {told}."
    yield f"Writes of the last day: {report.refused['blocked']:,} refused, {report.refused['masked']:,} masked."
    run = report.last_run
    yield (
        f"Last scan: {run.started_at:%d %b %Y %H:%M} UTC, {run.state}. {run.error}".rstrip() if run else "No scan yet."
    )

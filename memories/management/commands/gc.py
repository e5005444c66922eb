"""`manage.py gc`: say (`--dry-run`) or do (`--apply`) what the daily collection does: evict, archive, doubt, erase."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from memories.management.member_command import progress, sentences
from memories.services.retention.collection import Collected, CollectionReport, collect
from memoryhub.db.advisory_lock import LockTaken
from tenants.selectors import find_tenant


class Command(BaseCommand):
    """Prints ids, whose they are, and why; never a text. A dry run and a real one name the same."""

    help = "Collect memories whose time is over, owner by owner; everything but an erasure can be undone."
    requires_migrations_checks = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--dry-run", action="store_true", help="say what would be done, and change nothing")
        what.add_argument("--apply", action="store_true", help="do it")
        parser.add_argument("--tenant", help="slug or id of a tenant: its members' memories, and what it shares")
        parser.add_argument("--json", action="store_true", help="print the report as JSON")

    def handle(self, **options: Any) -> None:
        with sentences():
            tenant_id = find_tenant(options["tenant"]).id if options["tenant"] is not None else None
            report = self._collected(tenant_id, apply=options["apply"])
        if options["json"]:
            self.stdout.write(json.dumps(_as_json(report)))
        else:
            self._tell(report)
        if report.failed:
            raise CommandError(f"{len(report.failed)} owners could not be collected; the log says why. Run it again.")

    def _tell(self, report: CollectionReport) -> None:
        will = "" if report.applied else "would be "
        for each in report.decisions:
            self.stdout.write(f"{each.kind} {each.memory_id} of {_whose(each)}: {will}{each.ending}, {each.cause}.")
        for (ending, cause), count in sorted(report.counts.items()):
            self.stdout.write(f"{count:,} {will}{ending}: {cause}.")
        if not report.decisions:
            self.stdout.write("Nothing is due.")

    def _collected(self, tenant_id: UUID | None, *, apply: bool) -> CollectionReport:
        try:
            with progress("Collecting" if apply else "Looking", None) as advance:
                return collect(apply=apply, tenant_id=tenant_id, advance=advance)
        except LockTaken as error:
            raise CommandError("Another collection is under way. Wait for it to end.") from error


def _whose(each: Collected) -> str:
    if each.owner.tenant_id is None:
        return "everybody"
    return f"tenant {each.owner.tenant_id}" + (f" user {each.owner.user_id}" if each.owner.user_id else "")


def _as_json(report: CollectionReport) -> dict[str, object]:
    return {
        "applied": report.applied,
        "failed": len(report.failed),
        "counts": [
            {"ending": ending.value, "cause": cause.value, "count": count}
            for (ending, cause), count in sorted(report.counts.items())
        ],
        "decisions": [
            {
                "ending": each.ending.value,
                "cause": each.cause.value,
                "kind": each.kind.value,
                "id": str(each.memory_id),
                "tenant": str(each.owner.tenant_id) if each.owner.tenant_id else None,
                "user": str(each.owner.user_id) if each.owner.user_id else None,
            }
            for each in report.decisions
        ],
    }

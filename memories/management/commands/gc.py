"""`manage.py gc`: list (`--dry-run`) or do (`--apply`) the daily garbage collection: evict, archive, doubt, erase."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from memories.management.member_command import ReportCommand, progress
from memories.services.retention.collection import Collected, collect
from memoryhub.db.advisory_lock import LockTaken
from tenants.selectors import find_tenant


class Command(ReportCommand):
    """Prints ids, owners and reasons, never a text. A dry run lists the same memories as a real one."""

    help = "Collect memories whose time is over, owner by owner; everything but an erasure can be undone."

    def add_arguments(self, parser: ArgumentParser) -> None:
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--dry-run", action="store_true", help="say what would be done, and change nothing")
        what.add_argument("--apply", action="store_true", help="do it")
        parser.add_argument("--tenant", help="slug or id of a tenant: its members' memories, and what it shares")
        super().add_arguments(parser)

    def report(self, options: dict[str, Any]) -> None:
        tenant_id = find_tenant(options["tenant"]).id if options["tenant"] is not None else None
        apply = options["apply"]
        try:
            with progress("Collecting" if apply else "Looking", None) as advance:
                report = collect(apply=apply, tenant_id=tenant_id, advance=advance)
        except LockTaken as error:
            raise CommandError("Another collection is under way. Wait for it to end.") from error
        will = "" if apply else "would be "
        counts = sorted(report.counts.items())
        numbers = {
            "applied": report.applied,
            "failed": len(report.failed),
            "counts": [{"ending": ending, "cause": cause, "count": count} for (ending, cause), count in counts],
            "decisions": [_plain(each) for each in report.decisions],
        }
        self.answer(
            options,
            numbers,
            *(
                f"{each.kind} {each.memory_id} of {_whose(each)}: {will}{each.ending}, {each.cause}."
                for each in report.decisions
            ),
            *(f"{count:,} {will}{ending}: {cause}." for (ending, cause), count in counts),
            *([] if report.decisions else ["Nothing is due."]),
        )
        if report.failed:
            raise CommandError(f"{len(report.failed)} owners could not be collected; the log says why. Run it again.")


def _whose(each: Collected) -> str:
    if each.owner.tenant_id is None:
        return "everybody"
    return f"tenant {each.owner.tenant_id}" + (f" user {each.owner.user_id}" if each.owner.user_id else "")


def _plain(each: Collected) -> dict[str, object]:
    return {
        "ending": each.ending,
        "cause": each.cause,
        "kind": each.kind,
        "id": each.memory_id,
        "tenant": each.owner.tenant_id,
        "user": each.owner.user_id,
    }

"""`manage.py verify_audit`: verifies the audit log.

Exit code 1: the output names each broken chain's first bad event.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction
from rich.console import Console
from rich.progress import track

from tenants.audit.anchors import file_faults
from tenants.audit.triggers import missing_triggers
from tenants.audit.verification import ChainReport, accept_file_faults, verify_all
from tenants.models import User
from tenants.services import record_user


class Command(BaseCommand):
    """Verifies every chain from its first event to its head, the anchors, and that the triggers exist."""

    help = "Verify the hash chains of the audit log, and that the database still guards them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--json", action="store_true", help="print one JSON object: ok, chains, missing_triggers, anchor_file"
        )
        parser.add_argument(
            "--accept-anchor-file",
            action="store_true",
            help="end the findings about the anchor file, once their cause is known; the next line of the file says so",
        )

        parser.add_argument(
            "--accept-user",
            metavar="USERNAME",
            help="record a user's flags as they are, once somebody who knows has confirmed them",
        )

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        if options["accept_anchor_file"]:
            accepted = accept_file_faults()
            self.stdout.write("\n".join(["Accepted:", *accepted] if accepted else ["There is nothing to accept."]))
            return
        if options["accept_user"]:
            self._accept_user(options["accept_user"])
            return
        console = Console(stderr=True)
        seen = track(verify_all(), "Verifying", console=console, transient=True, disable=not console.is_terminal)
        reports = list(seen)
        unguarded, in_file = missing_triggers(), file_faults()
        broken = [report for report in reports if not report.ok]
        whole = not (broken or unguarded or in_file)
        if options["json"]:
            chains = [asdict(report) for report in reports]
            answer = {"ok": whole, "chains": chains, "missing_triggers": unguarded, "anchor_file": in_file}
            self.stdout.write(json.dumps(answer, cls=DjangoJSONEncoder))
        else:
            for report in broken:
                self.stdout.write(describe(report))
            for name in unguarded:
                self.stdout.write(f"The trigger {name} is missing or disabled: the database does not guard its table.")
            for each in in_file:
                self.stdout.write(each)
            events = sum(report.events for report in reports)
            bad = "1 broken chain" if len(broken) == 1 else f"{len(broken)} broken chains"
            self.stdout.write(f"{len(reports)} chains, {events} good events, {bad}.")
        if not whole:
            raise CommandError("The audit log is not intact.", returncode=1)

    def _accept_user(self, username: str) -> None:
        with transaction.atomic():
            user = User.objects.filter(username=username).first()
            if user is None:
                raise CommandError(f"There is no user {username!r}. Give a username as it is on the page of users.")
            record_user(user, action="user.changed")
        flags = [name for name in ("is_active", "is_staff", "is_superuser") if getattr(user, name)]
        self.stdout.write(f"Recorded: {username} has {', '.join(flags) or 'no flags'}.")


def describe(report: ChainReport) -> str:
    """One sentence about the first fault of a chain."""
    if report.first_bad is None:
        return f"{report.chain}: {report.reason}."
    event = f"{report.first_bad} (id {report.event_id})" if report.event_id else str(report.first_bad)
    return f"{report.chain}: bad at event {event}: {report.reason}."

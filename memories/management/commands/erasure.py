"""`manage.py erasure run|status|verify`: execute erasures, show their state, verify a receipt."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError

from memories.management.member_command import ReportCommand, progress
from memories.models import ErasureRequest, RequestState
from memories.selectors.erasure import all_requests, due_requests, request_by_id
from memories.services.erasure.receipt import read_receipt, stored_receipt, verify_receipt
from memories.services.erasure.stages import carry_out


class Command(ReportCommand):
    """Prints ids, counts and states; never a name or a text."""

    help = "Carry out the erasures that are approved, say how they stand, or verify the receipt of one."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        run = actions.add_parser("run", help="carry out what is approved; exit code 1 if one is not done afterwards")
        run.add_argument("id", nargs="?", help="only this erasure")
        status = actions.add_parser("status", help="how the requests stand, the latest first")
        status.add_argument("id", nargs="?", help="only this erasure")
        verify = actions.add_parser("verify", help="check a receipt, ask its questions again; exit code 1 if it fails")
        verify.add_argument("receipt", help="the file of a receipt, or the id of an erasure")
        for action in (run, status, verify):
            super().add_arguments(action)

    def report(self, options: dict[str, Any]) -> None:
        getattr(self, f"_{options['action']}")(options)

    def _run(self, options: dict[str, Any]) -> None:
        requests = [_named(options["id"])] if options["id"] else due_requests()
        for request in requests:
            with progress("Erasing", None) as advance:
                carry_out(request.pk, noted=lambda _, counts: advance(sum(counts.values())))
        afterwards = [_named(str(request.pk)) for request in requests]
        self._tell(options, afterwards, "Nothing is to be erased now.")
        if any(request.state != RequestState.DONE for request in afterwards):
            sys.exit(1)

    def _status(self, options: dict[str, Any]) -> None:
        requests = [_named(options["id"])] if options["id"] else list(all_requests())
        self._tell(options, requests, "No erasure was asked for.")

    def _verify(self, options: dict[str, Any]) -> None:
        given = options["receipt"]
        erasure = _uuid(given)
        verdict = verify_receipt(stored_receipt(erasure) if erasure else read_receipt(Path(given)))
        numbers = {"erasure": verdict.erasure, "ok": verdict.ok, "troubles": verdict.troubles, "asked": verdict.asked}
        holds = "The receipt holds: nothing is left." if verdict.ok else "The receipt does not hold."
        asked = [f"{each.store}: {each.found:,} ({each.query})" for each in verdict.asked]
        self.answer(options, numbers, *asked, holds)
        if not verdict.ok:
            self.stderr.write("\n".join(verdict.troubles))
            sys.exit(1)

    def _tell(self, options: dict[str, Any], requests: list[ErasureRequest], nothing: str) -> None:
        lines = []
        for each in requests:
            erased = ", ".join(f"{count:,} {name}" for name, count in sorted(each.progress.items()))
            trouble = f" ({each.trouble})" if each.trouble else ""
            lines.append(f"{each.pk} {each.state}{trouble}: member {each.membership_id}: {erased or 'nothing yet'}.")
        described = [{name: getattr(each, column) for name, column in _COLUMNS.items()} for each in requests]
        self.answer(options, {"erasures": described}, *(lines or [nothing]))


# Keys of the JSON output and the columns they come from.
_COLUMNS = {
    "id": "pk", "tenant": "tenant_id", "membership": "membership_id", "state": "state", "stage": "stage",
    "trouble": "trouble", "attempts": "attempts", "erased": "progress", "asked_at": "asked_at",
    "finished_at": "finished_at", "digest": "receipt_digest",
}  # fmt: skip


def _named(given: str) -> ErasureRequest:
    id_ = _uuid(given)
    found = request_by_id(id_) if id_ else None
    if found is None:
        raise CommandError(f"There is no erasure {given!r}.")
    return found


def _uuid(given: str) -> UUID | None:
    try:
        return UUID(given)
    except ValueError:
        return None

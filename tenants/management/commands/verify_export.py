"""`manage.py verify_export`: verifies the signature and digests of an export.

Exit code 1 names the first fault; 2 means that it could not be checked. Needs no database, and with `--public-key` no
key of this installation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser

from memoryhub.signing.archive import NotGenuine, OpenedArchive, genuine
from memoryhub.signing.keys import public_keys, read_public_key
from tenants.audit.export import EVENTS_FILE, BadEvent, CheckedEvents, check_events

_NOT_GENUINE, _NOT_CHECKED = 1, 2


class Command(BaseCommand):
    """Verifies an archive without printing the text of memories."""

    help = "Verify an export: its signature, every digest and row count, and the hash chains of audit data."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="the zip archive")
        parser.add_argument(
            "--public-key", action="append", metavar="KEY", help="a key as `signing_keys public` prints it, of whoever"
            " signed; may be given more than once (default: those of this installation); write --public-key=KEY, for a"
            " key may begin with a hyphen"
        )  # fmt: skip
        parser.add_argument("--json", action="store_true", help="print one JSON object: ok, reason, file, manifest")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        keys = _keys(options["public_key"])
        try:
            with options["file"].open("rb") as source, genuine(source, keys=keys) as opened:
                events = _chains(opened)
                manifest = opened.manifest
        except (NotGenuine, BadEvent) as error:
            self._answer(options, {"ok": False, "reason": str(error), "file": getattr(error, "file", EVENTS_FILE)})
            raise CommandError(f"This is not what was exported. {error}", returncode=_NOT_GENUINE) from error
        except OSError as error:
            raise CommandError(f"The file cannot be read: {error.strerror}.", returncode=_NOT_CHECKED) from error
        self._answer(options, {"ok": True, "reason": "", "file": "", "events": events.events, "manifest": manifest})
        if not options["json"]:
            self._describe(manifest, events)

    def _answer(self, options: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        if options["json"]:
            self.stdout.write(json.dumps(answer))

    def _describe(self, manifest: Mapping[str, Any], events: CheckedEvents) -> None:
        self.stdout.write(
            f"Genuine: {manifest['what']}, exported {manifest['at']}, signed with {manifest['signed_with']}."
        )
        if "verdict" in manifest:
            self.stdout.write(f"  Verdict of the certificate: {manifest['verdict']}.")
        for file in manifest["files"]:
            self.stdout.write(f"  {file['name']}: {file['rows']} rows, {file['bytes']} bytes, sha256 {file['sha256']}")
        for chain in manifest.get("chains", ()):
            words = f"events {chain['first']} to {chain['last']} of {chain['length']}"
            self.stdout.write(f"  {chain['chain']}: {words}, head {chain['digest']}")
        if events.recomputed:
            self.stdout.write(f"  All digests of {events.recomputed} audit events were taken again and fit.")
        if others := events.events - events.recomputed:
            self.stdout.write(
                f"  The digests of {others} audit events need the audit key of the installation, which found that they"
                " fitted when it exported them; their order, their links and the head fit."
            )


def _keys(given: list[str] | None) -> list[str] | None:
    try:
        if not given:
            public_keys()
        return [read_public_key(key).encoded for key in given] if given else None
    except (ValueError, ImproperlyConfigured) as error:
        raise CommandError(
            f"{error} Or give --public-key." if not given else str(error), returncode=_NOT_CHECKED
        ) from error


def _chains(opened: OpenedArchive) -> CheckedEvents:
    """Check the digests of the archive's audit events. Raises BadEvent."""
    if not any(entry.name == EVENTS_FILE for entry in opened.files):
        return CheckedEvents()
    return check_events(opened.lines(EVENTS_FILE), opened.manifest["chains"])

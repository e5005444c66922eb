"""`manage.py signing_keys new|public`: makes a key that signs exports and receipts, or prints the public keys."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser

from memoryhub.signing.keys import new_key, public_keys


class Command(BaseCommand):
    """`new` prints a private key for MEMORYHUB_SIGNING_KEYS; `public` prints no secret."""

    help = "Keys that sign exports and receipts: make one, or show the public halves of those configured."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        actions.add_parser("new", help="print a new private key, to put in front in MEMORYHUB_SIGNING_KEYS")
        public = actions.add_parser("public", help="print the public keys, that which signs now first")
        public.add_argument("--json", action="store_true", help="print one JSON list of objects: id, encoded")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        if options["action"] == "new":
            self.stdout.write(new_key())
            return
        try:
            keys = public_keys()
        except ImproperlyConfigured as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            self.stdout.write(json.dumps([asdict(key) for key in keys]))
            return
        for key in keys:
            self.stdout.write(f"{key.encoded}  {key.id}")

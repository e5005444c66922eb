"""`manage.py alert_rules`: the Prometheus rules file, generated from the definitions of the alerts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from memories.metrics.alerts import rules_file
from memoryhub.installation import BASE_DIR, PROGRAM

FILE = Path("deploy") / "prometheus" / "alerts.yml"


class Command(BaseCommand):
    """Prints the rules, or compares them with the file in the repository."""

    help = f"Print Prometheus' alert rules; `--check` compares {FILE} with them."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--check", action="store_true", help=f"fail if {FILE} differs")

    def handle(self, *_args: Any, **options: Any) -> None:
        rules = rules_file()
        if not options["check"]:
            self.stdout.write(rules, ending="")
            return
        path = BASE_DIR / FILE
        if not path.exists() or path.read_text() != rules:
            raise CommandError(f"{FILE} differs: write it with `{PROGRAM} alert_rules > {FILE}`.")
        self.stdout.write(f"{FILE} is as defined.")

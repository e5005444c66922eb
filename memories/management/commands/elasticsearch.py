"""`manage.py elasticsearch setup|check`: create and verify what an installation needs in its search cluster."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.db import DatabaseError
from elastic_transport import TransportError
from elasticsearch import ApiError, Elasticsearch

from memories.management.member_command import ReportCommand
from memories.search.elasticsearch import indices, transport
from memoryhub.elasticsearch import Identity
from memoryhub.installation import PROGRAM
from tenants.search_keys.identities import (
    ClusterUnready,
    check,
    no_answer,
    prove_search,
    require_licence,
    service_client_or_unready,
    setup,
)


class Command(ReportCommand):
    """Prints names and verdicts, never a credential."""

    help = "Set the search cluster up for this installation, or check that it is."
    # `setup` runs with a credential that the system checks forbid in a serving process.
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        actions.add_parser("setup", help="make roles, users, templates, indices and aliases; safe to run again")
        checking = actions.add_parser("check", help="compare the identities with what setup makes; exit code 1 if not")
        super().add_arguments(checking)

    def report(self, options: dict[str, Any]) -> None:
        try:
            if options["action"] == "setup":
                self._setup()
            else:
                self._check(options)
        except ClusterUnready as error:
            raise CommandError(str(error)) from error

    def _setup(self) -> None:
        for done in setup():
            self.stdout.write(f"{done}: up to date")
        made, unfilled = _laid_out(service_client_or_unready(Identity.MANAGER))
        for index in made:
            self.stdout.write(f"index {index}: made")
        self.stdout.write("The search cluster is set up. Remove ELASTICSEARCH_SETUP from the environment.")
        if unfilled:
            self.stdout.write(f"The database has memories that nobody can search yet: run `{PROGRAM} index rebuild`.")

    def _check(self, options: dict[str, Any]) -> None:
        reports = check()
        known = any(report.identity is Identity.MANAGER and report.user for report in reports)
        trouble = [text for text in (_licence() if known else "", _policy() if known else "", prove_search()) if text]
        ok = not trouble and all(report.ok for report in reports)
        self.answer(
            options,
            {"ok": ok, "identities": reports, "cluster": trouble},
            *(f"{each.identity.value} ({each.user or 'unknown'}): {_said(each.problems)}" for each in reports),
            f"searching with a member's key: {_said(trouble)}",
        )
        if not ok:
            sys.exit(1)


def _laid_out(manager: Elasticsearch) -> tuple[list[str], list[str]]:
    try:
        if trouble := transport.trouble(manager):
            raise CommandError(trouble)
        indices.install(manager)
        return indices.create_missing(manager), indices.unfilled(manager)
    except DatabaseError as error:
        raise CommandError(f"The database has no tables yet: run `{PROGRAM} migrate`, then this again.") from error
    except TransportError as error:
        raise CommandError(no_answer(error)) from error
    except ApiError as error:
        raise CommandError(f"The search cluster answered the manager with error {error.meta.status}.") from None


def _licence() -> str:
    try:
        require_licence(service_client_or_unready(Identity.MANAGER), "ELASTICSEARCH_MANAGER")
    except ClusterUnready as error:
        return str(error)
    return ""


def _policy() -> str:
    try:
        return transport.trouble(service_client_or_unready(Identity.MANAGER))
    except TransportError as error:
        return no_answer(error)


def _said(problems: tuple[str, ...] | list[str]) -> str:
    return " ".join(problems) if problems else "as it should be"

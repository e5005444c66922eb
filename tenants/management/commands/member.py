"""`manage.py member`: creates, imports and lists the members of a tenant."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tenants.end_users import provision_end_user
from tenants.errors import TenantsError
from tenants.models import Membership, Tenant
from tenants.people_import import import_people
from tenants.selectors import find_tenant


class Command(BaseCommand):
    """Acts as the system; the audit events name no person. Logins are made in the admin."""

    help = "Members of a tenant: create, import, list."
    requires_migrations_checks = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="create a member, or do nothing if the id is known")
        create.add_argument("user_id", help="the tenant's own id of the user")
        create.add_argument("--name", default="", help="name that people see (default: the id)")
        load = actions.add_parser("import", help="add and change the people of a CSV: name,email,user_id,role,active")
        load.add_argument("file", type=Path, help="the CSV, in UTF-8")
        load.add_argument("--dry-run", action="store_true", help="check the file and change nothing")
        for action in (create, load, actions.add_parser("list", help="list the members, with their roles")):
            action.add_argument("--tenant", required=True, help="slug or id of the tenant")
            action.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, **options: Any) -> None:
        try:
            tenant = find_tenant(options["tenant"])
            rows = getattr(self, f"_{options['action']}")(tenant, options)
        except TenantsError as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            self.stdout.write(json.dumps(rows))
        else:
            self.stdout.write("\n".join("\t".join(map(str, row.values())) for row in rows))

    def _create(self, tenant: Tenant, options: dict[str, Any]) -> list[dict[str, Any]]:
        member, _ = provision_end_user(tenant.id, options["user_id"], name=options["name"])
        return [_shown(member)]

    def _import(self, tenant: Tenant, options: dict[str, Any]) -> list[dict[str, Any]]:
        try:
            text = options["file"].read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{options['file']} cannot be read as UTF-8: {type(error).__name__}.") from None
        report = import_people(tenant.id, text, dry_run=options["dry_run"])
        if report.faults:
            faults = "\n".join(f"line {line}: {fault}" for line, fault in report.faults)
            raise CommandError(f"Nobody was imported.\n{faults}")
        return [{"added": report.added, "changed": report.changed, "unchanged": report.unchanged}]

    def _list(self, tenant: Tenant, _options: dict[str, Any]) -> list[dict[str, Any]]:
        rows = tenant.memberships.select_related("tenant", "user").order_by("created_at", "id")
        return [_shown(each) for each in rows]


def _shown(member: Membership) -> dict[str, Any]:
    state = "active" if member.is_usable else "deactivated"
    shown = {"user_id": member.external_id, "username": member.user.username, "name": member.user.speaker}
    return shown | {"role": member.role, "state": state}

"""`manage.py member`: creates and lists the members of a tenant who cannot sign in, users of its own system."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tenants.end_users import provision_end_user
from tenants.errors import TenantsError
from tenants.models import Membership, Tenant
from tenants.selectors import find_tenant


class Command(BaseCommand):
    """Acts as the system; the audit events name no person. Logins are made in the admin."""

    help = "Members of a tenant: create, list."
    requires_migrations_checks = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="create a member, or do nothing if the id is known")
        create.add_argument("user_id", help="the tenant's own id of the user")
        create.add_argument("--name", default="", help="name that people see (default: the id)")
        for action in (create, actions.add_parser("list", help="list the members, with their roles")):
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

    def _list(self, tenant: Tenant, _options: dict[str, Any]) -> list[dict[str, Any]]:
        rows = tenant.memberships.select_related("tenant", "user").order_by("created_at", "id")
        return [_shown(each) for each in rows]


def _shown(member: Membership) -> dict[str, Any]:
    state = "active" if member.is_usable else "deactivated"
    shown = {"user_id": member.external_id, "username": member.user.username, "name": member.user.speaker}
    return shown | {"role": member.role, "state": state}

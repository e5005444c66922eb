"""`manage.py tenant`: creates and lists tenants."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models import Count, Q

from memories.services.bootstrap import open_tenant
from tenants.errors import TenantsError
from tenants.models import Tenant


class Command(BaseCommand):
    """Acts as the system; the audit events name no person."""

    help = "Tenants: create, list."
    requires_migrations_checks = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="create a tenant whose backend keys make members on first use")
        create.add_argument("slug", help="short name for addresses and commands, such as acme")
        create.add_argument("--name", help="name that people see (default: the slug)")
        create.add_argument("--known-members-only", action="store_true", help="backend keys make nobody on first use")
        for action in (create, actions.add_parser("list", help="list the tenants")):
            action.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, **options: Any) -> None:
        self.stdout.write(getattr(self, f"_{options['action']}")(options))

    def _create(self, options: dict[str, Any]) -> str:
        slug = options["slug"]
        try:
            tenant = open_tenant(
                name=options["name"] or slug, slug=slug, provision_members=not options["known_members_only"]
            )
        except TenantsError as error:
            raise CommandError(str(error)) from error
        return json.dumps({"id": str(tenant.id), "slug": slug, "name": tenant.name}) if options["json"] else slug

    def _list(self, options: dict[str, Any]) -> str:
        members = Count("memberships", filter=Q(memberships__is_active=True))
        columns = ("id", "slug", "name", "is_active", "members")
        rows = list(Tenant.objects.annotate(members=members).values(*columns))
        if options["json"]:
            return json.dumps(rows, default=str)
        return "\n".join(f"{row['slug']}\t{row['members']} members\t{row['name']}{_off(row)}" for row in rows)


def _off(row: dict[str, Any]) -> str:
    return "" if row["is_active"] else "\tdeactivated"

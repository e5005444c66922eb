"""`manage.py external_index`: connects a tenant's own Elasticsearch index, shows, tries or removes it."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from memories.management.member_command import ReportCommand
from memories.models import MemoryPolicy
from memories.services.external_index import connect_index, disconnect_index, shown_index, try_index
from tenants.models import Tenant
from tenants.principal import SYSTEM

_FIELDS = ("name", "url", "index", "text_field", "title_field", "url_field")


class Command(ReportCommand):
    """Acts as the system; the audit log of the tenant records the change. A key is read from a file, never shown."""

    help = "The Elasticsearch index of a tenant's own that its members' recalls read: set, show, try, remove."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        for name, text in (
            ("set", "connect the index"),
            ("show", "show what is connected"),
            ("try", "search it now"),
            ("remove", "disconnect it, and drop its key"),
        ):
            action = actions.add_parser(name, help=text)
            super().add_arguments(action)
            action.add_argument("--tenant", required=True, help="slug of the tenant")
            if name == "try":
                action.add_argument("query", help="what to search for")
            if name == "set":
                for field in _FIELDS:
                    optional = field in ("title_field", "url_field")
                    action.add_argument(f"--{field.replace('_', '-')}", required=not optional, default="")
                action.add_argument("--key-file", help="file with an encoded API key; - is standard input")

    def report(self, options: dict[str, Any]) -> None:
        tenant = Tenant.objects.filter(slug=options["tenant"]).first()
        if tenant is None:
            raise CommandError("There is no such tenant.")
        match options["action"]:
            case "set":
                key = _key(options["key_file"]) if options["key_file"] else None
                connect_index(SYSTEM, tenant_id=tenant.pk, key=key, **{name: options[name] for name in _FIELDS})
            case "remove":
                disconnect_index(SYSTEM, tenant_id=tenant.pk)
            case "try":
                found = try_index(SYSTEM, tenant_id=tenant.pk, query=options["query"])
                lines = [f"{record.title or 'Untitled'}: {record.text} {record.url}".strip() for record in found]
                self.answer(options, {"records": list(map(asdict, found))}, *(lines or ["Nothing was found."]))
                return
        stored = MemoryPolicy.objects.filter(tenant=tenant).values_list("external_index", flat=True).first() or {}
        shown = shown_index(stored) if stored else {}
        lines = [f"{name}: {value}" for name, value in shown.items()]
        self.answer(options, shown, *(lines or ["No index is connected."]))


def _key(name: str) -> str:
    return (sys.stdin.read() if name == "-" else Path(name).read_text()).strip()
